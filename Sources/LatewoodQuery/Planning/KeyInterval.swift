import LatewoodBytes

/// An interval of the keys of a value: from `low` up to, but not including, `high`.
///
/// The bounds need not be complete keys: `low` may be the common prefix of all keys of a type, or
/// of strings with a prefix.
package struct KeyInterval: Sendable, Equatable {
  package var low: [UInt8]
  /// The upper bound; nil for an unbounded interval.
  package var high: [UInt8]?
  /// Whether all keys in the interval are equal.
  package var isPoint = false
  /// Whether documents in the interval may fail the test that it was derived from.
  package var needsCheck = false

  package init(low: [UInt8], high: [UInt8]?, isPoint: Bool = false, needsCheck: Bool = false) {
    self.low = low
    self.high = high
    self.isPoint = isPoint
    self.needsCheck = needsCheck
  }

  /// Creates the interval of the keys with a prefix.
  init(beginning bytes: [UInt8], isPoint: Bool = false, needsCheck: Bool = false) {
    self.init(
      low: bytes, high: KeyOrder.successor(ofPrefix: bytes), isPoint: isPoint, needsCheck: needsCheck)
  }

  init(_ tag: CollationTag, needsCheck: Bool = false) {
    self.init(beginning: [tag.rawValue], needsCheck: needsCheck)
  }

  /// Returns the interval of all existing values.
  static func present(needsCheck: Bool = false) -> KeyInterval {
    KeyInterval(low: [CollationTag.null.rawValue], high: nil, needsCheck: needsCheck)
  }

  /// The interval of the same keys in descending order; nil if there are no such keys.
  ///
  /// A key with a bound as its prefix sorts after that bound, even if both are inverted. So each
  /// bound becomes the successor of all keys with the inverted bound as their prefix.
  var descending: KeyInterval? {
    var turned = self
    if isPoint {
      turned.low = low.map { ~$0 }
      turned.high = KeyOrder.successor(ofPrefix: turned.low)
      return turned
    }
    turned.low = []
    if let high {
      guard let low = KeyOrder.successor(ofPrefix: high.map { ~$0 }) else { return nil }
      turned.low = low
    }
    turned.high = low.isEmpty ? nil : KeyOrder.successor(ofPrefix: low.map { ~$0 })
    return turned
  }

  /// Returns the common keys of two intervals; nil if they have no keys in common.
  func intersection(_ other: KeyInterval) -> KeyInterval? {
    let low = self.low.lexicographicallyPrecedes(other.low) ? other.low : self.low
    let high = KeyInterval.ends(self.high, before: other.high) ? self.high : other.high
    if let high, !low.lexicographicallyPrecedes(high) { return nil }
    return KeyInterval(
      low: low, high: high, isPoint: isPoint || other.isPoint, needsCheck: needsCheck || other.needsCheck)
  }

  private static func ends(_ left: [UInt8]?, before right: [UInt8]?) -> Bool {
    guard let left else { return false }
    guard let right else { return true }
    return left.lexicographicallyPrecedes(right)
  }

  /// Returns the common keys of two sets of intervals, each in order and without overlaps.
  static func intersection(_ left: [KeyInterval], _ right: [KeyInterval]) -> [KeyInterval] {
    var common: [KeyInterval] = []
    var (i, j) = (0, 0)
    while i < left.count, j < right.count {
      if let both = left[i].intersection(right[j]) { common.append(both) }
      if ends(left[i].high, before: right[j].high) { i += 1 } else { j += 1 }
    }
    return common
  }

  /// Returns the intervals in order, merging those that touch or overlap.
  package static func united(_ intervals: [KeyInterval]) -> [KeyInterval] {
    var united: [KeyInterval] = []
    for next in intervals.sorted(by: { $0.low.lexicographicallyPrecedes($1.low) }) {
      guard var last = united.last else {
        united.append(next)
        continue
      }
      if let high = last.high, !next.low.lexicographicallyPrecedes(high) {
        united.append(next)
        continue
      }
      if last.low == next.low, last.high == next.high {
        last.needsCheck = last.needsCheck && next.needsCheck
      } else {
        // A key that needs no check in one interval may need it in the other.
        last.needsCheck = last.needsCheck || next.needsCheck
        last.isPoint = false
        if ends(last.high, before: next.high) { last.high = next.high }
      }
      united[united.count - 1] = last
    }
    return united
  }
}

/// The common keys of several sets of intervals, each in order and without overlaps.
package struct KeyIntersection {
  /// More sets than this are intersected by pairs, so that each interval is copied log n times.
  private static let fewLimit = 8

  /// The common keys of the first sets.
  private var few: [KeyInterval]?
  private var fewCount = 0
  private var more: [[KeyInterval]] = []

  package init() {}

  /// Whether no set was added.
  var isEmpty: Bool { few == nil }

  package mutating func add(_ set: [KeyInterval]) {
    guard fewCount < KeyIntersection.fewLimit else { return more.append(set) }
    few = few.map { KeyInterval.intersection($0, set) } ?? set
    fewCount += 1
  }

  /// The common keys; nil if there are no sets. O(n log n) for `n` intervals in total.
  package var intervals: [KeyInterval]? {
    guard let few, !more.isEmpty else { return few }
    var sets = [few] + more
    while sets.count > 1 {
      var paired: [[KeyInterval]] = []
      for index in stride(from: 0, to: sets.count - 1, by: 2) {
        paired.append(KeyInterval.intersection(sets[index], sets[index + 1]))
      }
      if !sets.count.isMultiple(of: 2) { paired.append(sets[sets.count - 1]) }
      sets = paired
    }
    return sets[0]
  }
}
