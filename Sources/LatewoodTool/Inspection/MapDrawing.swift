import LatewoodInspection

/// The map of a file as a drawing: rows of the same length, one below the other, from the first byte to the last.
///
/// Neighbours that would be too narrow to see are drawn as one, so that there are never more than a few thousand shapes however large the
/// file is. Nothing else is needed to show it: no script, no font, no other file.
struct MapDrawing {
  /// What is drawn as one shape: a region, or several that are each too narrow.
  struct Shape {
    var range: Range<UInt64>
    var kind: Region.Kind
    var keyspace: UInt32?
    /// Of each kind in it; nil for a single region, with its whole range.
    var parts: [Region.Kind: UInt64]?
    var whole: Range<UInt64>
  }

  static let rowWidth = 960.0
  static let rowHeight = 18.0
  private static let rowStep = 24.0
  private static let left = 118.0
  private static let top = 112.0
  static let mostShapes = 4000

  let map: FileMap
  let name: String
  /// Bytes of a row: a power of two.
  let rowLength: UInt64
  /// Neighbours that are narrower, in points, are drawn together.
  private(set) var leastWidth = 2.0
  private(set) var rows: [[Shape]] = []
  private let order: [UInt32: Int]

  init(_ map: FileMap, name: String) {
    self.map = map
    self.name = name
    var length: UInt64 = 4096
    while map.size / length >= 32 { length *= 2 }
    rowLength = length
    let keyspaces = map.tree.keyspaces.sorted { ($0.value.bytes, $1.key) > ($1.value.bytes, $0.key) }
    order = Dictionary(uniqueKeysWithValues: keyspaces.enumerated().map { ($1.key, $0) })
    rows = shapes()
    while rows.reduce(0, { $0 + $1.count }) > Self.mostShapes {
      leastWidth *= 2
      rows = shapes()
    }
  }

  private func shapes() -> [[Shape]] {
    var index = 0
    return stride(from: 0, to: map.size, by: Int(rowLength)).map { start in
      shapes(in: start..<min(map.size, start + rowLength), from: &index)
    }
  }

  /// The shapes of one row, from left to right.
  private func shapes(in row: Range<UInt64>, from index: inout Int) -> [Shape] {
    let least = UInt64(Double(rowLength) * leastWidth / Self.rowWidth)
    var shapes: [Shape] = []
    while index < map.regions.count, map.regions[index].range.lowerBound < row.upperBound {
      let region = map.regions[index]
      let part = region.range.clamped(to: row)
      add(region, part, least, &shapes)
      if region.range.upperBound > row.upperBound { break }
      index += 1
    }
    return shapes
  }

  private func add(_ region: Region, _ part: Range<UInt64>, _ least: UInt64, _ shapes: inout [Shape]) {
    let length = part.upperBound - part.lowerBound
    guard let last = shapes.last, length < least,
      last.parts != nil || last.range.upperBound - last.range.lowerBound < least,
      last.range.upperBound - last.range.lowerBound < least * 2
    else {
      shapes.append(
        Shape(range: part, kind: region.kind, keyspace: region.keyspace, parts: nil, whole: region.range))
      return
    }
    var parts = last.parts ?? [last.kind: last.range.upperBound - last.range.lowerBound]
    parts[region.kind, default: 0] += length
    let most = parts.values.max() ?? 0
    let kind =
      parts[.damaged] != nil ? .damaged : Region.Kind.allCases.first { parts[$0] == most } ?? region.kind
    let range = last.range.lowerBound..<part.upperBound
    shapes[shapes.count - 1] = Shape(
      range: range, kind: kind, keyspace: last.keyspace == region.keyspace ? last.keyspace : nil,
      parts: parts,
      whole: range)
  }

  func svg() -> String {
    var body = ""
    for (row, shapes) in rows.enumerated() {
      let start = UInt64(row) * rowLength
      let y = Self.top + Double(row) * Self.rowStep
      body += text(Self.left - 10, y + 13, Quantity.count(start), "o")
      for shape in shapes {
        body += rectangle(shape, from: start, y)
      }
    }
    let legendTop = Self.top + Double(rows.count) * Self.rowStep + 26
    let (legend, legendHeight) = legend(legendTop)
    let height = Int(legendTop + legendHeight + 40)
    let note =
      "Each row is \(Quantity.bytes(rowLength)). Neighbours narrower than \(Int(leastWidth)) points are drawn as one."
    return """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1120 \(height)" role="img" \
      font-family="ui-sans-serif, system-ui, sans-serif" font-size="13">
      <title>\(Self.escaped(shownName)): map of the file</title>
      <style>\(style)</style>
      <rect class="ground" width="1120" height="\(height)"/>
      \(text(32, 48, shownName, "t"))\(text(32, 74, summary, "s"))\(text(32, 94, note, "q"))
      \(body)\(legend)</svg>

      """
  }

  private var shownName: String {
    DisplayWidth.fitted(KeyText.shown(name.split(separator: "/").last.map { Array($0.utf8) } ?? []), to: 70)
  }

  private var summary: String {
    let totals = map.totals
    let live = totals.reduce(0) { $0 + ($1.key.isLive ? $1.value : 0) }
    let holes = totals[.hole] ?? 0
    return
      "\(Quantity.bytes(map.size)): \(Quantity.bytes(live)) live (\(BlockMap.share(live, of: map.size))), "
      + "\(Quantity.bytes(map.size - live - holes)) dead or spare, \(Quantity.bytes(holes)) in holes"
  }

  private func rectangle(_ shape: Shape, from start: UInt64, _ y: Double) -> String {
    let scale = Self.rowWidth / Double(rowLength)
    let x = Self.left + Double(shape.range.lowerBound - start) * scale
    let width = Double(shape.range.upperBound - shape.range.lowerBound) * scale
    return
      "<rect class=\"\(cssClass(shape.kind, shape.keyspace))\" x=\"\(Self.number(x))\" y=\"\(Self.number(y))\" "
      + "width=\"\(Self.number(max(width, 0.2)))\" height=\"\(Int(Self.rowHeight))\">"
      + "<title>\(Self.escaped(title(shape)))</title></rect>\n"
  }

  func title(_ shape: Shape) -> String {
    let whole = shape.whole
    let place =
      "\(Quantity.count(whole.lowerBound)) to \(Quantity.count(whole.upperBound)): "
      + Quantity.bytes(whole.upperBound - whole.lowerBound)
    if let parts = shape.parts {
      let list = Region.Kind.allCases.compactMap { kind in
        parts[kind].map { "\(kind.look.words): \(Quantity.bytes($0))" }
      }
      return (["several regions"] + list + [place]).joined(separator: "\n")
    }
    let owner = shape.keyspace.map { ", \(KeyText.shown(map.tree.name(of: $0).utf8))" } ?? ""
    return "\(shape.kind.look.words)\(owner)\n\(place)"
  }
}

extension MapDrawing {
  /// Of live nodes and values four shades, so that neighbouring keyspaces can be told apart.
  private func cssClass(_ kind: Region.Kind, _ keyspace: UInt32?) -> String {
    guard kind == .node || kind == .extent, let keyspace, let place = order[keyspace] else {
      return kind.rawValue
    }
    return "\(kind.rawValue) k\(place % 4)"
  }

  private var style: String {
    func rules(_ colour: (RegionLook) -> String) -> String {
      Region.Kind.allCases.map { ".\($0.rawValue){fill:\(colour($0.look))}" }.joined()
    }
    return "rect{shape-rendering:crispEdges}rect:hover{stroke:#e0218a;stroke-width:1.5}"
      + ".k1{fill-opacity:.8}.k2{fill-opacity:.62}.k3{fill-opacity:.9;filter:saturate(.55)}"
      + ".ground,.ground:hover{fill:#fffdf8;stroke:none}text{fill:#2b2a27}"
      + ".o{fill:#8a857a;text-anchor:end;font-size:11px;font-variant-numeric:tabular-nums}"
      + ".t{font-size:22px;font-weight:600}.s{font-size:15px}.q{fill:#8a857a;font-size:12px}"
      + ".n{text-anchor:end;font-variant-numeric:tabular-nums}.hole{stroke:#d8d2c4;stroke-width:.5}"
      + rules(\.light)
      + "@media(prefers-color-scheme:dark){.ground,.ground:hover{fill:#151412}text{fill:#e9e5dc}"
      + ".o,.q{fill:#8f897d}.hole{stroke:#3a3833}" + rules(\.dark) + "}"
  }

  private func text(_ x: Double, _ y: Double, _ words: String, _ style: String) -> String {
    "<text class=\"\(style)\" x=\"\(Self.number(x))\" y=\"\(Self.number(y))\">\(Self.escaped(words))</text>\n"
  }

  /// Kinds on the left, keyspaces on the right.
  private func legend(_ top: Double) -> (String, height: Double) {
    let totals = map.totals
    let kinds = Region.Kind.allCases.filter { totals[$0] != nil }
    var result = ""
    for (row, kind) in kinds.enumerated() {
      let y = top + Double(row) * 22
      result += entry(
        32, y, kind.rawValue, kind.look.words, totals[kind] ?? 0, share: true)
    }
    let keyspaces = order.sorted { $0.value < $1.value }.prefix(max(kinds.count - 1, 6))
    for (row, keyspace) in keyspaces.enumerated() {
      let facts = map.tree.keyspaces[keyspace.key] ?? LiveTree.KeyspaceFacts()
      let shade = "node k\(keyspace.value % 4)"
      let words = "\(KeyText.shown(map.tree.name(of: keyspace.key).utf8))"
      result += entry(
        600, top + Double(row) * 22, shade, DisplayWidth.fitted(words, to: 30), facts.bytes, share: true)
    }
    if order.count > keyspaces.count {
      let y = top + Double(keyspaces.count) * 22 + 11
      result += text(624, y, "and \(order.count - keyspaces.count) more keyspaces", "q")
    }
    return (result, Double(max(kinds.count, keyspaces.count + 1)) * 22)
  }

  private func entry(
    _ x: Double, _ y: Double, _ style: String, _ words: String, _ bytes: UInt64, share: Bool
  ) -> String {
    "<rect class=\"\(style)\" x=\"\(Self.number(x))\" y=\"\(Self.number(y))\" width=\"14\" height=\"14\"/>"
      + text(x + 24, y + 11.5, words, "w") + text(x + 330, y + 11.5, Quantity.bytes(bytes), "n")
      + text(x + 410, y + 11.5, BlockMap.share(bytes, of: map.size), "n")
  }

  /// With two digits after the point at most.
  private static func number(_ value: Double) -> String {
    let hundredths = Int((value * 100).rounded())
    let (whole, rest) = (hundredths / 100, hundredths % 100)
    if rest == 0 { return "\(whole)" }
    return rest % 10 == 0 ? "\(whole).\(rest / 10)" : "\(whole).\(rest < 10 ? "0" : "")\(rest)"
  }

  private static func escaped(_ text: String) -> String {
    text.reduce(into: "") { result, character in
      switch character {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      default: result.append(character)
      }
    }
  }
}
