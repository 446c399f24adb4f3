import LatewoodBytes
import LatewoodFile

// Counting. The base tree is counted with the totals in its branches. A write buffer over it is
// counted with its nodes, which store by how many entries they change the layers beneath, and with
// the number of entries that each deleted range hides there.
//
//     shown(layer) = shown(beneath it), without those that its deleted ranges hide
//                    + the change by its entries
//
// Wrong totals in the file cause a wrong count, which verification detects, but never a trap.

extension ReadView {
  /// The base tree or a write buffer over it.
  private enum Layer {
    case base, frozen, active

    var beneath: Layer { self == .active ? .frozen : .base }
  }

  private func root(of layer: Layer) -> BufferNode? {
    (layer == .active ? active : frozen).map { BufferNode($0) }
  }

  /// The deleted ranges of a layer; nil if there are none.
  private func ranges(of layer: Layer) -> RangeTombstones? {
    (layer == .active ? activeRanges : frozenRanges)?.takeUnretainedValue()
  }

  /// Returns the number of entries in a range of full keys. O(log n), plus O(log n) for each buffer
  /// entry of the range whose presence in the tree is not yet known.
  package func count(low: [UInt8], high: [UInt8]) throws(StorageError) -> UInt64 {
    UInt64(max(0, try shown(low, high, by: .active)))
  }

  /// Returns the number of entries in a range that a layer shows together with the layers beneath
  /// it.
  private func shown(_ low: [UInt8], _ high: [UInt8], by layer: Layer) throws(StorageError) -> Int {
    guard RangeTombstones.less(low, high) else { return 0 }
    if layer == .base { return Int(truncatingIfNeeded: try baseCount(low, high)) }
    var total = try notHidden(low, high, by: layer)
    if let root = root(of: layer) {
      total &+= try low.withStart { (start, count) throws(StorageError) in
        try high.withStart { (end, endCount) throws(StorageError) in
          try root.change(
            from: KeyPointer(start: start, count: count), below: KeyPointer(start: end, count: endCount),
            records
          ) { (key, keyCount) throws(StorageError) in try isShown(key, keyCount, beneath: layer) }
        }
      }
    }
    return total
  }

  /// Returns the number of entries in a range that lie beneath a layer and not in its deleted
  /// ranges.
  private func notHidden(_ low: [UInt8], _ high: [UInt8], by layer: Layer) throws(StorageError) -> Int {
    guard let ranges = ranges(of: layer) else { return try shown(low, high, by: layer.beneath) }
    // Exclude the part that a deleted range hides at either end.
    var (low, high) = (low, high)
    if let cut = ranges.firstEnding(after: low), !RangeTombstones.less(low, cut.low) { low = cut.high }
    if let cut = ranges.firstEnding(after: high), RangeTombstones.less(cut.low, high) { high = cut.low }
    guard RangeTombstones.less(low, high) else { return 0 }
    return try shown(low, high, by: layer.beneath)
      &- ranges.hidden(low: low, high: high) { (interval) throws(StorageError) in
        try shown(interval.low, interval.high, by: layer.beneath)
      }
  }

  /// Returns whether a layer together with the layers beneath it shows a key.
  private func isShown(_ key: UnsafeRawPointer, _ keyCount: Int, by layer: Layer) throws(StorageError) -> Bool
  {
    if layer == .base { return try base.find(key, keyCount) != nil }
    if let root = root(of: layer), let (reference, _) = try root.entry(key, keyCount, records) {
      return !reference.isTombstone
    }
    return try isShown(key, keyCount, beneath: layer)
  }

  /// Returns whether a layer shows a key for which it has no entry.
  private func isShown(
    _ key: UnsafeRawPointer, _ keyCount: Int, beneath layer: Layer
  ) throws(StorageError) -> Bool {
    if let ranges = ranges(of: layer), ranges.cover(key, keyCount) > 0 { return false }
    return try isShown(key, keyCount, by: layer.beneath)
  }

  /// Returns the full key of the entry at `index` of a range; nil if the range has fewer entries.
  ///
  /// Takes O(log n) counts to search the buffer entries and deleted ranges. If there are no deleted
  /// ranges, and only one layer has entries in the range, it takes O(log n).
  package func key(at index: UInt64, low: [UInt8], high: [UInt8]) throws(StorageError) -> [UInt8]? {
    if activeRanges == nil, frozenRanges == nil {
      let (isInActive, isInFrozen) = (
        try hasEntry(low, high, in: .active), try hasEntry(low, high, in: .frozen)
      )
      if !isInActive, !isInFrozen { return try baseKey(at: index, low, high) }
      if isInActive != isInFrozen, try baseCount(low, high) == 0 {
        return try onlyKey(at: index, low, high, in: isInActive ? .active : .frozen)
      }
    }
    guard try index < count(low: low, high: high) else { return nil }
    // No entry of a buffer and no deleted range lies between `start` and the key.
    var start = low
    for layer in [Layer.active, .frozen] {
      if let root = root(of: layer) {
        let last = try root.last(in: records) { (key, keyCount) throws(StorageError) in
          try count(low: low, high: Self.bytes(key, keyCount)) <= index
        }
        if let last, !RangeTombstones.less(last, start) {
          if try isShown(last), try count(low: low, high: last) == index { return last }
          start = last + [0]
        }
      }
      if let ranges = ranges(of: layer) {
        let last = try ranges.last { (begin) throws(StorageError) in try count(low: low, high: begin) <= index
        }
        if let last, RangeTombstones.less(start, last.high) { start = last.high }
      }
    }
    let rank = try baseRank(start) &+ index &- count(low: low, high: start)
    let cursor = try base.cursor(atRank: rank)
    return cursor.isValid ? try cursor.keyBytes() : nil
  }

  /// Returns whether a buffer has an entry in a range.
  private func hasEntry(_ low: [UInt8], _ high: [UInt8], in layer: Layer) throws(StorageError) -> Bool {
    guard let root = root(of: layer) else { return false }
    var cursor = BufferCursor(root: root.pointer, space: records)
    try low.withStart { (start, count) throws(StorageError) in try cursor.seek(start, count) }
    guard cursor.isValid else { return false }
    return try high.withStart { (end, count) throws(StorageError) in
      PrefixedKey(cursor.key, cursor.keyCount).compare(end, count) < 0
    }
  }

  /// Returns the key at `index` of a range in which only one buffer has entries.
  private func onlyKey(
    at index: UInt64, _ low: [UInt8], _ high: [UInt8], in layer: Layer
  ) throws(StorageError) -> [UInt8]? {
    let record = try low.withStart { (start, count) throws(StorageError) in
      try high.withStart { (end, endCount) throws(StorageError) in
        try root(of: layer)?.put(
          at: Int(clamping: index), from: KeyPointer(start: start, count: count),
          below: KeyPointer(start: end, count: endCount), records
        ) { (key, keyCount) throws(StorageError) in try isShown(key, keyCount, beneath: layer) }
      }
    }
    return record.map { Self.bytes($0.key, $0.keyCount) }
  }

  private func baseKey(at index: UInt64, _ low: [UInt8], _ high: [UInt8]) throws(StorageError) -> [UInt8]? {
    let (rank, overflow) = try baseRank(low).addingReportingOverflow(index)
    if overflow { return nil }
    let cursor = try base.cursor(atRank: rank)
    guard cursor.isValid else { return nil }
    let key = try cursor.keyBytes()
    return RangeTombstones.less(key, high) && !RangeTombstones.less(key, low) ? key : nil
  }

  private func isShown(_ key: [UInt8]) throws(StorageError) -> Bool {
    try key.withStart { (start, count) throws(StorageError) in try isShown(start, count, by: .active) }
  }

  private static func bytes(_ key: UnsafeRawPointer, _ keyCount: Int) -> [UInt8] {
    Array(UnsafeRawBufferPointer(start: key, count: keyCount))
  }

  private func baseRank(_ key: [UInt8]) throws(StorageError) -> UInt64 {
    try key.withStart { (start, count) throws(StorageError) in try base.rank(of: start, count) }
  }

  private func baseCount(_ low: [UInt8], _ high: [UInt8]) throws(StorageError) -> UInt64 {
    let before = try baseRank(low)
    let below = try baseRank(high)
    return below > before ? below - before : 0
  }

  /// Calls `body` with each part of a range that deleted ranges hide in the base, ascending and
  /// without overlap, until it returns false. O(log n) each.
  func eachDeletedRange(
    low: [UInt8], high: [UInt8], _ body: (_ range: DeletedRange) throws(StorageError) -> Bool
  ) throws(StorageError) {
    var start = low
    while RangeTombstones.less(start, high), let range = range(endingAfter: start),
      RangeTombstones.less(range.low, high)
    {
      let end = RangeTombstones.less(high, range.high) ? high : range.high
      guard try body(DeletedRange(low: RangeTombstones.less(range.low, start) ? start : range.low, high: end))
      else {
        return
      }
      start = end
    }
  }

  /// A range of keys whose entries in the base are hidden.
  struct DeletedRange {
    var low: [UInt8]
    /// The upper bound, not included.
    var high: [UInt8]
  }

  /// Returns the interval of either buffer with the lowest start among those that end after a key.
  private func range(endingAfter key: [UInt8]) -> RangeTombstones.Interval? {
    let newer = activeRanges?._withUnsafeGuaranteedRef { $0.firstEnding(after: key) }
    let older = frozenRanges?._withUnsafeGuaranteedRef { $0.firstEnding(after: key) }
    guard let newer, let older else { return newer ?? older }
    return RangeTombstones.less(older.low, newer.low) ? older : newer
  }
}
