import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice
import LatewoodFile

/// The merged view of a version, or of a version with a running transaction's changes: plain
/// pointers, copied without counting references.
///
/// Range deletes apply to older records: see `RangeTombstones`.
// SAFETY: the owner of a view keeps the version alive, or is inside the transaction, whose memory
// it points into.
package struct ReadView: @unchecked Sendable {
  let base: BaseTree
  let active: UnsafeMutableRawPointer?
  let frozen: UnsafeMutableRawPointer?
  let records: RecordSpace
  /// The deleted ranges of the active buffer; nil if there are none.
  let activeRanges: Unmanaged<RangeTombstones>?
  let frozenRanges: Unmanaged<RangeTombstones>?

  init(base: Subtree?, active: BufferState, frozen: BufferState?, file: FileView, records: RecordSpace) {
    self.base = BaseTree(root: base, source: NodeLoader(file: file))
    self.active = active.root
    self.frozen = frozen?.root
    self.records = records
    activeRanges = active.ranges.isEmpty ? nil : Unmanaged.passUnretained(active.ranges)
    frozenRanges =
      frozen.flatMap { $0.ranges.isEmpty ? nil : Unmanaged.passUnretained($0.ranges) }
  }

  /// Returns a pin on the file's cache: see `FileView.pin`.
  package func pin() -> CachePin? { base.source.file.pin() }

  /// Registers a single reading call: see `FileView.enter`.
  package func enter() -> ReaderRegistry.Ticket { base.source.file.enter() }

  /// Returns whether nothing was evicted: see `FileView.isUndisturbed`.
  package func isUndisturbed(since ticket: ReaderRegistry.Ticket) -> Bool {
    base.source.file.isUndisturbed(since: ticket)
  }

  /// Whether memory may be evicted when no reader is registered: see `FileView.isBuffered`.
  package var isBuffered: Bool { base.source.file.isBuffered }

  /// Whether only the base tree has to be read.
  var isClean: Bool { active == nil && frozen == nil && activeRanges == nil && frozenRanges == nil }

  /// Returns the file offset of the newest range delete that hides older entries of a key; 0 if
  /// there is none.
  @inline(__always) func cover(_ key: UnsafeRawPointer, _ keyCount: Int) -> UInt64 {
    if activeRanges == nil, frozenRanges == nil { return 0 }
    return slowCover(key, keyCount)
  }

  @inline(never) private func slowCover(_ key: UnsafeRawPointer, _ keyCount: Int) -> UInt64 {
    let newer = activeRanges?._withUnsafeGuaranteedRef { $0.cover(key, keyCount) } ?? 0
    if newer > 0 { return newer }
    return frozenRanges?._withUnsafeGuaranteedRef { $0.cover(key, keyCount) } ?? 0
  }

  /// Returns the value of a full key, or nil. O(log n). The bytes are valid as long as the version.
  package func find(
    _ key: UnsafeRawPointer, _ keyCount: Int
  ) throws(StorageError) -> UnsafeRawBufferPointer? {
    try find(key, keyCount) { () throws(StorageError) in try base.find(key, keyCount) }
  }

  /// Returns the value of a full key, or nil. Calls `inBase` to look it up in the base tree if
  /// necessary.
  @inline(__always) func find(
    _ key: UnsafeRawPointer, _ keyCount: Int, inBase: () throws(StorageError) -> BaseValue?
  ) throws(StorageError) -> UnsafeRawBufferPointer? {
    if active != nil || frozen != nil {
      if let (reference, record) = try pending(key, keyCount) {
        if reference.isTombstone || cover(key, keyCount) > reference.offset { return nil }
        return try records.value(of: record, reference, in: base.source.file)
      }
    }
    if cover(key, keyCount) > 0 { return nil }
    return try inBase()?.bytes(in: base.source.file)
  }

  /// Returns the newest entry of a key in the write buffers, and its record.
  @inline(__always) func pending(
    _ key: UnsafeRawPointer, _ keyCount: Int
  ) throws(StorageError) -> (reference: RecordReference, record: LogRecord)? {
    if let active, let found = try BufferNode(active).entry(key, keyCount, records) {
      return found
    }
    if let frozen { return try BufferNode(frozen).entry(key, keyCount, records) }
    return nil
  }
}
