import LatewoodBytes
import LatewoodFile

/// The merged view over a version, or over what a running transaction has made of one: plain
/// pointers, copied without counting.
///
/// What is deleted is told by the age of records: see `RangeSet`.
// SAFETY: whoever holds one holds the version (or is inside the transaction) whose memory it points
// into.
package struct ReadView: @unchecked Sendable {
  let base: BaseTree
  let active: UnsafeMutableRawPointer?
  let frozen: UnsafeMutableRawPointer?
  let records: RecordSpace
  /// Nil if empty.
  let activeRanges: Unmanaged<RangeSet>?
  let frozenRanges: Unmanaged<RangeSet>?

  init(base: Subtree?, active: BufferState, frozen: BufferState?, file: FileView, records: RecordSpace) {
    self.base = BaseTree(root: base, source: NodeSource(file: file))
    self.active = active.root
    self.frozen = frozen?.root
    self.records = records
    activeRanges = active.ranges.isEmpty ? nil : Unmanaged.passUnretained(active.ranges)
    frozenRanges =
      frozen.flatMap { $0.ranges.isEmpty ? nil : Unmanaged.passUnretained($0.ranges) }
  }

  /// Whether nothing but the base tree has to be looked at.
  var isClean: Bool { active == nil && frozen == nil && activeRanges == nil && frozenRanges == nil }

  /// The file offset of the newest range delete that hides older entries of a key; 0 if there is
  /// none.
  @inline(__always) func cover(_ key: UnsafeRawPointer, _ keyCount: Int) -> UInt64 {
    if activeRanges == nil, frozenRanges == nil { return 0 }
    return slowCover(key, keyCount)
  }

  @inline(never) private func slowCover(_ key: UnsafeRawPointer, _ keyCount: Int) -> UInt64 {
    let newer = activeRanges?._withUnsafeGuaranteedRef { $0.cover(key, keyCount) } ?? 0
    if newer > 0 { return newer }
    return frozenRanges?._withUnsafeGuaranteedRef { $0.cover(key, keyCount) } ?? 0
  }

  /// The value of a full key, or nil. O(log n). The bytes live as long as the version.
  package func find(
    _ key: UnsafeRawPointer, _ keyCount: Int
  ) throws(Fault) -> UnsafeRawBufferPointer? {
    if active != nil || frozen != nil {
      if let reference = try pending(key, keyCount) {
        if reference.isTombstone || cover(key, keyCount) > reference.offset { return nil }
        return try records.value(of: records.record(reference), reference, in: base.source.file)
      }
    }
    if cover(key, keyCount) > 0 { return nil }
    return try base.find(key, keyCount)?.bytes(in: base.source.file)
  }

  /// The newest entry of a key in the write buffers.
  @inline(__always) func pending(
    _ key: UnsafeRawPointer, _ keyCount: Int
  ) throws(Fault) -> RecordReference? {
    if let active, let reference = try BufferLookup.find(active, key, keyCount, records) {
      return reference
    }
    if let frozen { return try BufferLookup.find(frozen, key, keyCount, records) }
    return nil
  }
}
