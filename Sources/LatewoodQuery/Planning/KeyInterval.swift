import LatewoodBytes

/// An interval of keys of one value: from `low` up to, but not including, `high`.
///
/// The bounds are bytes, not always whole keys: `low` may be a prefix that all keys of a type, or
/// of strings with a prefix, have in common.
package struct KeyInterval: Sendable, Equatable {
  package var low: [UInt8]
  /// The upper bound; nil if there is none.
  package var high: [UInt8]?
  /// Whether all keys in it are equal.
  package var isPoint = false
  /// Whether documents in it may fail the test that it was made from.
  package var needsCheck = false

  package init(low: [UInt8], high: [UInt8]?, isPoint: Bool = false, needsCheck: Bool = false) {
    self.low = low
    self.high = high
    self.isPoint = isPoint
    self.needsCheck = needsCheck
  }

  /// Creates the interval of the keys that begin with some bytes.
  init(beginning bytes: [UInt8], isPoint: Bool = false, needsCheck: Bool = false) {
    self.init(
      low: bytes, high: KeyOrder.successor(ofPrefix: bytes), isPoint: isPoint, needsCheck: needsCheck)
  }

  init(_ tag: CollationTag, needsCheck: Bool = false) {
    self.init(beginning: [tag.rawValue], needsCheck: needsCheck)
  }

  /// The interval of all existing values.
  static func present(needsCheck: Bool = false) -> KeyInterval {
    KeyInterval(low: [CollationTag.null.rawValue], high: nil, needsCheck: needsCheck)
  }

  /// The same keys in an index where they are descending; nil if there are none.
  ///
  /// A key that begins with a bound comes after it, and with all bits inverted it also comes after
  /// the inverted bound. So each bound becomes the successor of everything that begins with it.
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

  /// Returns the keys that both intervals contain; nil if there are none.
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

  /// Returns the keys that two sets have in common; each set is in order and without overlaps.
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
  static func united(_ intervals: [KeyInterval]) -> [KeyInterval] {
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
        // Where they differ, a key that needs no check in one may need it in the other.
        last.needsCheck = last.needsCheck || next.needsCheck
        last.isPoint = false
        if ends(last.high, before: next.high) { last.high = next.high }
      }
      united[united.count - 1] = last
    }
    return united
  }
}
