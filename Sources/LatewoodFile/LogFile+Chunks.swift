import LatewoodBytes

/// Chunks: the memory that frames are encoded in. There are at most three. A chunk is reused once
/// everything in it has been written.
extension LogFile {
  /// The least free space in a chunk, in bytes, with which a frame is begun.
  static var leastRoom: Int { 4096 }

  /// Takes note of flushes by other threads, and makes room to begin a frame. No transaction is
  /// open.
  ///
  /// Throws `unsupported` while a checkpoint is needed, if `beginning` a transaction.
  func prepareToAppend(beginning: Bool = false) throws(Fault) {
    precondition(!isReadOnly, "the file was opened for reading")
    let tail = tail
    let start = try group.begin(
      at: tail, isTransaction: beginning, isUsed: append.pointee.frameStart > 0)
    append.pointee.flushedThrough = start.writtenThrough
    append.pointee.durableThrough = start.durableMark
    if let chunk = start.emptied { beginChunk(chunk, at: tail) }
    if append.pointee.capacity &- append.pointee.position < LogFile.leastRoom { try nextChunk() }
    try checkLength(of: 0)
  }

  /// Checks that the file may grow by `more` bytes and by everything that may be appended before
  /// the next call, and maps that many bytes.
  func checkLength(of more: Int) throws(Fault) {
    let reserve = UInt64(2 * LogFile.chunkLength)
    let limit = FileLayout.fileLimit
    guard UInt64(more) < limit, append.pointee.tail < limit - UInt64(more),
      limit - UInt64(more) - append.pointee.tail > reserve
    else {
      throw Fault(.fileTooLarge, "the file has reached its greatest length", path: path)
    }
    let end = append.pointee.tail + UInt64(more)
    if end + LogFile.mappedAhead > append.pointee.mappedThrough { try growMapping(toCover: end) }
  }

  /// An upper bound of the bytes appended before the next `checkLength`: a chunk, and the header
  /// and key of a large value.
  static var mappedAhead: UInt64 { UInt64(chunkLength) + (64 << 10) }

  private func growMapping(toCover end: UInt64) throws(Fault) {
    let space = try mapping.grown(toCover: end, ahead: LogFile.mappedAhead)
    append.pointee.base = space.base
    append.pointee.mappedThrough = space.capacity
  }

  /// Empties the current chunk, of which nothing is waiting.
  func rewind(to tail: UInt64) { beginChunk(group.rewind(to: tail), at: tail) }

  /// Continues at the start of a chunk, at `tail` in the file, which has everything before it.
  func beginChunk(_ chunk: UnsafeMutableRawPointer, at tail: UInt64) {
    place(memory: chunk, at: tail, capacity: LogFile.chunkLength)
    append.pointee.flushedThrough = max(append.pointee.flushedThrough, tail)
  }

  func place(memory: UnsafeMutableRawPointer, at offset: UInt64, capacity: Int) {
    append.pointee.memory = memory
    append.pointee.segmentOffset = offset
    append.pointee.capacity = capacity
    append.pointee.position = 0
    append.pointee.frameStart = 0
  }

  /// Makes room for a record of at most `count` bytes in the open transaction.
  @inline(__always) func makeRoom(for count: Int) throws(Fault) {
    // Eight bytes are for the padding after the frame.
    if count > append.pointee.capacity &- append.pointee.position &- 8 { try breakFrame() }
  }

  /// The chunk is full: the transaction continues in another frame, in another chunk.
  private func breakFrame() throws(Fault) {
    try closeContinuingFrame()
    do throws(Fault) {
      try checkLength(of: 0)
      try nextChunk()
    } catch {
      failTransaction(error)
      throw error
    }
    append.pointee.position = append.pointee.frameStart + FrameHeader.length
  }

  /// Completes the open frame, if it has records, and marks its transaction as continuing.
  /// Afterwards `position` is the start of the next frame.
  func closeContinuingFrame() throws(Fault) {
    if let transactionFailure { throw transactionFailure }
    if append.pointee.frameHasRecords {
      do throws(Fault) {
        try claimOpenFrame()
      } catch {
        failTransaction(error)
        throw error
      }
      closeFrame(continues: true)
      append.pointee.closedFrames += 1
      endsInSeal = false
      // At once: the next frame may be refused, but this one stays part of the log.
      group.completeFrames(length: append.pointee.frameStart)
    } else {
      append.pointee.position = append.pointee.frameStart
    }
  }

  /// Hands the chunk's frames over for flushing and continues in an empty chunk.
  ///
  /// The full chunk is written at once, so that a transaction of any size takes little memory. But
  /// while another thread writes, the writer takes a spare or new chunk and continues.
  func nextChunk() throws(Fault) {
    let length = append.pointee.frameStart
    let tail = append.pointee.tail
    let (isBusy, spare) = group.completeChunk(length: length, of: chunks)
    if isBusy, let chunk = spare ?? newChunk() {
      group.seal(length: length, at: tail, next: chunk)
      place(memory: chunk, at: tail, capacity: LogFile.chunkLength)
    } else {
      try group.flush(through: tail, durable: false)
      rewind(to: tail)
    }
  }

  /// Drops the open frame. From now on the open transaction can only be aborted.
  func failTransaction(_ fault: Fault) {
    append.pointee.position = append.pointee.frameStart
    transactionFailure = fault
  }

  private func newChunk() -> UnsafeMutableRawPointer? {
    guard chunks.count < LogFile.chunkLimit else { return nil }
    let chunk = UnsafeMutableRawPointer.allocate(byteCount: LogFile.chunkLength, alignment: 4096)
    chunks.append(chunk)
    return chunk
  }
}
