import LatewoodBytes
import LatewoodDevice

/// Appends to the log: transactions, and the frames of checkpoints.
///
/// ```
/// begin     put, delete ...            commit
///   \       encoded into a chunk  ->   the frame is complete  ->  GroupCommit writes and syncs it
///    \      of 4 MiB, by FrameEncoder
///     abort: the open frame is dropped; complete ones of a long transaction stay without effect
/// ```
///
/// There are at most three chunks. A chunk is used again once everything in it has been written.
///
/// Thread safety: all calls need the store's writer lock: one thread at a time, each seeing what
/// the one before did.
// SAFETY: every variable belongs to the thread that has the writer lock.
package final class LogWriter: @unchecked Sendable {
  /// The state that every record reads and changes. It is in raw memory, so that a put counts no
  /// references and checks no exclusivity.
  private struct State {
    var frames: FrameEncoder
    /// The start of the mapping, which covers everything written and everything that may be
    /// appended before the next `checkLength`.
    var base: UnsafeRawPointer
    /// The number of bytes that the mapping covers.
    var mappedThrough: UInt64
    /// Everything in frames below this is in the file, and is read through the mapping.
    var flushedThrough = FileLayout.logStart
    /// Whether a transaction is open.
    var isOpen = false
    /// Whether that transaction has put something.
    var hasPut = false
    /// The end of the log when that transaction began.
    var transactionStart = FileLayout.logStart
    /// The number of complete frames of the open transaction. They can no longer be taken back.
    var closedFrames = 0
  }

  /// The length of a chunk, in bytes: this much is encoded in memory before it is written.
  static let chunkLength = 4 << 20
  private static let chunkLimit = 3
  /// The least free space in a chunk, in bytes, with which a frame is begun.
  private static let leastRoom = 4096
  private static let valuePieceLength = 1 << 20
  /// Values from this length on are written straight from the caller's memory.
  package static let largeValueLength = 1 << 20

  private let device: any Device
  private let mapping: MappedFile
  private let group: GroupCommit
  private let path: String
  private let isReadOnly: Bool
  private let seed: UInt64
  private let state: UnsafeMutablePointer<State>
  private var chunks: [UnsafeMutableRawPointer]
  /// The blocks kept for what frees space.
  private var reserve: SpaceReserve
  /// The reason why the open transaction cannot commit; nil if it can.
  private var transactionFailure: Fault?
  /// Whether the last frame is a seal.
  private var endsInSeal = false
  /// The `CheckpointRecord.branch` of new checkpoints.
  var branch: UInt64 = 0

  /// - Parameter chunk: the first chunk, in which the group's open segment begins.
  init(
    _ device: any Device, _ mapping: MappedFile, _ group: GroupCommit,
    chunk: UnsafeMutableRawPointer, seed: UInt64, path: String, isReadOnly: Bool
  ) {
    self.device = device
    self.mapping = mapping
    self.group = group
    self.path = path
    self.seed = seed
    self.isReadOnly = isReadOnly
    chunks = [chunk]
    reserve = SpaceReserve(device)
    state = .allocate(capacity: 1)
    let capacity = LogWriter.chunkLength(isReadOnly: isReadOnly)
    state.initialize(
      to: State(
        frames: FrameEncoder(chunk, at: FileLayout.logStart, capacity: capacity, seed: seed),
        base: mapping.space.base, mappedThrough: mapping.space.capacity))
  }

  /// Allocates a chunk, which belongs to the writer afterwards.
  static func makeChunk(isReadOnly: Bool = false) -> UnsafeMutableRawPointer {
    .allocate(byteCount: chunkLength(isReadOnly: isReadOnly), alignment: 4096)
  }

  /// Nothing is ever encoded in the chunk of a file that is only read.
  private static func chunkLength(isReadOnly: Bool) -> Int { isReadOnly ? 64 : chunkLength }

  deinit {
    for chunk in chunks { chunk.deallocate() }
    state.deinitialize(count: 1)
    state.deallocate()
  }

  // MARK: Places

  /// The offset at which the next frame will start.
  package var tail: UInt64 { state.pointee.frames.tail }

  /// The checksum of the log's last frame; 0 at its start.
  package var lastFrameChecksum: UInt64 { state.pointee.frames.lastFrameChecksum }

  /// The end of all commits, for a flush of everything.
  package var position: CommitPosition { CommitPosition(offset: tail) }

  /// *No transaction open.* The replay position for a checkpoint of everything committed so far.
  package var replayPosition: ReplayPosition {
    ReplayPosition(offset: tail, previousChecksum: lastFrameChecksum)
  }

  /// The offset below which the log's records are in the mapping.
  package var flushedThrough: UInt64 { state.pointee.flushedThrough }

  /// The number of the newest transaction in the log.
  package var lastTransaction: UInt64 { state.pointee.frames.transaction }

  /// The number of bytes of memory in chunks.
  package var chunkMemory: UInt64 { UInt64(chunks.count * LogWriter.chunkLength) }

  /// Whether a transaction is open.
  var isInTransaction: Bool { state.pointee.isOpen }

  /// *No transaction open.* Sets the number of the last transaction, so that the next one gets
  /// `number + 1`.
  package func continueTransactions(after number: UInt64) {
    precondition(!isInTransaction && number >= lastTransaction)
    state.pointee.frames.transaction = number
  }

  /// Begins to append behind a log that was read.
  ///
  /// - Parameters:
  ///   - tail: the offset at which the next frame starts.
  ///   - walk: the walk that has reached the end of the log.
  ///   - floor: the offset up to which the log is known to have been durable.
  ///   - hasGap: whether `tail` lies behind bytes that must not be used.
  ///   - lastTransaction: the greatest number of a transaction in the file.
  func begin(
    at tail: UInt64, after walk: LogWalk, floor: UInt64, hasGap: Bool, lastTransaction: UInt64
  ) {
    state.pointee.frames.transaction = lastTransaction
    state.pointee.frames.lastFrameChecksum = hasGap ? 0 : walk.position.previousChecksum
    endsInSeal = !hasGap && walk.lastFrame?.kind == .seal
    let chunk = group.begin(at: tail, after: walk.position.offset, floor: floor, hasGap: hasGap)
    beginChunk(chunk, at: tail)
  }

  /// *No transaction open.* Gives up everything that is not in the file, and continues at `tail`.
  func restart(at tail: UInt64) {
    state.pointee.frames.lastFrameChecksum = 0
    endsInSeal = false
    beginChunk(group.restart(at: tail), at: tail)
  }

  // MARK: Transactions

  /// Begins a transaction and returns its number.
  ///
  /// Throws `poisoned`, `closed`, `fileTooLarge`; `outOfSpace` until
  /// `LogFile.recoverFromOutOfSpace` was called; `unsupported` while `LogFile.needsCheckpoint`.
  package func beginTransaction() throws(Fault) -> UInt64 {
    precondition(!isInTransaction, "a transaction is open")
    try prepareToAppend(beginning: true)
    let (number, overflow) = lastTransaction.addingReportingOverflow(1)
    guard !overflow else { throw Fault(.fileTooLarge, "the numbers for transactions are used up") }
    state.pointee.frames.transaction = number
    state.pointee.transactionStart = tail
    state.pointee.isOpen = true
    state.pointee.hasPut = false
    state.pointee.closedFrames = 0
    transactionFailure = nil
    state.pointee.frames.openFrame()
    return number
  }

  /// Completes the transaction in memory; `LogFile.flush` brings it to the file.
  ///
  /// The transaction is over even if this throws; then it has left no trace, and the caller must
  /// forget its operations. A transaction without operations writes nothing. Throws `poisoned`,
  /// `closed`, `outOfSpace`, and the error of a put after which the transaction can only be
  /// aborted.
  ///
  /// - Parameters:
  ///   - freesSpace: whether it may use the reserve; nil to allow that unless it has a put.
  ///   - refused: called with the records of the transaction, one behind the other, before they are
  ///     dropped because there is no space for them, unless some are in the log already. `append`
  ///     takes them again.
  package func commitTransaction(
    freesSpace: Bool? = nil, refused: (_ records: UnsafeRawBufferPointer) -> Void = { _ in }
  ) throws(Fault) -> CommitPosition {
    precondition(isInTransaction, "no transaction is open")
    do throws(Fault) {
      try completeTransaction(freesSpace, refused)
    } catch {
      abortTransaction()
      throw error
    }
    return position
  }

  private func completeTransaction(
    _ freesSpace: Bool?, _ refused: (UnsafeRawBufferPointer) -> Void
  ) throws(Fault) {
    if let transactionFailure { throw transactionFailure }
    if !state.pointee.frames.frameHasRecords, state.pointee.closedFrames == 0 { return abortTransaction() }
    do throws(Fault) {
      try claimOpenFrame(freesSpace: freesSpace)
    } catch {
      if state.pointee.closedFrames == 0 { refused(state.pointee.frames.openRecords) }
      throw error
    }
    let before = state.pointee.frames
    state.pointee.frames.closeFrame(continues: false)
    do throws(Fault) {
      try group.completeTransaction(length: state.pointee.frames.frameStart)
    } catch {
      state.pointee.frames = before
      throw error
    }
    state.pointee.isOpen = false
    endsInSeal = false
  }

  /// Drops the open transaction.
  ///
  /// Complete frames of a long transaction stay. Without its last frame, readers skip them, and the
  /// transaction's number is not used again. Does nothing if no transaction is open.
  package func abortTransaction() {
    guard isInTransaction else { return }
    state.pointee.frames.dropFrame()
    state.pointee.isOpen = false
    if state.pointee.closedFrames == 0 { state.pointee.frames.transaction -= 1 }
  }

  /// The number of bytes in the log that belong to complete frames of the open transaction. After
  /// its end, until something else is appended, those of the last transaction, even of an aborted
  /// one, whose complete frames stay.
  package var transactionLength: UInt64 { tail - state.pointee.transactionStart }

  /// Drops the open frame. From now on the open transaction can only be aborted.
  private func failTransaction(_ fault: Fault) {
    state.pointee.frames.dropFrame()
    transactionFailure = fault
  }

  // MARK: Records

  /// *Transaction open.* Encodes a put, and returns the offset of its record.
  ///
  /// - Parameters:
  ///   - fullKey: 5 to 16,388 bytes, the number of the keyspace first.
  ///   - value: up to 2 GiB. A value of 1 MiB or more is written to the file at once, straight from
  ///     the caller's memory.
  ///   - asExtent: whether the tree will refer to the value in the log instead of copying it.
  ///
  /// Throws `keyEmpty`, `keyTooLong`, `valueTooLarge` without any effect; `outOfSpace`, `poisoned`,
  /// `fileTooLarge`, after which the transaction can only be aborted.
  package func put(
    fullKey: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer, asExtent: Bool
  ) throws(Fault) -> UInt64 {
    try put(keyspace: 0, prefix: 0, fullKey, value, asExtent)
  }

  /// *Transaction open.* Encodes a put whose full key is the keyspace's number followed by a key of
  /// 1 to 16,384 bytes.
  package func put(
    keyspace: UInt32, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer, asExtent: Bool
  ) throws(Fault) -> UInt64 {
    try put(keyspace: keyspace, prefix: 4, key, value, asExtent)
  }

  @inline(__always) private func put(
    keyspace: UInt32, prefix: Int, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer,
    _ asExtent: Bool
  ) throws(Fault) -> UInt64 {
    let state = state
    precondition(state.pointee.isOpen, "no transaction is open")
    let keyCount = key.count &+ prefix
    try LogRecord.checkKey(keyCount)
    let checksumSeed = asExtent ? seed : nil
    if value.count >= LogWriter.largeValueLength {
      state.pointee.hasPut = true
      return try putLarge(keyCount, value) {
        LogRecord.encodePut(
          to: $0, keyspace: keyspace, prefix: prefix, key, value, checksumSeed: checksumSeed)
      }
    }
    try makeRoom(for: LogRecord.overhead &+ keyCount &+ value.count)
    // SAFETY: `makeRoom` found room for the record in the chunk.
    let valueStart = LogRecord.encodePut(
      to: state.pointee.frames.nextRecord, keyspace: keyspace, prefix: prefix, key, value,
      checksumSeed: checksumSeed)
    state.pointee.hasPut = true
    return state.pointee.frames.take(recordEndingAt: LogRecord.copy(value, to: valueStart))
  }

  /// *Transaction open.* Encodes the deletion of a key; as `put`.
  package func delete(fullKey: UnsafeRawBufferPointer) throws(Fault) -> UInt64 {
    try delete(keyspace: 0, prefix: 0, fullKey)
  }

  /// *Transaction open.* Encodes the deletion of a key; as `put`.
  package func delete(keyspace: UInt32, key: UnsafeRawBufferPointer) throws(Fault) -> UInt64 {
    try delete(keyspace: keyspace, prefix: 4, key)
  }

  @inline(__always) private func delete(
    keyspace: UInt32, prefix: Int, _ key: UnsafeRawBufferPointer
  ) throws(Fault) -> UInt64 {
    let state = state
    precondition(state.pointee.isOpen, "no transaction is open")
    let keyCount = key.count &+ prefix
    try LogRecord.checkKey(keyCount)
    try makeRoom(for: LogRecord.overhead &+ keyCount)
    // SAFETY: `makeRoom` found room for the record in the chunk.
    let end = LogRecord.encodeDelete(
      to: state.pointee.frames.nextRecord, keyspace: keyspace, prefix: prefix, key)
    return state.pointee.frames.take(recordEndingAt: end)
  }

  /// *Transaction open.* Encodes the deletion of all full keys from `low` up to, not including,
  /// `high`.
  ///
  /// Bounds are full keys or parts of them, of up to 16,389 bytes. Throws `keyTooLong`, and as
  /// `put`.
  package func deleteRange(low: UnsafeRawBufferPointer, high: UnsafeRawBufferPointer) throws(Fault) -> UInt64
  {
    precondition(isInTransaction, "no transaction is open")
    guard low.count <= FileLayout.boundLimit, high.count <= FileLayout.boundLimit else {
      throw Fault(.keyTooLong, "a bound of a range is longer than every key")
    }
    try makeRoom(for: LogRecord.overhead + low.count + high.count)
    // SAFETY: `makeRoom` found room for the record in the chunk.
    let end = LogRecord.encodeDeleteRange(to: state.pointee.frames.nextRecord, low: low, high: high)
    return state.pointee.frames.take(recordEndingAt: end)
  }

  /// *Transaction open.* Encodes an operation again that this process encoded before, and returns
  /// the offset of its record. Throws as `put`.
  package func append(_ record: LogRecord) throws(Fault) -> UInt64 {
    let key = UnsafeRawBufferPointer(start: record.key, count: record.keyCount)
    let value = UnsafeRawBufferPointer(start: record.value, count: record.valueCount)
    switch record.code {
    case OperationCode.delete: return try delete(fullKey: key)
    case OperationCode.deleteRange: return try deleteRange(low: key, high: value)
    default: return try put(fullKey: key, value: value, asExtent: record.code == OperationCode.putExtent)
    }
  }

  /// The record appended at `offset`, read from memory or from the file's mapping.
  ///
  /// The pointers are valid until the writer appends or begins again. O(1), unless 4 MiB or more
  /// have not been flushed. Throws `damaged` if the file no longer has a record there.
  package func record(at offset: UInt64) throws(Fault) -> LogRecord {
    if let address = state.pointee.frames.address(of: offset) { return LogRecord(trusted: address) }
    // SAFETY: the mapping covers these bytes, and they are in the file.
    let written = min(state.pointee.flushedThrough, state.pointee.mappedThrough)
    if let record = LogRecord.validated(at: offset, base: state.pointee.base, end: written) { return record }
    if let waiting = group.waitingBytes(at: offset) { return LogRecord(trusted: waiting) }
    // The record's segment was sealed and has been written. In this order: the mapping was made
    // before the limit was raised.
    let limit = group.readableThrough
    // SAFETY: the bytes below the limit exist.
    guard let record = LogRecord.validated(at: offset, base: mapping.space.base, end: limit) else {
      throw LogRecord.changed(at: offset)
    }
    return record
  }

  // MARK: Large values

  /// Encodes a value of 1 MiB or more in a commit frame of its own, and writes the value to the
  /// file from the caller's memory.
  ///
  /// ```
  /// chunk   ... | header 56 | code, lengths, checksum, key |                       | next frame ...
  /// file    ... | header 56 | code, lengths, checksum, key | value ...... | 0 to 7 | next frame ...
  /// ```
  ///
  /// The value is written first, so that a flush by another thread never counts the frame as
  /// written before its value is.
  ///
  /// - Parameter encode: encodes the record up to its value at an address, and returns the end.
  private func putLarge(
    _ keyCount: Int, _ value: UnsafeRawBufferPointer,
    _ encode: (UnsafeMutableRawPointer) -> UnsafeMutableRawPointer
  ) throws(Fault) -> UInt64 {
    guard UInt64(value.count) <= FileLayout.valueLimitHere else {
      throw Fault(.valueTooLarge, "a value has at most \(FileLayout.valueLimit) bytes")
    }
    try closeContinuingFrame()
    // An upper bound of the bytes of the frame besides its value, with the padding.
    let headLimit = FrameHeader.length + LogRecord.overhead + keyCount + 8
    do throws(Fault) {
      try claim(through: tail + UInt64(headLimit + value.count), freesSpace: false)
    } catch {
      failTransaction(error)
      throw error
    }
    do throws(Fault) {
      try checkLength(of: value.count)
      if headLimit > state.pointee.frames.free { try nextChunk() }
      let record = tail + UInt64(FrameHeader.length)
      let head = state.pointee.frames.encodeHead(of: value, encode)
      let start = tail + UInt64(head.length)
      try group.writeAside(value, at: start, pieces: LogWriter.valuePieceLength)
      try device.keepMapped(start..<start + UInt64(value.count))
      state.pointee.frames.lastFrameChecksum = head.checksum
      state.pointee.closedFrames += 1
      endsInSeal = false
      sealGap(length: head.length, end: start + UInt64(value.count), exists: true)
      // The record is read through the mapping from here on, because its value is not behind it in
      // memory.
      try group.flush(through: tail, durable: false)
      rewind()
      state.pointee.frames.openFrame()
      return record
    } catch {
      // Part of the value may be in the file behind the log, so these offsets cannot be used again.
      if error.kind == .outOfSpace { group.fail(error) }
      failTransaction(error)
      throw error
    }
  }

  /// Ends the open segment after a frame of which only the first `length` bytes are in memory; the
  /// rest, up to `end`, is not. The next segment lies behind it in the same chunk.
  ///
  /// - Parameter exists: whether the rest has been written.
  private func sealGap(length: Int, end: UInt64, exists: Bool) {
    let inMemory = tail + UInt64(length)
    let segment = state.pointee.frames.skip(length, to: end)
    group.seal(
      length: segment.used, end: tail, readable: exists ? end : inMemory, next: segment.next)
  }

  // MARK: Checkpoints

  /// *No transaction open.* Reserves space for nodes and returns the offset of the first one, a
  /// multiple of 64.
  ///
  /// - Parameter length: bytes from that offset on, greater than 0.
  ///
  /// Throws `poisoned`, `closed`, `outOfSpace`, `fileTooLarge`.
  package func reserveNodes(length: Int) throws(Fault) -> UInt64 {
    precondition(length > 0 && !isInTransaction)
    try prepareToAppend()
    try checkLength(of: length)
    let payload = tail + UInt64(FrameHeader.length)
    let first = (payload + FileLayout.nodeAlignment - 1) & ~(FileLayout.nodeAlignment - 1)
    try claim(through: first + UInt64(length), freesSpace: true)
    state.pointee.frames.encodeNodesHeader(payloadLength: Int(first - payload) + length)
    endsInSeal = false
    sealGap(length: FrameHeader.length, end: first + UInt64(length), exists: false)
    return first
  }

  /// *No transaction open.* Appends the frame of a checkpoint. All nodes and values of its tree
  /// must already be durable.
  ///
  /// Throws `unsupported` if the checkpoint was begun before a gap in the log (invariant 2 of
  /// `LogFile`) and must be done again; otherwise as `reserveNodes`.
  package func appendCheckpoint(_ record: CheckpointRecord) throws(Fault) -> AppendedCheckpoint {
    precondition(!isInTransaction)
    try prepareToAppend()
    guard group.isBeyondGap(record.replay.offset) else {
      throw Fault(.unsupported, "the log began anew after this checkpoint was begun")
    }
    let offset = tail
    var record = record
    record.branch = branch
    // SAFETY: `prepareToAppend` left room for a few thousand bytes.
    state.pointee.frames.appendFrame(.checkpoint, payloadLength: CheckpointRecord.length) {
      record.encode(into: $0)
    }
    endsInSeal = false
    group.completeFrames(length: state.pointee.frames.frameStart)
    return AppendedCheckpoint(
      offset: offset, checksum: lastFrameChecksum, position: position, record: record)
  }

  /// *No transaction open.* Appends a frame that only records how far the file is known to be
  /// durable. `LogFile.flush` writes it; it needs no sync. Does nothing right after another seal.
  package func appendSeal() throws(Fault) {
    precondition(!isInTransaction)
    try prepareToAppend()
    if endsInSeal { return }
    state.pointee.frames.appendFrame(.seal)
    endsInSeal = true
    group.completeFrames(length: state.pointee.frames.frameStart)
  }

  // MARK: Chunks

  /// Takes note of flushes by other threads, and makes room to begin a frame. No transaction is
  /// open.
  ///
  /// Throws `unsupported` while a checkpoint is needed, if `beginning` a transaction.
  private func prepareToAppend(beginning: Bool = false) throws(Fault) {
    precondition(!isReadOnly, "the file was opened for reading")
    let start = try group.begin(
      at: tail, isTransaction: beginning, isUsed: state.pointee.frames.frameStart > 0)
    state.pointee.flushedThrough = start.writtenThrough
    state.pointee.frames.durableThrough = start.durableMark
    if let chunk = start.emptied { beginChunk(chunk, at: tail) }
    if state.pointee.frames.free < LogWriter.leastRoom { try nextChunk() }
    try checkLength(of: 0)
  }

  /// Checks that the file may grow by `more` bytes and by everything that may be appended before
  /// the next call, and maps that many bytes.
  private func checkLength(of more: Int) throws(Fault) {
    let reserve = UInt64(2 * LogWriter.chunkLength)
    let limit = FileLayout.fileLimit
    let tail = tail
    guard UInt64(more) < limit, tail < limit - UInt64(more), limit - UInt64(more) - tail > reserve
    else {
      throw Fault(.fileTooLarge, "the file has reached its greatest length", path: path)
    }
    let end = tail + UInt64(more)
    if end + LogWriter.mappedAhead > state.pointee.mappedThrough { try growMapping(toCover: end) }
  }

  /// An upper bound of the bytes appended before the next `checkLength`: a chunk, and the header
  /// and key of a large value.
  static var mappedAhead: UInt64 { UInt64(chunkLength) + (64 << 10) }

  private func growMapping(toCover end: UInt64) throws(Fault) {
    let space = try mapping.grown(toCover: end, ahead: LogWriter.mappedAhead)
    state.pointee.base = space.base
    state.pointee.mappedThrough = space.capacity
  }

  /// Empties the current chunk, in which nothing is waiting to be written.
  private func rewind() {
    let tail = tail
    beginChunk(group.rewind(to: tail), at: tail)
  }

  /// Continues at the start of a chunk, at `tail` in the file, which has everything before it.
  private func beginChunk(_ chunk: UnsafeMutableRawPointer, at tail: UInt64) {
    state.pointee.frames.move(to: chunk, at: tail, capacity: LogWriter.chunkLength)
    state.pointee.flushedThrough = max(state.pointee.flushedThrough, tail)
  }

  /// Makes room for a record of at most `count` bytes in the open transaction.
  @inline(__always) private func makeRoom(for count: Int) throws(Fault) {
    if count > state.pointee.frames.room { try breakFrame() }
  }

  /// Continues the transaction in another frame, in another chunk, because this chunk is full.
  private func breakFrame() throws(Fault) {
    try closeContinuingFrame()
    do throws(Fault) {
      try checkLength(of: 0)
      try nextChunk()
    } catch {
      failTransaction(error)
      throw error
    }
    state.pointee.frames.openFrame()
  }

  /// Completes the open frame, if it has records, and marks its transaction as continuing.
  /// Afterwards the next frame can begin.
  private func closeContinuingFrame() throws(Fault) {
    if let transactionFailure { throw transactionFailure }
    guard state.pointee.frames.frameHasRecords else { return state.pointee.frames.dropFrame() }
    do throws(Fault) {
      try claimOpenFrame()
    } catch {
      failTransaction(error)
      throw error
    }
    state.pointee.frames.closeFrame(continues: true)
    state.pointee.closedFrames += 1
    endsInSeal = false
    // At once: the next frame may be refused, but this one stays part of the log.
    group.completeFrames(length: state.pointee.frames.frameStart)
  }

  /// Hands the chunk's frames over for flushing and continues in an empty chunk.
  ///
  /// The full chunk is written at once, so that a transaction of any size takes little memory. But
  /// while another thread writes, the writer takes a spare or new chunk and continues.
  private func nextChunk() throws(Fault) {
    let length = state.pointee.frames.frameStart
    let tail = tail
    let (isBusy, spare) = group.completeChunk(length: length, of: chunks)
    if isBusy, let chunk = spare ?? newChunk() {
      group.seal(length: length, at: tail, next: chunk)
      state.pointee.frames.move(to: chunk, at: tail, capacity: LogWriter.chunkLength)
    } else {
      try group.flush(through: tail, durable: false)
      rewind()
    }
  }

  private func newChunk() -> UnsafeMutableRawPointer? {
    guard chunks.count < LogWriter.chunkLimit else { return nil }
    let chunk = LogWriter.makeChunk()
    chunks.append(chunk)
    return chunk
  }

  // MARK: Reserve

  /// Whether the disk had little space when it was last asked.
  package var isLowOnSpace: Bool { reserve.isLow }

  /// Whether so little space is left besides the reserve that freeing some is worth a checkpoint.
  package var isTight: Bool { reserve.isTight(at: tail) }

  /// The number of bytes allocated behind the end of the log.
  package var reservedLength: UInt64 { reserve.length(at: tail) }

  /// Changes the length of the reserve. A log has none until this is called.
  package func setReserve(_ lengths: ReserveLengths) { reserve.set(lengths) }

  /// Gives the reserve back, so that another file can be written; until `refillReserve` only what
  /// frees space can be committed. Returns false if there was none.
  package func lendReserve() -> Bool { reserve.lend(from: tail) }

  /// Tries again to get the whole reserve.
  package func refillReserve() {
    reserve.restore()
    _ = reserve.extend(from: tail, through: tail, freesSpace: true)
  }

  /// Makes sure that the blocks for the open frame exist, before it is completed.
  ///
  /// - Parameter freesSpace: whether they may lie in the reserve; nil to allow that unless the
  ///   transaction has a put.
  ///
  /// Throws `outOfSpace`; then nothing has changed.
  private func claimOpenFrame(freesSpace: Bool? = nil) throws(Fault) {
    try claim(through: state.pointee.frames.end, freesSpace: freesSpace ?? !state.pointee.hasPut)
  }

  /// Makes sure that the blocks exist for everything up to `end`, which is about to be appended.
  /// Throws as `claimOpenFrame`.
  @inline(__always) private func claim(through end: UInt64, freesSpace: Bool) throws(Fault) {
    let limit = freesSpace ? reserve.freeingThrough : reserve.coveredThrough
    if end > limit { try extendReserve(through: end, freesSpace: freesSpace) }
  }

  @inline(never) private func extendReserve(through end: UInt64, freesSpace: Bool) throws(Fault) {
    if reserve.extend(from: tail, through: end, freesSpace: freesSpace) { return }
    throw Fault(
      .outOfSpace,
      "the disk is full: what is left is kept for deletes", path: path,
      advice:
        "Delete something, or make room on the disk, and write again; what was committed before is safe.")
  }
}
