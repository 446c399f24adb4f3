/// Counts the values and keys visited by a walk that have bytes in given ranges.
struct FleeceWatch {
  private var watched: [(range: Range<Int>, uses: Int)]
  /// The bytes from the first range to the last. Most values do not have bytes in it.
  private let hull: Range<Int>

  init(_ ranges: [Range<Int>]) {
    watched = ranges.map { ($0, 0) }
    let start = ranges.map(\.lowerBound).min() ?? 0
    hull = start..<(ranges.map(\.upperBound).max() ?? start)
  }

  /// Whether there are ranges.
  @inline(__always) var isOn: Bool { !hull.isEmpty }

  /// The number of values and keys, for each range.
  var uses: [Int] { watched.map(\.uses) }

  /// Counts a value or key by its own bytes.
  @inline(__always) mutating func count(_ value: FleeceValue) throws(FleeceError) {
    // Most values lie before all ranges or after them. The longest short values are strings of 14
    // bytes.
    if value.offset >= hull.upperBound { return }
    if value.isShort, value.offset &+ 15 <= hull.lowerBound { return }
    let extent = try value.extent()
    for index in watched.indices where watched[index].range.overlaps(extent) { watched[index].uses += 1 }
  }

  /// Counts the pointers between an item and its value, unless the item is the value or points
  /// directly at it.
  @inline(__always) mutating func countSpan(to value: FleeceValue, from item: Int) {
    if value.offset != item, value.limit != item { countForAll() }
  }

  /// Counts one use for every range.
  mutating func countForAll() {
    for index in watched.indices { watched[index].uses += 1 }
  }
}
