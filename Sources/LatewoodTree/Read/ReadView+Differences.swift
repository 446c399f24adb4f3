import LatewoodBytes
import LatewoodFile

extension ReadView {
  /// Calls `body` with each full key of a range whose value differs between two views, in order,
  /// with both values, until it returns false.
  ///
  /// First collects the keys at which the views may differ: keys whose entries differ in the base
  /// trees (shared parts are skipped), keys with entries in a write buffer of either view, and keys
  /// in a deleted range of either. Then looks up each key in both views. O(changes x log n) time,
  /// O(changes) memory.
  package static func differences(
    from old: ReadView, to new: ReadView, low: [UInt8], high: [UInt8],
    _ body: (_ key: [UInt8], UnsafeRawBufferPointer?, UnsafeRawBufferPointer?) throws -> Bool
  ) throws {
    for key in try candidates(old, new, low, high) {
      let (before, after) = try key.withStart { (start, count) throws(StorageError) in
        (try old.find(start, count), try new.find(start, count))
      }
      if isSame(before, after) { continue }
      guard try body(key, before, after) else { return }
    }
  }

  private static func isSame(_ a: UnsafeRawBufferPointer?, _ b: UnsafeRawBufferPointer?) -> Bool {
    guard let a, let b else { return a == nil && b == nil }
    guard a.count == b.count else { return false }
    guard let x = a.baseAddress, let y = b.baseAddress else { return true }
    return x == y || KeyOrder.isEqual(x, y, a.count)
  }

  private static func candidates(
    _ old: ReadView, _ new: ReadView, _ low: [UInt8], _ high: [UInt8]
  ) throws(StorageError) -> [[UInt8]] {
    var keys: [[UInt8]] = []
    if old.base.root != new.base.root {
      var diff = BaseDiff(from: old.base, to: new.base)
      _ = try diff.run { change throws(StorageError) in
        let key = change.key.bytes
        guard RangeTombstones.less(key, high) else { return false }
        if !RangeTombstones.less(key, low) { keys.append(key) }
        return true
      }
    }
    for view in [old, new] {
      for root in [view.active, view.frozen] {
        var cursor = BufferCursor(root: root, space: view.records)
        try low.withStart { (start, count) throws(StorageError) in try cursor.seek(start, count) }
        while cursor.isValid, RangeTombstones.compare(high, cursor.key, cursor.keyCount) > 0 {
          keys.append(Array(UnsafeRawBufferPointer(start: cursor.key, count: cursor.keyCount)))
          try cursor.next()
        }
      }
      try view.eachDeletedRange(low: low, high: high) { (range) throws(StorageError) in
        // An entry that is hidden here may be visible in the other view. (Differences of the bases
        // are already known.)
        var cursor = view.base.cursor()
        try cursor.seek(range.low)
        while cursor.isValid {
          let key = try cursor.keyBytes()
          guard RangeTombstones.less(key, range.high) else { break }
          keys.append(key)
          _ = try cursor.next()
        }
        return true
      }
    }
    keys.sort { RangeTombstones.less($0, $1) }
    var last: [UInt8]?
    return keys.filter { key in
      defer { last = key }
      return key != last
    }
  }
}
