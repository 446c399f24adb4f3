import LatewoodBytes

/// Appends to the log: transactions, and the frames of checkpoints.
///
/// ```
/// begin      put, delete ...             commit
///   \        TransactionEncoder      ->  the frame is complete:   ->  GroupCommit writes
///    \       encodes into LogChunks      LogChunks hands it over      and syncs it
///     abort: the open frame is dropped; complete ones of a long transaction stay without effect
/// ```
///
/// Thread safety: all calls need the store's writer lock: one thread at a time, each seeing what
/// the one before did.
// SAFETY: the memory at `state` belongs to the thread that has the writer lock, as `branch` does.
package final class LogWriter: @unchecked Sendable {
  /// The minimum length of values that are written straight from the caller's memory.
  package static let largeValueLength = 1 << 20

  private let progress: SharedProgress
  private let isReadOnly: Bool
  /// The state that every record reads and changes. It is in raw memory, so that a put counts no
  /// references and checks no exclusivity.
  private let state: UnsafeMutablePointer<TransactionEncoder>
  /// The `CheckpointRecord.branch` of new checkpoints.
  var branch: UInt64 = 0

  init(_ transactions: consuming TransactionEncoder, _ progress: SharedProgress, isReadOnly: Bool) {
    self.progress = progress
    self.isReadOnly = isReadOnly
    state = .allocate(capacity: 1)
    state.initialize(to: transactions)
  }

  deinit {
    state.deinitialize(count: 1)
    state.deallocate()
  }

  // MARK: Places

  /// The offset at which the next frame will start.
  package var tail: UInt64 { state.pointee.log.tail }

  /// The checksum of the log's last frame; 0 at its start.
  package var lastFrameChecksum: UInt64 { state.pointee.log.frames.lastFrameChecksum }

  /// The end of all commits, for a flush of everything.
  package var position: CommitPosition { CommitPosition(offset: tail) }

  /// *No transaction open.* The replay position for a checkpoint of everything committed so far.
  package var replayPosition: ReplayPosition {
    ReplayPosition(offset: tail, previousChecksum: lastFrameChecksum)
  }

  /// The offset below which the log's records are in the mapping.
  package var flushedThrough: UInt64 { state.pointee.log.flushedThrough }

  /// The number of the newest transaction in the log.
  package var lastTransaction: UInt64 { state.pointee.log.frames.transaction }

  /// The number of bytes of memory in chunks.
  package var chunkMemory: UInt64 { state.pointee.log.memory }

  /// Whether a transaction is open.
  var isInTransaction: Bool { state.pointee.isOpen }

  /// *No transaction open.* Sets the number of the last transaction, so that the next one gets
  /// `number + 1`.
  package func continueTransactions(after number: UInt64) {
    precondition(!isInTransaction && number >= lastTransaction)
    state.pointee.log.frames.transaction = number
  }

  /// Begins to append to a log that was read.
  ///
  /// - Parameters:
  ///   - tail: the offset at which the next frame starts.
  ///   - reader: the walk that has reached the end of the log.
  ///   - floor: the offset up to which the log is known to have been durable.
  ///   - hasGap: whether `tail` follows bytes that must not be used.
  ///   - lastTransaction: the greatest number of a transaction in the file.
  func begin(
    at tail: UInt64, after reader: LogReader, floor: UInt64, hasGap: Bool, lastTransaction: UInt64
  ) {
    state.pointee.log.frames.transaction = lastTransaction
    state.pointee.log.frames.setLastFrame(
      checksum: hasGap ? 0 : reader.position.previousChecksum, kind: hasGap ? nil : reader.lastFrame?.kind)
    state.pointee.log.begin(at: tail, after: reader.position.offset, floor: floor, hasGap: hasGap)
    state.pointee.log.frames.countEarlierAsCommits()
  }

  /// *No transaction open.* Discards everything that is not in the file, and continues at `tail`.
  func restart(at tail: UInt64) {
    state.pointee.log.frames.setLastFrame(checksum: 0, kind: nil)
    state.pointee.log.restart(at: tail)
    state.pointee.log.frames.countEarlierAsCommits()
  }

  // MARK: Transactions

  /// Begins a transaction and returns its number.
  ///
  /// Throws `poisoned`, `closed`, `fileTooLarge`; `outOfSpace` until
  /// `DatabaseFile.recoverFromOutOfSpace` was called; `unsupported` while
  /// `DatabaseFile.needsCheckpoint`.
  package func beginTransaction() throws(StorageError) -> UInt64 {
    precondition(!isInTransaction, "a transaction is open")
    try prepareToAppend(beginning: true)
    return try state.pointee.begin()
  }

  /// Completes the transaction in memory; `DatabaseFile.flush` writes it to the file.
  ///
  /// If this throws, the transaction was aborted, and the caller must undo its operations. A
  /// transaction without operations writes nothing. Throws `poisoned`, `closed`, `outOfSpace`, and
  /// the error of a put after which the transaction can only be aborted.
  ///
  /// - Parameters:
  ///   - freesSpace: whether it may use the reserve; nil to allow that unless it has a put.
  ///   - refused: called with the concatenated records of the transaction before they are dropped
  ///     for lack of space, unless some are in the log already. `append` can encode them again.
  package func commitTransaction(
    freesSpace: Bool? = nil, refused: (_ records: UnsafeRawBufferPointer) -> Void = { _ in }
  ) throws(StorageError) -> CommitPosition {
    precondition(isInTransaction, "no transaction is open")
    do throws(StorageError) {
      try state.pointee.complete(freesSpace: freesSpace, refused)
    } catch {
      abortTransaction()
      throw error
    }
    return position
  }

  /// Drops the open transaction.
  ///
  /// Complete frames of a long transaction stay in the log, where readers skip them, and its number
  /// is not reused. Does nothing if no transaction is open.
  package func abortTransaction() { state.pointee.abort() }

  /// The length of the open transaction's complete frames in the log. After its end, even by an
  /// abort, and until the next append, that of the last transaction.
  package var transactionLength: UInt64 { state.pointee.length }

  // MARK: Records

  /// *Transaction open.* Encodes a put, and returns the offset of its record.
  ///
  /// - Parameters:
  ///   - fullKey: 5 to 16,388 bytes, beginning with the keyspace number.
  ///   - value: up to 2 GiB. A value of 1 MiB or more is written to the file immediately, straight
  ///     from the caller's memory.
  ///   - asExtent: whether the tree will refer to the value in the log instead of copying it.
  ///
  /// Throws `keyEmpty`, `keyTooLong`, `valueTooLarge` without any effect; `outOfSpace`, `poisoned`,
  /// `fileTooLarge`, after which the transaction can only be aborted.
  package func put(
    fullKey: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer, asExtent: Bool
  ) throws(StorageError) -> UInt64 {
    try state.pointee.put(keyspace: 0, prefix: 0, fullKey, value, asExtent)
  }

  /// *Transaction open.* Encodes a put whose full key is the keyspace's number followed by a key of
  /// 1 to 16,384 bytes.
  package func put(
    keyspace: UInt32, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer, asExtent: Bool
  ) throws(StorageError) -> UInt64 {
    try state.pointee.put(keyspace: keyspace, prefix: 4, key, value, asExtent)
  }

  /// *Transaction open.* Encodes the deletion of a key; as `put`.
  package func delete(fullKey: UnsafeRawBufferPointer) throws(StorageError) -> UInt64 {
    try state.pointee.delete(keyspace: 0, prefix: 0, fullKey)
  }

  /// *Transaction open.* Encodes the deletion of a key; as `put`.
  package func delete(keyspace: UInt32, key: UnsafeRawBufferPointer) throws(StorageError) -> UInt64 {
    try state.pointee.delete(keyspace: keyspace, prefix: 4, key)
  }

  /// *Transaction open.* Encodes the deletion of all full keys in `low ..< high`.
  ///
  /// Bounds are full keys or prefixes of them, up to 16,389 bytes long. Throws `keyTooLong`, and as
  /// `put`.
  package func deleteRange(low: UnsafeRawBufferPointer, high: UnsafeRawBufferPointer) throws(StorageError)
    -> UInt64
  {
    try state.pointee.deleteRange(low: low, high: high)
  }

  /// *Transaction open.* Re-encodes an operation that this process encoded before, and returns the
  /// offset of its record. Throws as `put`.
  package func append(_ record: LogRecord) throws(StorageError) -> UInt64 {
    let key = UnsafeRawBufferPointer(start: record.key, count: record.keyCount)
    let value = UnsafeRawBufferPointer(start: record.value, count: record.valueCount)
    switch record.code {
    case OperationCode.delete: return try delete(fullKey: key)
    case OperationCode.deleteRange: return try deleteRange(low: key, high: value)
    default: return try put(fullKey: key, value: value, asExtent: record.code == OperationCode.putExtent)
    }
  }

  /// Returns the record appended at `offset`, from memory or the file's mapping.
  ///
  /// The pointers are valid until the writer appends or begins again. O(1), unless 4 MiB or more
  /// have not been flushed. Throws `damaged` if the file no longer has a record there.
  package func record(at offset: UInt64) throws(StorageError) -> LogRecord {
    try state.pointee.log.record(at: offset)
  }

  // MARK: Checkpoints

  /// *No transaction open.* Reserves space for nodes and returns the offset of the first one, a
  /// multiple of 64.
  ///
  /// - Parameter length: the number of bytes to reserve; greater than 0.
  ///
  /// Throws `poisoned`, `closed`, `outOfSpace`, `fileTooLarge`.
  package func reserveNodes(length: Int) throws(StorageError) -> UInt64 {
    precondition(length > 0 && !isInTransaction)
    try prepareToAppend()
    try state.pointee.log.cover(length)
    let payload = tail + UInt64(FrameHeader.length)
    let first = (payload + FileLayout.nodeAlignment - 1) & ~(FileLayout.nodeAlignment - 1)
    try state.pointee.reserve.claim(from: tail, through: first + UInt64(length), freesSpace: true)
    state.pointee.log.appendNodesHeader(payloadLength: Int(first - payload) + length)
    return first
  }

  /// *No transaction open.* Appends the frame of a checkpoint. All nodes and values of its tree
  /// must already be durable.
  ///
  /// If the log has no operations from the record's replay position on, the replay position is
  /// moved to the checkpoint's own frame, so that opening the file does not walk over the frames of
  /// nodes, whatever the length of the tree.
  ///
  /// Throws `unsupported` if the checkpoint was begun before a gap in the log (invariant 2 of
  /// `DatabaseFile`) and must be started again; otherwise as `reserveNodes`.
  package func appendCheckpoint(_ record: CheckpointRecord) throws(StorageError) -> AppendedCheckpoint {
    precondition(!isInTransaction)
    try prepareToAppend()
    guard progress.isBeyondGap(record.replay.offset) else {
      throw StorageError(.unsupported, "the log restarted after this checkpoint was begun")
    }
    let offset = tail
    var record = record
    record.branch = branch
    // A walk from the replay position would pass only frames of nodes, one for each MiB of the
    // tree, and find nothing to apply.
    if record.replay.offset > state.pointee.log.frames.lastCommitOffset { record.replay = replayPosition }
    // SAFETY: `prepareToAppend` ensures space for a few thousand bytes.
    state.pointee.log.frames.appendFrame(.checkpoint, payloadLength: CheckpointRecord.length) {
      record.encode(into: $0)
    }
    state.pointee.log.handOver()
    return AppendedCheckpoint(
      offset: offset, checksum: lastFrameChecksum, position: position, record: record)
  }

  /// *No transaction open.* Appends a frame that only records how far the file is known to be
  /// durable. `DatabaseFile.flush` writes it; it needs no sync. Does nothing right after another
  /// seal.
  package func appendSeal() throws(StorageError) {
    precondition(!isInTransaction)
    try prepareToAppend()
    if state.pointee.log.frames.logEndsInSeal { return }
    state.pointee.log.frames.appendFrame(.seal)
    state.pointee.log.handOver()
  }

  /// Makes space to begin a frame. No transaction may be open.
  ///
  /// Throws `unsupported` while a checkpoint is needed, if `beginning` a transaction.
  private func prepareToAppend(beginning: Bool = false) throws(StorageError) {
    precondition(!isReadOnly, "the file was opened for reading")
    try state.pointee.log.prepare(isTransaction: beginning)
  }

  // MARK: Reserve

  /// Whether the disk was low on space when last checked.
  package var isLowOnSpace: Bool { state.pointee.reserve.isLow }

  /// Whether so little space is left outside the reserve that a checkpoint to free some is
  /// worthwhile.
  package var isTight: Bool { state.pointee.reserve.isTight(at: tail) }

  /// The number of bytes allocated after the end of the log.
  package var reservedLength: UInt64 { state.pointee.reserve.length(at: tail) }

  /// Sets the length of the reserve. A log has none until this is called.
  package func setReserve(_ lengths: ReserveLengths) { state.pointee.reserve.set(lengths) }

  /// Releases the reserve, so that another file can be written; until `refillReserve` only
  /// transactions that free space can commit. Returns false if there was no reserve.
  package func lendReserve() -> Bool { state.pointee.reserve.lend(from: tail) }

  /// Tries to allocate the full reserve again.
  package func refillReserve() { state.pointee.reserve.refill(from: tail) }
}

/// A checkpoint frame that has been appended.
package struct AppendedCheckpoint: Sendable, Equatable {
  /// The offset of the frame.
  package var offset: UInt64
  /// The checksum of the frame.
  package var checksum: UInt64
  /// The position to flush through so that the frame is in the file.
  package var position: CommitPosition
  package var record: CheckpointRecord
}
