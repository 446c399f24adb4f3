/// Ranges of full keys, in order and disjoint.
struct KeyIntervals {
  /// The keys from `low`, inclusive, to `high`, exclusive; nil means no bound.
  struct Interval: Equatable {
    var low: [UInt8]
    var high: [UInt8]?

    func contains(_ key: [UInt8]) -> Bool {
      !key.lexicographicallyPrecedes(low) && (high.map { key.lexicographicallyPrecedes($0) } ?? true)
    }

    /// Returns the intersection of two intervals; nil if it is empty.
    func clipped(to other: Interval) -> Interval? {
      let low = low.lexicographicallyPrecedes(other.low) ? other.low : low
      let high = Self.earlier(high, other.high)
      if let high, !low.lexicographicallyPrecedes(high) { return nil }
      return Interval(low: low, high: high)
    }

    private static func earlier(_ a: [UInt8]?, _ b: [UInt8]?) -> [UInt8]? {
      guard let a else { return b }
      guard let b else { return a }
      return a.lexicographicallyPrecedes(b) ? a : b
    }
  }

  private(set) var intervals: [Interval] = []

  init(_ ranges: some Sequence<Interval>) {
    for range in ranges.sorted(by: { $0.low.lexicographicallyPrecedes($1.low) }) {
      guard let last = intervals.last, Self.touches(last, range.low) else {
        intervals.append(range)
        continue
      }
      // Merge overlapping ranges.
      if let high = last.high {
        let isLonger = range.high.map { high.lexicographicallyPrecedes($0) } ?? true
        if isLonger { intervals[intervals.count - 1].high = range.high }
      }
    }
  }

  var isEmpty: Bool { intervals.isEmpty }

  private static func touches(_ interval: Interval, _ low: [UInt8]) -> Bool {
    interval.high.map { low.lexicographicallyPrecedes($0) } ?? true
  }

  func contains(_ key: [UInt8]) -> Bool {
    let after = firstIndex(after: key)
    return after > 0 && intervals[after - 1].contains(key)
  }

  /// Returns the index of the first interval whose lower bound is greater than `key`.
  private func firstIndex(after key: [UInt8]) -> Int {
    var (start, end) = (0, intervals.count)
    while start < end {
      let middle = (start + end) / 2
      if key.lexicographicallyPrecedes(intervals[middle].low) { end = middle } else { start = middle + 1 }
    }
    return start
  }

  /// Returns the parts of `range` that are in the intervals.
  func clipping(_ range: Interval) -> [Interval] {
    var parts: [Interval] = []
    for interval in intervals[max(firstIndex(after: range.low) - 1, 0)...] {
      if let high = range.high, !interval.low.lexicographicallyPrecedes(high) { break }
      if let part = interval.clipped(to: range) { parts.append(part) }
    }
    return parts
  }
}

extension Array where Element == UInt8 {
  /// The least key that is greater than this one.
  var successor: [UInt8] { self + [0] }
}
