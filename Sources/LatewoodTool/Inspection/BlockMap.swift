import LatewoodInspection

/// The map of a file in letters, each of which shows the most frequent purpose of the same number
/// of bytes.
struct BlockMap {
  let map: FileMap
  /// The number of bytes to a letter: a power of two.
  let cellLength: UInt64
  let columns: Int
  private static let mostRows = 24
  private static let gutter = 14

  init(_ map: FileMap, width: Int) {
    self.map = map
    // A power of two, so that rows start at round offsets.
    var columns = 16
    while columns * 2 <= min(width - Self.gutter, 128) { columns *= 2 }
    self.columns = columns
    var length: UInt64 = 64
    while map.size / length >= UInt64(columns * Self.mostRows) { length *= 2 }
    cellLength = length
  }

  /// Returns the kind of region that each letter shows.
  func cells() -> [Region.Kind] {
    var cells: [Region.Kind] = []
    var index = 0
    var start: UInt64 = 0
    while start < map.size {
      let end = min(map.size, start + cellLength)
      var bytes: [Region.Kind: UInt64] = [:]
      while index < map.regions.count {
        let region = map.regions[index]
        let part = min(region.range.upperBound, end) - max(region.range.lowerBound, start)
        // Even a small fault is shown.
        bytes[region.kind, default: 0] += region.kind == .damaged ? cellLength : part
        if region.range.upperBound > end { break }
        index += 1
        if region.range.upperBound == end { break }
      }
      // If two kinds have equally many bytes, the first in the legend wins.
      let most = bytes.values.max() ?? 0
      cells.append(Region.Kind.allCases.first { bytes[$0] == most } ?? .frame)
      start = end
    }
    return cells
  }

  func lines(_ style: Style) -> [String] {
    let cells = cells()
    return stride(from: 0, to: cells.count, by: columns).map { start in
      let offset = Quantity.count(UInt64(start) * cellLength)
      let row = cells[start..<min(start + columns, cells.count)]
      return DisplayWidth.padded(offset, to: Self.gutter - 2, right: true) + "  " + Self.painted(row, style)
    }
  }

  private static func painted(_ cells: ArraySlice<Region.Kind>, _ style: Style) -> String {
    var text = ""
    var rest = cells
    while let kind = rest.first {
      let run = rest.prefix { $0 == kind }.count
      text += style.painted(String(repeating: kind.look.letter, count: run), kind.look.terminalColour)
      rest = rest.dropFirst(run)
    }
    return text
  }

  /// Returns the legend: letter, words, bytes, share and count of each kind in the file.
  func legend(_ style: Style) -> [String] {
    let totals = map.totals
    let counts = map.regions.reduce(into: [Region.Kind: Int]()) { $0[$1.kind, default: 0] += 1 }
    return Region.Kind.allCases.compactMap { kind in
      guard let bytes = totals[kind] else { return nil }
      return style.painted(String(kind.look.letter), kind.look.terminalColour) + "  "
        + DisplayWidth.padded(kind.look.words, to: 24)
        + DisplayWidth.padded(Quantity.bytes(bytes), to: 12, right: true)
        + DisplayWidth.padded(Self.share(bytes, of: map.size), to: 8, right: true)
        + DisplayWidth.padded(
          Quantity.count(counts[kind] ?? 0, "region", "regions"), to: 18, right: true)
    }
  }

  /// Returns a share in per cent, with one decimal below ten.
  static func share(_ part: UInt64, of whole: UInt64) -> String {
    guard whole > 0 else { return "0%" }
    let tenths = Int(Double(part) / Double(whole) * 1000)
    return tenths < 100
      ? (tenths == 0 && part > 0 ? "<0.1%" : "\(tenths / 10).\(tenths % 10)%") : "\(tenths / 10)%"
  }
}
