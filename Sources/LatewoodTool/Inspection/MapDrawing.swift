import LatewoodInspection

/// The map of a file as a drawing: rows of equal length, one below the other, from the first byte
/// to the last.
///
/// Neighbours that would be too narrow to see are drawn as one shape, so that there are at most a
/// few thousand, regardless of the size of the file. The drawing is self-contained: no script, no
/// font, no other file.
struct MapDrawing {
  /// A single shape: one region, or several regions that are too narrow to be drawn separately.
  struct Shape {
    var range: Range<UInt64>
    var kind: Region.Kind
    /// The keyspace that owns the most of the bytes that are of the shape's kind; nil if no
    /// keyspace owns any.
    var keyspace: UInt32?
    /// The number of bytes of each keyspace, of nodes and of extents.
    var owners: [Owner: UInt64] = [:]
    /// The number of bytes of each kind; nil for a single region, whose entire range is `whole`.
    var parts: [Region.Kind: UInt64]?
    var whole: Range<UInt64>
  }

  /// A keyspace, and the kind of region in which it owns bytes.
  struct Owner: Hashable {
    var kind: Region.Kind
    var keyspace: UInt32
  }

  /// The width of a row in points, which the browser scales.
  static let rowWidth = 832.0
  static let mostShapes = 4000

  let map: FileMap
  let name: String
  /// Whether live nodes and values have the colours of their keyspaces, not of their kinds.
  let showsKeyspaces: Bool
  /// The number of bytes in a row: a power of two.
  let rowLength: UInt64
  /// The width, in points, below which neighbours are drawn as one shape.
  private(set) var leastWidth = 2.0
  private(set) var rows: [[Shape]] = []
  /// The rank of each keyspace by its bytes, the largest first.
  let order: [UInt32: Int]

  init(_ map: FileMap, name: String, showsKeyspaces: Bool = false) {
    self.map = map
    self.name = name
    self.showsKeyspaces = showsKeyspaces
    var length: UInt64 = map.isWhole ? 4096 : 16
    while map.length / length >= 32 { length *= 2 }
    rowLength = length
    order = Dictionary(uniqueKeysWithValues: map.tree.keyspacesBySize.enumerated().map { ($1, $0) })
    rows = shapes()
    while rows.reduce(0, { $0 + $1.count }) > Self.mostShapes {
      leastWidth *= 2
      rows = shapes()
    }
  }

  private func shapes() -> [[Shape]] {
    var index = 0
    return stride(from: map.range.lowerBound, to: map.range.upperBound, by: Int(rowLength)).map { start in
      shapes(in: start..<min(map.range.upperBound, start + rowLength), from: &index)
    }
  }

  /// Returns the shapes of one row, from left to right.
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
      var shape = Shape(
        range: part, kind: region.kind, keyspace: region.keyspace, parts: nil, whole: region.range)
      shape.add(region, length)
      shapes.append(shape)
      return
    }
    var parts = last.parts ?? [last.kind: last.range.upperBound - last.range.lowerBound]
    parts[region.kind, default: 0] += length
    let most = parts.values.max() ?? 0
    let kind =
      [.unreadable, .damaged].first { parts[$0] != nil }
      ?? Region.Kind.allCases.first { parts[$0] == most } ?? region.kind
    let range = last.range.lowerBound..<part.upperBound
    var shape = last
    shape.add(region, length)
    (shape.range, shape.whole, shape.kind, shape.parts) = (range, range, kind, parts)
    // Bytes between the nodes of a keyspace, such as frame headers, do not hide the keyspace.
    shape.keyspace = shape.largestOwner
    shapes[shapes.count - 1] = shape
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
      let owner = shape.keyspace.map { ["mostly " + KeyText.shown(map.tree.name(of: $0).utf8)] } ?? []
      return (["several regions"] + owner + list + [place]).joined(separator: "\n")
    }
    let owner = shape.keyspace.map { ", \(KeyText.shown(map.tree.name(of: $0).utf8))" } ?? ""
    return "\(shape.kind.look.words)\(owner)\n\(place)"
  }
}

extension MapDrawing.Shape {
  fileprivate mutating func add(_ region: Region, _ length: UInt64) {
    guard let keyspace = region.keyspace else { return }
    owners[MapDrawing.Owner(kind: region.kind, keyspace: keyspace), default: 0] += length
  }

  /// The keyspace with the most bytes of the shape's kind; among equals, the one with the lowest
  /// number.
  fileprivate var largestOwner: UInt32? {
    owners.filter { $0.key.kind == kind }
      .max { ($0.value, $1.key.keyspace) < ($1.value, $0.key.keyspace) }?.key.keyspace
  }
}
