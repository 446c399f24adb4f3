import LatewoodBytes

/// Appends to the log: transactions, and the frames of checkpoints.
///
/// One transaction is open at a time. Its records are encoded into one frame or, if it is long or
/// has large values, into several:
///
/// ```
/// begin    put, delete ...                                          commit
///   | frame of records ... | frame of a large value | frame of ...  |   ->  GroupCommit writes
///     continues              continues                ends the transaction  and syncs them
///
/// abort: the open frame is dropped
/// ```
///
/// Frames marked as continuing cannot be taken back. Without the last frame, readers skip them.
///
/// Thread safety: all calls need the store's writer lock, so one thread at a time uses the writer
/// and sees the effects of earlier calls.
// SAFETY: only the thread that has the writer lock accesses `branch`, `anchors` and the memory at
// `state`.
package final class LogWriter: @unchecked Sendable {
  /// The minimum length of values that are written straight from the caller's memory.
  package static let largeValueLength = 1 << 20

  private struct State: ~Copyable {
    /// The end of the log in memory.
    var log: LogBuffer
    /// The blocks reserved for operations that free space.
    var reserve: SpaceReserve
    /// The open transaction, or the last one.
    var transaction = OpenTransaction()
  }

  private struct OpenTransaction {
    var isOpen = false
    var hasPut = false
    /// The end of the log when the transaction began.
    var start = FileLayout.logStart
    /// The number of its complete frames, which can no longer be taken back.
    var closedFrames = 0
    /// The reason why it cannot commit; nil if it can.
    var failure: StorageError?
  }

  let progress: SharedProgress
  private let codec: UnitCodec
  private let isReadOnly: Bool
  /// The state that every record reads and changes. It is in raw memory, so that a put does not
  /// count references or check exclusivity.
  private let state: UnsafeMutablePointer<State>
  /// The `CheckpointRecord.branch` of new checkpoints.
  var branch: UInt64 = 0
  /// The `CheckpointRecord.anchors` of new checkpoints.
  package var anchors = AnchorList()

  init(
    _ log: consuming LogBuffer, _ reserve: SpaceReserve, _ progress: SharedProgress, codec: UnitCodec,
    isReadOnly: Bool
  ) {
    self.progress = progress
    self.codec = codec
    self.isReadOnly = isReadOnly
    state = .allocate(capacity: 1)
    state.initialize(to: State(log: log, reserve: reserve))
  }

  deinit {
    state.deinitialize(count: 1)
    state.deallocate()
  }

  var log: LogBuffer {
    @inline(__always) _read { yield state.pointee.log }
    @inline(__always) _modify { yield &state.pointee.log }
  }

  var reserve: SpaceReserve {
    @inline(__always) _read { yield state.pointee.reserve }
    @inline(__always) _modify { yield &state.pointee.reserve }
  }

  private var transaction: OpenTransaction {
    @inline(__always) _read { yield state.pointee.transaction }
    @inline(__always) _modify { yield &state.pointee.transaction }
  }

  // MARK: Positions

  /// The offset at which the next frame will start.
  package var tail: UInt64 { log.tail }

  /// The checksum of the log's last frame; 0 at its start.
  package var lastFrameChecksum: UInt64 { log.lastFrameChecksum }

  /// The end of all commits, for a flush of everything.
  package var position: CommitPosition { CommitPosition(offset: tail) }

  /// *No transaction open.* The replay position for a checkpoint of everything committed so far.
  package var replayPosition: ReplayPosition {
    ReplayPosition(offset: tail, previousChecksum: lastFrameChecksum)
  }

  /// The offset below which the log's records are in the mapping.
  package var flushedThrough: UInt64 { log.flushedThrough }

  /// The offset of the first record of the log that is certainly in private memory.
  @inline(__always) package var segmentStart: UInt64 { log.segmentOffset }

  /// The number of the newest transaction in the log.
  package var lastTransaction: UInt64 { log.transaction }

  /// The number of bytes of memory in chunks.
  package var chunkMemory: UInt64 { log.memoryLength }

  /// The number of bytes that follow an extent in a frame.
  package var trailerLength: Int { codec.trailerLength }

  /// Whether a transaction is open.
  var isInTransaction: Bool { transaction.isOpen }

  /// *No transaction open.* Sets the number of the last transaction, so that the next one gets
  /// `number + 1`.
  package func continueTransactions(after number: UInt64) {
    precondition(!isInTransaction && number >= lastTransaction)
    log.transaction = number
  }

  /// *No transaction open.* Discards everything that is not in the file, and continues at `tail`.
  func restart(at tail: UInt64) { log.restart(at: tail) }

  // MARK: Transactions

  /// Begins a transaction and returns its number.
  ///
  /// Throws `poisoned`, `closed`, `fileTooLarge`; `outOfSpace` until
  /// `DatabaseFile.recoverFromOutOfSpace` was called; `unsupported` while
  /// `DatabaseFile.needsCheckpoint`.
  package func beginTransaction() throws(StorageError) -> UInt64 {
    precondition(!isInTransaction, "a transaction is open")
    try prepareToAppend(beginning: true)
    let (number, overflow) = log.transaction.addingReportingOverflow(1)
    guard !overflow else { throw StorageError(.fileTooLarge, "transaction numbers are exhausted") }
    log.transaction = number
    transaction = OpenTransaction(isOpen: true, start: log.tail)
    log.openFrame()
    return number
  }

  /// Completes the transaction in memory; `DatabaseFile.flush` writes it to the file.
  ///
  /// If this throws, the transaction was aborted, and the caller must undo its operations. A
  /// transaction without operations does not write anything. Throws `poisoned`, `closed`,
  /// `outOfSpace`, and the error of a put after which the transaction can only be aborted.
  ///
  /// - Parameters:
  ///   - freesSpace: whether the transaction may use the reserve; nil to allow that unless it has a
  ///     put.
  ///   - refused: called with the concatenated records of the transaction before they are dropped
  ///     for lack of space, unless some are already in the log. `append` can encode them again.
  package func commitTransaction(
    freesSpace: Bool? = nil, refused: (_ records: UnsafeRawBufferPointer) -> Void = { _ in }
  ) throws(StorageError) -> CommitPosition {
    precondition(isInTransaction, "no transaction is open")
    do throws(StorageError) {
      try completeTransaction(freesSpace: freesSpace, refused)
    } catch {
      abortTransaction()
      throw error
    }
    return position
  }

  private func completeTransaction(
    freesSpace: Bool?, _ refused: (UnsafeRawBufferPointer) -> Void
  ) throws(StorageError) {
    if let failure = transaction.failure { throw failure }
    if !log.frameHasRecords, transaction.closedFrames == 0 { return abortTransaction() }
    do throws(StorageError) {
      try claimOpenFrame(freesSpace: freesSpace)
    } catch {
      if transaction.closedFrames == 0 { refused(log.openRecords) }
      throw error
    }
    try log.commitFrame()
    transaction.isOpen = false
  }

  /// Drops the open transaction.
  ///
  /// Complete frames of a long transaction stay in the log, where readers skip them, and its number
  /// is not reused. Does nothing if no transaction is open.
  package func abortTransaction() {
    guard isInTransaction else { return }
    log.dropFrame()
    transaction.isOpen = false
    if transaction.closedFrames == 0 { log.transaction -= 1 }
  }

  /// Drops the open frame. After that the open transaction can only be aborted.
  private func fail(_ error: StorageError) {
    log.dropFrame()
    transaction.failure = error
  }

  /// Calls a closure that extends the log. If it throws, the open transaction can only be aborted.
  private func failing(_ body: () throws(StorageError) -> Void) throws(StorageError) {
    do throws(StorageError) {
      try body()
    } catch {
      fail(error)
      throw error
    }
  }

  /// The length of the open transaction's complete frames in the log. Between the end of a
  /// transaction, even by an abort, and the next append, this is the length of the last
  /// transaction.
  package var transactionLength: UInt64 { log.tail - transaction.start }

  // MARK: Records

  /// *Transaction open.* Encodes a put, and returns the offset of its record.
  ///
  /// - Parameters:
  ///   - value: up to 2 GiB. A value of 1 MiB or more is written to the file immediately, straight
  ///     from the caller's memory.
  ///   - asExtent: whether the tree will refer to the value in the log instead of copying it.
  ///
  /// Throws `keyEmpty`, `keyTooLong`, `valueTooLarge` without any effect; `outOfSpace`, `poisoned`,
  /// `fileTooLarge`, after which the transaction can only be aborted.
  package func put(
    _ key: LogKey, _ value: UnsafeRawBufferPointer, asExtent: Bool
  ) throws(StorageError) -> UInt64 {
    precondition(isInTransaction, "no transaction is open")
    try LogRecord.checkKey(key.count)
    if value.count >= LogWriter.largeValueLength {
      transaction.hasPut = true
      return try putLarge(key, value, asExtent: asExtent)
    }
    if asExtent, codec.isEncrypted { return try putEncrypted(key, value) }
    let codec = asExtent ? codec : nil
    try ensureSpace(for: LogRecord.overhead &+ key.count &+ value.count)
    // SAFETY: `ensureSpace` made sure that the record fits into the chunk.
    let valueStart = LogRecord.encodePut(
      to: log.nextRecord, key, value, sealedBy: codec, at: log.nextRecordOffset)
    transaction.hasPut = true
    return log.take(recordEndingAt: LogRecord.copy(value, to: valueStart))
  }

  @inline(never) private func putEncrypted(
    _ key: LogKey, _ value: UnsafeRawBufferPointer
  ) throws(StorageError) -> UInt64 {
    try ensureSpace(for: LogRecord.overhead + key.count + value.count + codec.trailerLength)
    transaction.hasPut = true
    return log.putEncrypted(key, value)
  }

  /// *Transaction open.* Encodes the deletion of a key. Otherwise like `put`.
  package func delete(_ key: LogKey) throws(StorageError) -> UInt64 {
    precondition(isInTransaction, "no transaction is open")
    try LogRecord.checkKey(key.count)
    try ensureSpace(for: LogRecord.overhead &+ key.count)
    // SAFETY: `ensureSpace` made sure that the record fits into the chunk.
    return log.take(recordEndingAt: LogRecord.encodeDelete(to: log.nextRecord, key))
  }

  /// *Transaction open.* Encodes the deletion of all full keys in `low ..< high`.
  ///
  /// Bounds are full keys or prefixes of them, up to 16,389 bytes long. Throws `keyTooLong`, and
  /// the errors of `put`.
  package func deleteRange(low: UnsafeRawBufferPointer, high: UnsafeRawBufferPointer) throws(StorageError)
    -> UInt64
  {
    precondition(isInTransaction, "no transaction is open")
    guard low.count <= FileLayout.boundLimit, high.count <= FileLayout.boundLimit else {
      throw StorageError(.keyTooLong, "a bound of a range has at most \(FileLayout.boundLimit) bytes")
    }
    try ensureSpace(for: LogRecord.overhead + low.count + high.count)
    // SAFETY: `ensureSpace` made sure that the record fits into the chunk.
    let end = LogRecord.encodeDeleteRange(to: log.nextRecord, low: low, high: high)
    return log.take(recordEndingAt: end)
  }

  /// *Transaction open.* Re-encodes an operation that this process encoded before, and returns the
  /// offset of its record. Throws like `put`.
  package func append(_ record: LogRecord) throws(StorageError) -> UInt64 {
    let key = UnsafeRawBufferPointer(start: record.key, count: record.keyCount)
    let value = UnsafeRawBufferPointer(start: record.value, count: record.valueCount)
    switch record.code {
    case OperationCode.delete: return try delete(.full(key))
    case OperationCode.deleteRange: return try deleteRange(low: key, high: value)
    default: return try put(.full(key), value, asExtent: record.code == OperationCode.putExtent)
    }
  }

  /// Returns the record appended at `offset`, from memory or the file's mapping.
  ///
  /// The pointers are valid until the writer appends or begins again. O(1), unless 4 MiB or more
  /// have not been flushed. Throws `damaged` if the file no longer has a record at the offset.
  package func record(at offset: UInt64) throws(StorageError) -> LogRecord {
    try log.record(at: offset)
  }

  // MARK: Encoding

  /// Encodes a value of 1 MiB or more in a separate commit frame, and writes the value to the file
  /// from the caller's memory.
  private func putLarge(
    _ key: LogKey, _ value: UnsafeRawBufferPointer, asExtent: Bool
  ) throws(StorageError) -> UInt64 {
    guard UInt64(value.count) <= FileLayout.valueLimitHere else {
      throw StorageError(.valueTooLarge, "a value has at most \(FileLayout.valueLimit) bytes")
    }
    try closeContinuingFrame()
    // An upper bound of the frame's length without its value, with padding.
    let headLimit = FrameHeader.length + LogRecord.overhead + key.count + 8
    try failing { () throws(StorageError) in
      let end = log.tail + UInt64(headLimit + value.count + 2 * codec.trailerLength)
      try reserve.claim(from: log.tail, through: end, freesSpace: false)
    }
    do throws(StorageError) {
      let record = try append(large: value, key, asExtent: asExtent, headLimit: headLimit)
      transaction.closedFrames += 1
      try log.flush()
      log.openFrame()
      return record
    } catch {
      // Part of the value may be in the file after the log, so these offsets cannot be reused.
      if error.kind == .outOfSpace { progress.fail(error) }
      fail(error)
      throw error
    }
  }

  private func append(
    large value: UnsafeRawBufferPointer, _ key: LogKey, asExtent: Bool, headLimit: Int
  ) throws(StorageError) -> UInt64 {
    if codec.isEncrypted {
      return try log.append(encrypting: value, key, asExtent: asExtent, headLimit: headLimit)
    }
    let codec = asExtent ? codec : nil
    return try log.append(largeValue: value, headLimit: headLimit) { start, offset in
      LogRecord.encodePut(to: start, key, value, sealedBy: codec, at: offset)
    }
  }

  // MARK: Frames

  /// Makes sure that a record of at most `count` bytes fits into the chunk.
  @inline(__always) private func ensureSpace(for count: Int) throws(StorageError) {
    if count > log.recordCapacity { try breakFrame() }
  }

  /// Continues the transaction in a new frame and chunk, because this chunk is full.
  @inline(never) private func breakFrame() throws(StorageError) {
    try closeContinuingFrame()
    try failing { () throws(StorageError) in
      try log.cover(0)
      try log.switchChunk()
    }
    log.openFrame()
  }

  /// Completes the open frame, if it has records, and marks its transaction as continuing. After
  /// that the next frame can begin.
  private func closeContinuingFrame() throws(StorageError) {
    if let failure = transaction.failure { throw failure }
    guard log.frameHasRecords else { return log.dropFrame() }
    try failing { () throws(StorageError) in try claimOpenFrame() }
    log.continueFrame()
    transaction.closedFrames += 1
  }

  /// Makes sure that blocks are allocated for the open frame, before it is completed.
  ///
  /// - Parameter freesSpace: whether the blocks may be taken from the reserve; nil to allow that
  ///   unless the transaction has a put.
  ///
  /// Throws `outOfSpace`; then nothing has changed.
  private func claimOpenFrame(freesSpace: Bool? = nil) throws(StorageError) {
    try reserve.claim(from: log.tail, through: log.end, freesSpace: freesSpace ?? !transaction.hasPut)
  }

  /// Makes space to begin a frame. No transaction may be open.
  ///
  /// Throws `unsupported` while a checkpoint is needed, if `beginning` a transaction.
  func prepareToAppend(beginning: Bool = false) throws(StorageError) {
    precondition(!isReadOnly, "the file was opened for reading")
    try log.prepare(isTransaction: beginning)
  }
}

/// The frames of checkpoints, and the space for them.
extension LogWriter {
  /// *No transaction open.* Reserves space for nodes and returns the offset of the first one, a
  /// multiple of 64.
  ///
  /// - Parameter length: the number of bytes to reserve; greater than 0.
  ///
  /// Throws `poisoned`, `closed`, `outOfSpace`, `fileTooLarge`.
  package func reserveNodes(length: Int) throws(StorageError) -> UInt64 {
    precondition(length > 0 && !isInTransaction)
    try prepareToAppend()
    try log.cover(length)
    let content = tail + UInt64(FrameHeader.length + codec.trailerLength)
    let first = (content + FileLayout.nodeAlignment - 1) & ~(FileLayout.nodeAlignment - 1)
    try reserve.claim(from: tail, through: first + UInt64(length), freesSpace: true)
    log.appendNodesHeader(contentLength: Int(first - content) + length)
    return first
  }

  /// *No transaction open.* Appends the frame of a checkpoint. All nodes and values of its tree
  /// must already be durable.
  ///
  /// If the log has no operations after the record's replay position, the replay position is moved
  /// to the checkpoint's own frame. Opening the file then does not walk over the frames of nodes,
  /// regardless of the length of the tree.
  ///
  /// Throws `unsupported` if the checkpoint was begun before a gap in the log (invariant 2 of
  /// `DatabaseFile`) and must be started again; otherwise like `reserveNodes`.
  package func appendCheckpoint(_ record: CheckpointRecord) throws(StorageError) -> AppendedCheckpoint {
    precondition(!isInTransaction)
    try prepareToAppend()
    guard progress.isBeyondGap(record.replay.offset) else {
      throw StorageError(.unsupported, "the log restarted after this checkpoint was begun")
    }
    let offset = tail
    var record = record
    record.branch = branch
    if codec.isEncrypted { record.anchors = anchors.anchors }
    // A walk from the replay position would pass only frames of nodes, one for each MiB of the
    // tree, and find nothing to apply.
    if record.replay.offset > log.lastCommitOffset { record.replay = replayPosition }
    // SAFETY: `prepareToAppend` ensures space for a few thousand bytes.
    log.append(.checkpoint, payloadLength: record.encodedLength) { record.encode(into: $0) }
    anchors.didAppend(record)
    return AppendedCheckpoint(
      offset: offset, checksum: lastFrameChecksum, position: position, record: record)
  }

  /// *No transaction open.* Appends a frame that only records how far the file is known to be
  /// durable. `DatabaseFile.flush` writes it; a sync is not necessary. Does nothing directly after
  /// another seal.
  package func appendSeal() throws(StorageError) {
    precondition(!isInTransaction)
    try prepareToAppend()
    if !log.endsInSeal { log.append(.seal) }
  }

  // MARK: Reserve

  /// Whether the disk was low on space when last checked.
  package var isLowOnSpace: Bool { reserve.isLow }

  /// Whether so little space is left outside the reserve that a checkpoint to free some is
  /// worthwhile.
  package var isTight: Bool { reserve.isTight(at: tail) }

  /// The number of bytes allocated after the end of the log.
  package var reservedLength: UInt64 { reserve.length(at: tail) }

  /// Sets the length of the reserve. A log has none until this is called.
  package func setReserve(_ lengths: ReserveLengths) { reserve.set(lengths) }

  /// Releases the reserve, so that another file can be written; until `refillReserve` only
  /// transactions that free space can commit. Returns false if a reserve did not exist.
  package func releaseReserve() -> Bool { reserve.lend(from: tail) }

  /// Tries to allocate the full reserve again.
  package func refillReserve() { reserve.refill(from: tail) }
}
