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
    var length: UInt64 = map.isWhole ? 64 : 1
    while map.length / length >= UInt64(columns * Self.mostRows) { length *= 2 }
    cellLength = length
  }

  /// Returns the kind of region that each letter shows.
  func cells() -> [Region.Kind] {
    cells { bytes in
      // If two kinds have equally many bytes, the first in the legend wins. Even a small fault is
      // shown.
      let most = bytes.values.max() ?? 0
      if let worst = [.unreadable, .damaged].first(where: { bytes[$0] != nil }) { return worst }
      return Region.Kind.allCases.first { bytes[$0] == most } ?? .frame
    } of: {
      $0.kind
    }
  }

  /// Adds up the bytes of each letter by a property of their regions, and chooses one by the sums.
  func cells<Property: Hashable, Cell>(
    choose: ([Property: UInt64]) -> Cell, of property: (Region) -> Property
  ) -> [Cell] {
    var cells: [Cell] = []
    var index = 0
    var start = map.range.lowerBound
    while start < map.range.upperBound {
      let end = min(map.range.upperBound, start + cellLength)
      var bytes: [Property: UInt64] = [:]
      while index < map.regions.count {
        let region = map.regions[index]
        let part = min(region.range.upperBound, end) - max(region.range.lowerBound, start)
        bytes[property(region), default: 0] += part
        if region.range.upperBound > end { break }
        index += 1
        if region.range.upperBound == end { break }
      }
      cells.append(choose(bytes))
      start = end
    }
    return cells
  }

  func lines(_ style: Style) -> [String] {
    rows(cells().map { Letter(character: $0.look.letter, colour: $0.look.terminalColour) }, style)
  }

  /// A letter of the map, and one of the 256 terminal colours.
  struct Letter: Equatable {
    var character: Character
    var colour: Int
  }

  /// Returns the rows of the map, each with the offset at which it begins.
  func rows(_ letters: [Letter], _ style: Style) -> [String] {
    stride(from: 0, to: letters.count, by: columns).map { start in
      let offset = Quantity.count(map.range.lowerBound + UInt64(start) * cellLength)
      let row = letters[start..<min(start + columns, letters.count)]
      return DisplayWidth.padded(offset, to: Self.gutter - 2, right: true) + "  " + Self.painted(row, style)
    }
  }

  private static func painted(_ letters: ArraySlice<Letter>, _ style: Style) -> String {
    var text = ""
    var rest = letters
    while let letter = rest.first {
      let run = rest.prefix { $0 == letter }.count
      text += style.painted(String(repeating: letter.character, count: run), letter.colour)
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
        + DisplayWidth.padded(Self.share(bytes, of: map.length), to: 8, right: true)
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
