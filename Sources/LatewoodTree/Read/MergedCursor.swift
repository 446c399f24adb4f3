import LatewoodBytes
import LatewoodFile

/// A position among the entries of a view, which merges the base tree and both write buffers.
///
/// ```
/// active   .  b  .  d' .        newest; a quote is a delete
/// frozen   .  b  c  .  .
/// base     a  b  .  d  e
/// shows    a  b  c  .  e
/// ```
///
/// Invariants, while the cursor is on an entry and moves forward (backward: with "greatest" and
/// "not above"):
/// 1. Each source is on its least key that is not below the current key.
/// 2. The `takes…` flags mark the sources that are on the current key. The current entry is from
///    the newest of them.
///
/// Reads memory of a version or a running transaction, which the owner of the cursor keeps alive.
///
/// The methods that scans call for each entry are mutating, although they change nothing: the
/// compiler would copy all 780 bytes of a borrowed cursor for each call.
package struct MergedCursor: ~Copyable {
  private let view: ReadView
  private var base: BaseCursor
  private var active: BufferCursor
  private var frozen: BufferCursor
  private let isClean: Bool
  /// Whether ranges are deleted in a buffer.
  private let hasRanges: Bool
  private var isForward = true
  private var takesActive = false
  private var takesFrozen = false
  private var takesBase = false

  /// Whether the cursor is on an entry.
  package private(set) var isValid = false

  package init(_ view: ReadView) {
    self.view = view
    base = view.base.cursor()
    active = BufferCursor(root: view.active, space: view.records)
    frozen = BufferCursor(root: view.frozen, space: view.records)
    isClean = view.isClean
    hasRanges = view.activeRanges != nil || view.frozenRanges != nil
  }

  // MARK: The current entry

  /// The full key of the current entry.
  @inline(__always) var key: PrefixedKey {
    if takesActive { return PrefixedKey(active.key, active.keyCount) }
    if takesFrozen { return PrefixedKey(frozen.key, frozen.keyCount) }
    return base.key
  }

  package var keyCount: Int { key.count }

  /// Returns a copy of the current entry's full key.
  package mutating func fullKey() throws(StorageError) -> [UInt8] {
    if takesActive || takesFrozen { return key.bytes }
    return try base.keyBytes()
  }

  /// Returns the value of the current entry. Valid as long as the version.
  package mutating func value() throws(StorageError) -> UnsafeRawBufferPointer {
    if takesActive || takesFrozen {
      let file = view.base.source.file
      return try takesActive ? active.value(in: file) : frozen.value(in: file)
    }
    return try base.value.bytes(in: view.base.source.file)
  }

  /// Occasionally touches the values of the base's next entries.
  @inline(__always) mutating func touchAhead() {
    guard takesBase, base.index & (LeafEntries.touchCount &- 1) == 0, base.value.isExtent else { return }
    let end = min(base.index &+ LeafEntries.touchCount, base.leaf.count)
    LeafEntries(base.leaf).touchExtents(base.index..<end, in: view.base.source.file)
  }

  /// Compares the current key with another.
  package mutating func compareKey(_ other: UnsafeRawPointer, _ otherCount: Int) -> Int {
    key.compare(other, otherCount)
  }

  /// Returns the position in the base tree if all entries from here up to `end` are in the base
  /// tree; nil if a buffer has entries there, or ranges are deleted. Call after `position`.
  mutating func onlyBase(before end: UnsafeRawPointer, _ endCount: Int) -> BaseCursor? {
    guard !hasRanges else { return nil }
    if active.isValid, KeyOrder.compare(active.key, active.keyCount, end, endCount) < 0 { return nil }
    if frozen.isValid, KeyOrder.compare(frozen.key, frozen.keyCount, end, endCount) < 0 { return nil }
    return base
  }

  /// Returns the position in the base tree if all entries from here down to `start` are in the base
  /// tree, like `onlyBase(before:)`. Call after `positionBefore`.
  mutating func onlyBase(downTo start: UnsafeRawPointer, _ startCount: Int) -> BaseCursor? {
    guard !hasRanges else { return nil }
    if active.isValid, KeyOrder.compare(active.key, active.keyCount, start, startCount) >= 0 { return nil }
    if frozen.isValid, KeyOrder.compare(frozen.key, frozen.keyCount, start, startCount) >= 0 { return nil }
    return base
  }

  /// Returns the entries of the base's leaf, starting at the current one, if all of them precede
  /// `end` and every buffer entry, so that nothing must be merged. `passLeaf` continues after them.
  ///
  /// - Parameter isFirst: whether to check in the middle of a leaf too. A scan does so once, and
  ///   after that only at the start of each leaf, to keep the check cheap.
  mutating func unmergedEntries(
    before end: UnsafeRawPointer, _ endCount: Int, isFirst: Bool
  ) -> (leaf: Node, entries: Range<Int>)? {
    guard takesBase, isFirst || base.index == 0, !takesActive, !takesFrozen, !hasRanges else { return nil }
    let last = base.leaf.key(base.leaf.count &- 1)
    guard last.compare(end, endCount) < 0,
      !active.isValid || last.compare(active.key, active.keyCount) < 0,
      !frozen.isValid || last.compare(frozen.key, frozen.keyCount) < 0
    else { return nil }
    return (base.leaf, base.index..<base.leaf.count)
  }

  /// Moves to the first entry after the base's leaf.
  mutating func passLeaf() throws(StorageError) {
    _ = try base.nextLeaf()
    try settleForward()
  }

  /// Returns the entries of a write buffer's leaf from the current one up to a full key; nil if any
  /// entry must be merged with another source. If they reach the end of the leaf, `passTakenLeaf`
  /// moves past them.
  ///
  /// The entries include deletes. The deleted keys are not in other sources, because no other
  /// source has keys in this range.
  ///
  /// - Parameter isFirst: as for `unmergedEntries`.
  mutating func unmergedReferences(
    before end: UnsafeRawPointer, _ endCount: Int, isFirst: Bool
  ) throws(StorageError) -> (leaf: BufferNode, entries: Range<Int>)? {
    // Ranges that the active buffer deletes hide entries of the frozen buffer.
    guard !takesBase, takesActive != takesFrozen, takesActive || !hasRanges else { return nil }
    let (leaf, index) = takesActive ? active.position : frozen.position
    guard isFirst || index == 0 else { return nil }
    // If the last record of the leaf is damaged, the entries are read one by one, and only a caller
    // that reads that far gets the error.
    let last: LogRecord
    do throws(StorageError) { last = try view.records.record(leaf.reference(leaf.count &- 1)) } catch {
      return nil
    }
    let isWhole = KeyOrder.compare(last.key, last.keyCount, end, endCount) < 0
    let (bound, boundCount) = isWhole ? (last.key, last.keyCount) : (end, endCount)
    if base.isValid, base.key.compare(bound, boundCount) <= (isWhole ? 0 : -1) { return nil }
    if takesActive, frozen.isValid,
      KeyOrder.compare(frozen.key, frozen.keyCount, bound, boundCount) <= (isWhole ? 0 : -1)
    {
      return nil
    }
    if takesFrozen, active.isValid,
      KeyOrder.compare(active.key, active.keyCount, bound, boundCount) <= (isWhole ? 0 : -1)
    {
      return nil
    }
    if isWhole { return (leaf, index..<leaf.count) }
    do throws(StorageError) {
      let count = try leaf.lowerBound(end, endCount, view.records).index
      return (leaf, index..<max(index, count))
    } catch {
      return nil
    }
  }

  /// Moves the write buffer that the current entry is from to the first entry after its leaf.
  /// `settleForward` has to follow.
  mutating func passTakenLeaf() throws(StorageError) {
    if takesActive { try active.passLeaf() } else { try frozen.passLeaf() }
  }

  /// The number of buffer entries passed while moving forward.
  var steps: Int { active.steps &+ frozen.steps }

  // MARK: Moving

  /// Reads the nodes at the cursor's position again, because the file's cache may have evicted
  /// them. The position does not change.
  package mutating func reload() throws(StorageError) { try base.reload() }

  /// Moves to the first entry that is not less than a full key. O(log n).
  package mutating func seek(_ target: UnsafeRawPointer, _ targetCount: Int) throws(StorageError) {
    try position(target, targetCount)
    try settleForward()
  }

  /// Moves every source to its first entry that is not less than a full key. O(log n).
  /// `settleForward`, which skips any number of deleted keys, must follow.
  mutating func position(_ target: UnsafeRawPointer, _ targetCount: Int) throws(StorageError) {
    isForward = true
    _ = try base.seek(target, targetCount)
    try active.seek(target, targetCount)
    try frozen.seek(target, targetCount)
  }

  /// Moves to the last entry that is less than a full key. O(log n).
  package mutating func seekBefore(_ target: UnsafeRawPointer, _ targetCount: Int) throws(StorageError) {
    try positionBefore(target, targetCount)
    try settleBackward()
  }

  /// Moves every source to its last entry that is less than a full key. O(log n). `settleBackward`,
  /// which skips any number of deleted keys, must follow.
  mutating func positionBefore(_ target: UnsafeRawPointer, _ targetCount: Int) throws(StorageError) {
    isForward = false
    _ = try base.seekLast(before: target, targetCount)
    try active.seekBefore(target, targetCount)
    try frozen.seekBefore(target, targetCount)
  }

  /// Moves to the next entry. The cursor must be on one.
  package mutating func next() throws(StorageError) {
    if !isForward { return try turn(forward: true) }
    if takesActive { try active.next() }
    if takesFrozen { try frozen.next() }
    if takesBase { _ = try base.next() }
    try settleForward()
  }

  /// Moves to the previous entry. The cursor must be on one.
  package mutating func previous() throws(StorageError) {
    if isForward { return try turn(forward: false) }
    if takesActive { try active.previous() }
    if takesFrozen { try frozen.previous() }
    if takesBase { _ = try base.previous() }
    try settleBackward()
  }

  /// Reverses the direction: sources that are not on the current key are on the wrong side of it.
  private mutating func turn(forward: Bool) throws(StorageError) {
    if forward { try seek(fullKey() + [0]) } else { try seekBefore(fullKey()) }
  }

  /// Like `seek` with pointers.
  package mutating func seek(_ target: [UInt8]) throws(StorageError) {
    try target.withStart { (start, count) throws(StorageError) in try seek(start, count) }
  }

  /// Like `seekBefore` with pointers.
  package mutating func seekBefore(_ target: [UInt8]) throws(StorageError) {
    try target.withStart { (start, count) throws(StorageError) in try seekBefore(start, count) }
  }

  // MARK: Choosing

  /// Chooses the next entry from the sources.
  mutating func settleForward() throws(StorageError) {
    if isClean {
      takesBase = base.isValid
      isValid = takesBase
      return
    }
    while true {
      choose(sign: 1)
      guard isValid else { return }
      if takesActive || takesFrozen {
        if !isHidden() { return }
        if takesActive { try active.next() }
        if takesFrozen { try frozen.next() }
        if takesBase { _ = try base.next() }
      } else {
        guard hasRanges, let range = try deletedRange() else { return }
        try base.seek(range.high)
      }
    }
  }

  mutating func settleBackward() throws(StorageError) {
    if isClean {
      takesBase = base.isValid
      isValid = takesBase
      return
    }
    while true {
      choose(sign: -1)
      guard isValid else { return }
      if takesActive || takesFrozen {
        if !isHidden() { return }
        if takesActive { try active.previous() }
        if takesFrozen { try frozen.previous() }
        if takesBase { _ = try base.previous() }
      } else {
        guard hasRanges, let range = try deletedRange() else { return }
        try base.seekBefore(range.low)
      }
    }
  }

  /// Finds the least key (sign 1) or the greatest (-1) among the sources, and determines which
  /// sources are on it.
  private mutating func choose(sign: Int) {
    takesActive = active.isValid
    takesFrozen = frozen.isValid
    takesBase = base.isValid
    if takesActive, takesFrozen {
      let order = sign &* KeyOrder.compare(active.key, active.keyCount, frozen.key, frozen.keyCount)
      if order < 0 { takesFrozen = false } else if order > 0 { takesActive = false }
    }
    if takesBase, takesActive || takesFrozen {
      let order =
        takesActive
        ? sign &* base.key.compare(active.key, active.keyCount)
        : sign &* base.key.compare(frozen.key, frozen.keyCount)
      if order < 0 {
        takesActive = false
        takesFrozen = false
      } else if order > 0 {
        takesBase = false
      }
    }
    isValid = takesActive || takesFrozen || takesBase
  }

  /// Returns whether the newest source on the current key, which is one of the buffers, deletes the
  /// key.
  @inline(__always) private mutating func isHidden() -> Bool {
    // A range delete removes all older entries from its own buffer.
    if takesActive { return active.reference.isTombstone }
    if frozen.reference.isTombstone { return true }
    return hasRanges && isCovered()
  }

  /// Returns whether the frozen buffer's current entry lies in a range that was deleted later. Not
  /// inlined, because it copies the view.
  @inline(never) private mutating func isCovered() -> Bool {
    view.cover(frozen.key, frozen.keyCount) > frozen.reference.offset
  }

  /// Returns the deleted range that contains the base's current key.
  @inline(never) private mutating func deletedRange() throws(StorageError) -> RangeTombstones.Interval? {
    let bytes = try base.keyBytes()
    return bytes.withUnsafeBytes { key in
      guard let start = key.baseAddress else { return nil }
      for ranges in [view.activeRanges, view.frozenRanges] {
        if let range = ranges?._withUnsafeGuaranteedRef({ $0.interval(containing: start, key.count) }) {
          return range
        }
      }
      return nil
    }
  }
}

extension BaseCursor {
  /// Moves to the first entry that is not less than a bound. Callers rely on progress past the
  /// bound, so an entry before it throws `damaged`: even a verified leaf may have changed since.
  mutating func seek(_ bound: [UInt8]) throws(StorageError) {
    try bound.withStart { (start, count) throws(StorageError) in
      guard try seek(start, count) else { return }
      if !source.contains(key) || key.compare(start, count) < 0 { throw outOfOrder() }
    }
  }

  /// Moves to the last entry that is less than a bound; throws `damaged` like `seek`.
  mutating func seekBefore(_ bound: [UInt8]) throws(StorageError) {
    try bound.withStart { (start, count) throws(StorageError) in
      guard try seekLast(before: start, count) else { return }
      if !source.contains(key) || key.compare(start, count) >= 0 { throw outOfOrder() }
    }
  }
}
