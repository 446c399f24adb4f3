import LatewoodBytes

/// The ranges that were deleted since the last checkpoint: one entry for a range delete, however much it deletes.
///
/// A range delete hides what is older than itself, and a record's file offset says how old it is: the log only grows. So an entry
/// at offset `e` is hidden by a range that contains its key and lies at an offset greater than `e`; what is in the base tree is
/// older than every range.
///
/// Invariant: intervals are not empty, do not overlap, and ascend. Where two range deletes overlap, the newer one's offset counts.
///
/// An immutable value shared by versions; adding a range makes a new one. O(number of intervals) to add, O(log) to ask.
package final class RangeSet: Sendable {
  package struct Interval: Sendable, Equatable {
    package var low: [UInt8]
    /// Not included.
    package var high: [UInt8]
    /// Of the newest range delete that covers it.
    package var offset: UInt64
  }

  package let intervals: [Interval]

  package init(_ intervals: [Interval] = []) { self.intervals = intervals }

  package var isEmpty: Bool { intervals.isEmpty }

  /// The set with one more range, newer than all in it.
  func adding(low: [UInt8], high: [UInt8], offset: UInt64) -> RangeSet {
    guard Self.less(low, high) else { return self }
    var result: [Interval] = []
    result.reserveCapacity(intervals.count + 2)
    var isPlaced = false
    let new = Interval(low: low, high: high, offset: offset)
    for old in intervals {
      if !Self.less(low, old.high) {
        result.append(old)
        continue
      }
      if Self.less(old.low, low) { result.append(Interval(low: old.low, high: low, offset: old.offset)) }
      if !isPlaced {
        result.append(new)
        isPlaced = true
      }
      if Self.less(old.low, high) {
        if Self.less(high, old.high) {
          result.append(Interval(low: high, high: old.high, offset: old.offset))
        }
      } else {
        result.append(old)
      }
    }
    if !isPlaced { result.append(new) }
    return RangeSet(result)
  }

  /// Index of the first interval that ends after the key.
  func firstEnding(after key: UnsafeRawPointer, _ keyCount: Int) -> Int {
    var low = 0
    var high = intervals.count
    while low < high {
      let middle = (low + high) / 2
      if Self.compare(intervals[middle].high, key, keyCount) <= 0 { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// The interval that a key lies in.
  func interval(containing key: UnsafeRawPointer, _ keyCount: Int) -> Interval? {
    let index = firstEnding(after: key, keyCount)
    guard index < intervals.count, Self.compare(intervals[index].low, key, keyCount) <= 0 else { return nil }
    return intervals[index]
  }

  /// Offset of the newest range delete that covers a key; 0 if none does.
  func cover(_ key: UnsafeRawPointer, _ keyCount: Int) -> UInt64 {
    interval(containing: key, keyCount)?.offset ?? 0
  }

  static func compare(_ bound: [UInt8], _ key: UnsafeRawPointer, _ keyCount: Int) -> Int {
    bound.withUnsafeBytes { bytes in
      bytes.baseAddress.map { KeyOrder.compare($0, bytes.count, key, keyCount) } ?? (keyCount == 0 ? 0 : -1)
    }
  }

  static func less(_ a: [UInt8], _ b: [UInt8]) -> Bool {
    b.withUnsafeBytes { bytes in
      bytes.baseAddress.map { compare(a, $0, bytes.count) < 0 } ?? false
    }
  }
}
