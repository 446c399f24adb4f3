import LatewoodInspection

/// The drawing as SVG.
///
/// ```
/// name of the file
/// share of live bytes               hint about the pointer
/// one bar: the share of each kind
/// offset | row                      as many as the file needs, all of the same length
/// legend: kinds                     legend: keyspaces
/// ```
///
/// Pointing at a line of the legend highlights its regions and dims the rest. This uses only style
/// rules, so a viewer without them shows the same picture.
extension MapDrawing {
  private static let width = 960.0
  private static let left = 96.0
  private static let margin = 32.0
  private static let top = 148.0
  private static let rowHeight = 18.0
  private static let rowStep = 23.0
  private static let legendStep = 22.0

  func svg() -> String {
    var body = "<g class=\"map\">\n"
    for (row, shapes) in rows.enumerated() {
      let start = map.range.lowerBound + UInt64(row) * rowLength
      let y = Self.top + Double(row) * Self.rowStep
      body += text(Self.left - 10, y + 13, Quantity.count(start), "o")
      for shape in shapes { body += rectangle(shape, from: start, y) }
    }
    body += "</g>\n"
    let (legend, end) = legend(Self.top + Double(rows.count) * Self.rowStep + 34)
    let height = Int(end + 30)
    return """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Int(Self.width)) \(height)" role="img" \
      preserveAspectRatio="xMidYMin" font-family="ui-sans-serif, system-ui, sans-serif" font-size="13">
      <title>\(Self.escaped(shownName)): map of the file</title>
      <desc>\(Self.escaped(summary)). \(Self.escaped(note))</desc>
      <style>\(style)</style>
      <rect class="ground" width="\(Int(Self.width))" height="\(height)"/>
      \(text(Self.margin, 46, shownName, "t"))\(text(Self.margin, 72, summary, "s"))\
      \(text(Self.margin, 92, note, "q"))\(shares(108))\(body)\(legend)</svg>

      """
  }

  private var shownName: String {
    DisplayWidth.fitted(KeyText.shown(name.split(separator: "/").last.map { Array($0.utf8) } ?? []), to: 62)
  }

  private var summary: String {
    let totals = map.totals
    let live = totals.reduce(0) { $0 + ($1.key.isLive ? $1.value : 0) }
    let holes = totals[.hole] ?? 0
    let place = map.isWhole ? "" : " from byte \(Quantity.count(map.range.lowerBound)) on"
    let share = BlockMap.share(live, of: map.length)
    var text = "\(Quantity.bytes(map.length))\(place): \(Quantity.bytes(live)) live (\(share))"
    let dead = map.length - live - holes
    if dead > 0 { text += ", \(Quantity.bytes(dead)) dead or spare" }
    if holes > 0 { text += ", \(Quantity.bytes(holes)) holes or empty" }
    return map.faults.isEmpty ? text : text + "; \(Quantity.count(map.faults.count, "fault", "faults"))"
  }

  private var note: String {
    var text = "Each row is \(Quantity.bytes(rowLength))."
    if rows.contains(where: { $0.contains { $0.parts != nil } }) {
      text += " Neighbours narrower than \(Int(leastWidth)) points are drawn as one."
    }
    return text + " Point at a region to identify it, or at a line below to find all of its kind."
  }

  /// Draws a bar for all that the map covers, with the kinds side by side.
  private func shares(_ y: Double) -> String {
    let totals = map.totals
    let width = Self.width - 2 * Self.margin
    let whole = map.isWhole ? "the file" : "this part"
    var x = Self.margin
    var result = "<g class=\"map\">\n"
    for kind in Region.Kind.allCases {
      guard let bytes = totals[kind], map.length > 0 else { continue }
      let part = width * Double(bytes) / Double(map.length)
      result += rectangle(
        Self.styleName(kind), x, y, max(part, 0.2), 12,
        "\(kind.look.words): \(Quantity.bytes(bytes)), \(BlockMap.share(bytes, of: map.length)) of \(whole)"
      )
      x += part
    }
    return result + "</g>\n"
  }

  private func rectangle(_ shape: Shape, from start: UInt64, _ y: Double) -> String {
    let scale = Self.rowWidth / Double(rowLength)
    let x = Self.left + Double(shape.range.lowerBound - start) * scale
    var width = Double(shape.range.upperBound - shape.range.lowerBound) * scale
    // Nodes and values are drawn with a thin gap after each, so that their ends are visible.
    let standsAlone = shape.kind == .node || shape.kind == .extent || shape.kind == .deadNode
    if standsAlone, shape.parts == nil, width > 4 { width -= 0.8 }
    return rectangle(
      styleNames(shape.kind, shape.keyspace), x, y, max(width, 0.2), Self.rowHeight, title(shape))
  }

  private func rectangle(
    _ style: String, _ x: Double, _ y: Double, _ width: Double, _ height: Double, _ title: String
  ) -> String {
    "<rect class=\"\(style)\" x=\"\(Self.number(x))\" y=\"\(Self.number(y))\" width=\"\(Self.number(width))\" "
      + "height=\"\(Self.number(height))\"><title>\(Self.escaped(title))</title></rect>\n"
  }

  // MARK: Legend

  /// Draws the legend: kinds on the left, keyspaces on the right.
  private func legend(_ top: Double) -> (String, end: Double) {
    let totals = map.totals
    let counts = map.regions.reduce(into: [Region.Kind: Int]()) { $0[$1.kind, default: 0] += 1 }
    let kinds = Region.Kind.allCases.filter { totals[$0] != nil }
    var result = text(Self.margin, top, "Use of the bytes", "h")
    for (row, kind) in kinds.enumerated() {
      let title = Quantity.count(counts[kind] ?? 0, "region", "regions")
      result += entry(
        Self.margin, top + 12 + Double(row) * Self.legendStep, [Self.styleName(kind)], kind.look.words,
        totals[kind] ?? 0, title)
    }
    let most = showsKeyspaces ? Self.mostColours : max(kinds.count - 1, 6)
    let keyspaces = order.sorted { $0.value < $1.value }.prefix(most)
    let live = map.liveBytes
    guard !keyspaces.isEmpty else { return (result, top + Double(kinds.count) * Self.legendStep) }
    let left = Self.width / 2 + 32
    result += text(left, top, "Live bytes by keyspace", "h")
    for (row, keyspace) in keyspaces.enumerated() {
      let facts = map.tree.keyspaces[keyspace.key] ?? LiveTree.KeyspaceUsage()
      let words = KeyText.shown(map.tree.name(of: keyspace.key).utf8)
      result += entry(
        left, top + 12 + Double(row) * Self.legendStep,
        [Region.Kind.node, .extent].map { colourName($0, keyspace.value) },
        DisplayWidth.fitted(words, to: 24), map.isWhole ? facts.bytes : live[keyspace.key] ?? 0,
        Quantity.count(facts.entries, "entry", "entries"),
        finds: keyspace.value < Self.found ? "s\(keyspace.value)" : nil)
    }
    if order.count > keyspaces.count {
      let y = top + 23 + Double(keyspaces.count) * Self.legendStep
      result += text(left + 30, y, "and \(Quantity.count(order.count - keyspaces.count)) more keyspaces", "q")
    }
    return (result, top + Double(max(kinds.count, keyspaces.count + 1)) * Self.legendStep)
  }

  /// Draws a line of the legend: one or two small squares, words, bytes and share.
  ///
  /// - Parameter finds: the keyspace that the line highlights; nil for a kind, whose line
  ///   highlights the kind itself.
  private func entry(
    _ x: Double, _ y: Double, _ styles: [String], _ words: String, _ bytes: UInt64, _ title: String,
    finds: String? = nil
  ) -> String {
    let width = 14.0 / Double(styles.count)
    let squares = styles.enumerated().map { index, style in
      "<rect class=\"\(style)\" x=\"\(Self.number(x + Double(index) * width))\" y=\"\(Self.number(y))\" "
        + "width=\"\(Self.number(width))\" height=\"14\"/>"
    }.joined()
    let name = finds ?? (styles.count == 1 ? styles[0] : "")
    return "<g class=\"l l-\(name)\"><title>\(Self.escaped(title))</title>"
      + "<rect class=\"b\" x=\"\(Self.number(x - 6))\" y=\"\(Self.number(y - 4))\" width=\"416\" height=\"22\"/>"
      + squares + text(x + 24, y + 11.5, words, "w") + text(x + 320, y + 11.5, Quantity.bytes(bytes), "n")
      + text(x + 400, y + 11.5, BlockMap.share(bytes, of: map.length), "n") + "</g>\n"
  }

  private func text(_ x: Double, _ y: Double, _ words: String, _ style: String) -> String {
    "<text class=\"\(style)\" x=\"\(Self.number(x))\" y=\"\(Self.number(y))\">\(Self.escaped(words))</text>\n"
  }

  // MARK: Style

  /// The style rules of the shades of a kind's colour. The first has none.
  private static let shades =
    ["", "fill-opacity:.78", "fill-opacity:.6", "fill-opacity:.9;filter:saturate(.5)"]
    + [24, -24].flatMap { turn in
      ["", "fill-opacity:.78;", "fill-opacity:.6;"].map { "\($0)filter:hue-rotate(\(turn)deg)" }
    }
  /// The number of keyspaces that can be highlighted by their line.
  private static let found = 12
  /// The number of keyspaces with separate colours.
  static let mostColours = 60

  private static func styleName(_ kind: Region.Kind) -> String { kind.rawValue }

  /// Returns the styles of a region.
  private func styleNames(_ kind: Region.Kind, _ keyspace: UInt32?) -> String {
    guard kind == .node || kind == .extent, let keyspace, let place = order[keyspace] else {
      return Self.styleName(kind)
    }
    return colourName(kind, place) + (place < Self.found ? " s\(place)" : "")
  }

  /// Returns the styles of live nodes or values of a keyspace: shades of the colour of their kind,
  /// so that neighbouring keyspaces can be told apart, or a colour of the keyspace.
  private func colourName(_ kind: Region.Kind, _ place: Int) -> String {
    guard showsKeyspaces else { return "\(Self.styleName(kind)) k\(place % Self.shades.count)" }
    return place < Self.mostColours ? "\(Self.styleName(kind)) c\(place)" : Self.styleName(kind)
  }

  /// Returns the style rules for the colours of keyspaces. Nodes and values without one are grey.
  private func keyspaceRules(isDark: Bool) -> String {
    guard showsKeyspaces else { return "" }
    return ".node,.extent{fill:#8a857a}"
      + (0..<min(order.count, Self.mostColours)).map { place in
        // The golden angle: hues of neighbours in the order are far apart. Hues that are close to
        // an earlier one differ in lightness.
        let hue = Int(Double(place) * 137.508) % 360
        let lightness = (isDark ? 62 : 42) + [0, 12, -10][place / 8 % 3]
        return ".c\(place){fill:hsl(\(hue),62%,\(lightness)%)}"
      }.joined()
  }

  private var style: String {
    func rules(_ colour: (RegionLook) -> String) -> String {
      Region.Kind.allCases.map { ".\(Self.styleName($0)){fill:\(colour($0.look))}" }.joined()
    }
    let names = Region.Kind.allCases.map { Self.styleName($0) } + (0..<Self.found).map { "s\($0)" }
    let finding = names.map { "svg:has(.l-\($0):hover) .map rect:not(.\($0))" }.joined(separator: ",")
    return "svg{background:#fffdf8;width:100%;min-width:640px;max-width:1280px;height:auto;display:block;"
      + "margin:0 auto}rect{shape-rendering:crispEdges}"
      + ".map rect:hover{stroke:#e0218a;stroke-width:2}"
      + (showsKeyspaces
        ? ".extent{fill-opacity:.7}"
        : Self.shades.enumerated().dropFirst().map { ".k\($0){\($1)}" }.joined())
      + ".ground{fill:#fffdf8}text{fill:#2b2a27}.b{fill:transparent}.l:hover .b{fill:#2b2a2712}"
      + ".o{fill:#8a857a;text-anchor:end;font-size:11px;font-variant-numeric:tabular-nums}"
      + ".t{font-size:22px;font-weight:600}.s{font-size:15px}.q{fill:#8a857a;font-size:12px}"
      + ".h{font-weight:600}.n{text-anchor:end;font-variant-numeric:tabular-nums}"
      + ".hole{stroke:#d8d2c4;stroke-width:.5}" + rules(\.light)
      + keyspaceRules(isDark: false)
      + "@media(prefers-color-scheme:dark){svg{background:#151412}.ground{fill:#151412}text{fill:#e9e5dc}"
      + ".o,.q{fill:#8f897d}.l:hover .b{fill:#e9e5dc1c}.hole{stroke:#3a3833}" + rules(\.dark)
      + keyspaceRules(isDark: true) + "}"
      + finding + "{opacity:.12}"
  }

  /// Returns a number with at most two decimals.
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
