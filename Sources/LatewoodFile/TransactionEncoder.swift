import LatewoodBytes

/// Encodes the records of one transaction at a time into the log: in one frame or, if it is long or
/// has large values, in several.
///
/// ```
/// begin    put, delete ...                                          complete
///   | frame of records ... | frame of a large value | frame of ...  |
///     continues              continues                ends the transaction
/// ```
///
/// Frames marked as continuing cannot be taken back. Without the last frame readers skip them.
///
/// Belongs to the writer of the log, ``LogWriter``, which documents the calls.
struct TransactionEncoder: ~Copyable {
  /// The end of the log in memory.
  var log: LogChunks
  /// The blocks reserved for operations that free space.
  var reserve: SpaceReserve
  /// Whether a transaction is open.
  private(set) var isOpen = false
  /// Whether that transaction has a put.
  private var hasPut = false
  /// The end of the log when that transaction began.
  private var start = FileLayout.logStart
  /// The number of complete frames of the open transaction, which can no longer be taken back.
  private var closedFrames = 0
  /// The reason why the open transaction cannot commit; nil if it can.
  private var failure: StorageError?
  private let seed: UInt64
  private let progress: SharedProgress

  init(_ log: consuming LogChunks, _ reserve: SpaceReserve, _ progress: SharedProgress, seed: UInt64) {
    self.log = log
    self.reserve = reserve
    self.progress = progress
    self.seed = seed
  }

  /// The length of complete frames since the last transaction began, in bytes.
  var length: UInt64 { log.tail - start }

  // MARK: Beginning and ending

  /// Begins a transaction and returns its number. The log must be prepared for it.
  mutating func begin() throws(StorageError) -> UInt64 {
    let (number, overflow) = log.frames.transaction.addingReportingOverflow(1)
    guard !overflow else { throw StorageError(.fileTooLarge, "transaction numbers are exhausted") }
    log.frames.transaction = number
    start = log.tail
    isOpen = true
    hasPut = false
    closedFrames = 0
    failure = nil
    log.frames.openFrame()
    return number
  }

  /// Completes the open transaction and hands its frames over; one without operations is dropped.
  /// If this throws, the transaction must be aborted.
  mutating func complete(
    freesSpace: Bool?, _ refused: (UnsafeRawBufferPointer) -> Void
  ) throws(StorageError) {
    if let failure { throw failure }
    if !log.frames.frameHasRecords, closedFrames == 0 { return abort() }
    do throws(StorageError) {
      try claimOpenFrame(freesSpace: freesSpace)
    } catch {
      if closedFrames == 0 { refused(log.frames.openRecords) }
      throw error
    }
    let before = log.frames
    log.frames.closeFrame(continues: false)
    do throws(StorageError) {
      try log.handOverTransaction()
    } catch {
      log.frames = before
      throw error
    }
    isOpen = false
  }

  /// Drops the open transaction, if there is one.
  mutating func abort() {
    guard isOpen else { return }
    log.frames.dropFrame()
    isOpen = false
    if closedFrames == 0 { log.frames.transaction -= 1 }
  }

  /// Drops the open frame. From now on the open transaction can only be aborted.
  private mutating func fail(_ error: StorageError) {
    log.frames.dropFrame()
    failure = error
  }

  // MARK: Records

  /// - Parameters:
  ///   - keyspace: the keyspace number of the full key, if `prefix` is 4.
  ///   - prefix: 4, or 0 if `key` is the full key.
  @inline(__always) mutating func put(
    keyspace: UInt32, prefix: Int, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer,
    _ asExtent: Bool
  ) throws(StorageError) -> UInt64 {
    precondition(isOpen, "no transaction is open")
    let keyCount = key.count &+ prefix
    try LogRecord.checkKey(keyCount)
    let checksumSeed = asExtent ? seed : nil
    if value.count >= LogWriter.largeValueLength {
      hasPut = true
      return try putLarge(keyCount, value) {
        LogRecord.encodePut(
          to: $0, keyspace: keyspace, prefix: prefix, key, value, checksumSeed: checksumSeed)
      }
    }
    try ensureSpace(for: LogRecord.overhead &+ keyCount &+ value.count)
    // SAFETY: `ensureSpace` made sure that the record fits into the chunk.
    let valueStart = LogRecord.encodePut(
      to: log.frames.nextRecord, keyspace: keyspace, prefix: prefix, key, value,
      checksumSeed: checksumSeed)
    hasPut = true
    return log.frames.take(recordEndingAt: LogRecord.copy(value, to: valueStart))
  }

  /// - Parameters: as `put`.
  @inline(__always) mutating func delete(
    keyspace: UInt32, prefix: Int, _ key: UnsafeRawBufferPointer
  ) throws(StorageError) -> UInt64 {
    precondition(isOpen, "no transaction is open")
    let keyCount = key.count &+ prefix
    try LogRecord.checkKey(keyCount)
    try ensureSpace(for: LogRecord.overhead &+ keyCount)
    // SAFETY: `ensureSpace` made sure that the record fits into the chunk.
    let end = LogRecord.encodeDelete(
      to: log.frames.nextRecord, keyspace: keyspace, prefix: prefix, key)
    return log.frames.take(recordEndingAt: end)
  }

  mutating func deleteRange(
    low: UnsafeRawBufferPointer, high: UnsafeRawBufferPointer
  ) throws(StorageError) -> UInt64 {
    precondition(isOpen, "no transaction is open")
    guard low.count <= FileLayout.boundLimit, high.count <= FileLayout.boundLimit else {
      throw StorageError(.keyTooLong, "a bound of a range has at most \(FileLayout.boundLimit) bytes")
    }
    try ensureSpace(for: LogRecord.overhead + low.count + high.count)
    // SAFETY: `ensureSpace` made sure that the record fits into the chunk.
    let end = LogRecord.encodeDeleteRange(to: log.frames.nextRecord, low: low, high: high)
    return log.frames.take(recordEndingAt: end)
  }

  /// Encodes a value of 1 MiB or more in a commit frame of its own, and writes the value to the
  /// file from the caller's memory.
  ///
  /// - Parameter encode: encodes the record up to its value at an address, and returns the end.
  private mutating func putLarge(
    _ keyCount: Int, _ value: UnsafeRawBufferPointer,
    _ encode: (UnsafeMutableRawPointer) -> UnsafeMutableRawPointer
  ) throws(StorageError) -> UInt64 {
    guard UInt64(value.count) <= FileLayout.valueLimitHere else {
      throw StorageError(.valueTooLarge, "a value has at most \(FileLayout.valueLimit) bytes")
    }
    try closeContinuingFrame()
    // An upper bound of the frame's length without its value, with padding.
    let headLimit = FrameHeader.length + LogRecord.overhead + keyCount + 8
    do throws(StorageError) {
      let end = log.tail + UInt64(headLimit + value.count)
      try reserve.claim(from: log.tail, through: end, freesSpace: false)
    } catch {
      fail(error)
      throw error
    }
    do throws(StorageError) {
      let record = try log.append(largeValue: value, headLimit: headLimit, encode)
      closedFrames += 1
      try log.flush()
      log.frames.openFrame()
      return record
    } catch {
      // Part of the value may be in the file after the log, so these offsets cannot be reused.
      if error.kind == .outOfSpace { progress.fail(error) }
      fail(error)
      throw error
    }
  }

  // MARK: Frames

  /// Makes sure that a record of at most `count` bytes fits into the chunk.
  @inline(__always) private mutating func ensureSpace(for count: Int) throws(StorageError) {
    if count > log.frames.recordCapacity { try breakFrame() }
  }

  /// Continues the transaction in a new frame and chunk, because this chunk is full.
  @inline(never) private mutating func breakFrame() throws(StorageError) {
    try closeContinuingFrame()
    do throws(StorageError) {
      try log.cover(0)
      try log.switchChunk()
    } catch {
      fail(error)
      throw error
    }
    log.frames.openFrame()
  }

  /// Completes the open frame, if it has records, and marks its transaction as continuing.
  /// Afterwards the next frame can begin.
  private mutating func closeContinuingFrame() throws(StorageError) {
    if let failure { throw failure }
    guard log.frames.frameHasRecords else { return log.frames.dropFrame() }
    do throws(StorageError) {
      try claimOpenFrame()
    } catch {
      fail(error)
      throw error
    }
    log.frames.closeFrame(continues: true)
    closedFrames += 1
    // Immediately: the next frame may be refused, but this one stays part of the log.
    log.handOver()
  }

  /// Makes sure that blocks are allocated for the open frame, before it is completed.
  ///
  /// - Parameter freesSpace: whether they may lie in the reserve; nil to allow that unless the
  ///   transaction has a put.
  ///
  /// Throws `outOfSpace`; then nothing has changed.
  private mutating func claimOpenFrame(freesSpace: Bool? = nil) throws(StorageError) {
    let end = log.frames.end
    try reserve.claim(from: log.tail, through: end, freesSpace: freesSpace ?? !hasPut)
  }
}
