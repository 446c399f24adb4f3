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
    var room: Range<UInt64>?
    let isReady = group.locked { state in
      if state.isStopped || (beginning && state.needsCheckpoint) { return false }
      append.pointee.flushedThrough = state.writtenThrough
      append.pointee.durableThrough = state.durableMark
      // Everything is in the file: begin at the start of the chunk again, so that small
      // transactions stay in the nearest cache.
      if state.writtenThrough == state.closedThrough, append.pointee.frameStart > 0 {
        rewind(&state, to: state.closedThrough)
      }
      if beginning, device.prefersWrittenRoom { room = state.roomToWrite(at: append.pointee.tail) }
      return true
    }
    if !isReady { throw group.locked { $0.isStopped ? $0.stopFault() : .checkpointNeeded } }
    if let room { try group.writeRoom(room) }
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

  /// Empties the current chunk. With the monitor held, and nothing waiting in memory.
  func rewind(_ state: inout GroupFlush.State, to tail: UInt64) {
    let chunk = state.open.chunk
    state.open = LogFile.segment(memory: chunk, at: tail, chunk: chunk)
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
      let length = append.pointee.frameStart
      group.locked { $0.close(length: length) }
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
    let (isBusy, spare) = group.locked { state in
      state.close(length: length)
      return (
        state.writing.isTaken, chunks.first { chunk in chunk != state.open.chunk && !state.isWaiting(chunk) }
      )
    }
    if isBusy, let chunk = spare ?? newChunk() {
      group.locked { state in
        state.seal(
          length: length, end: tail, touchable: tail,
          next: LogFile.segment(memory: chunk, at: tail, chunk: chunk))
      }
      place(memory: chunk, at: tail, capacity: LogFile.chunkLength)
    } else {
      try group.flush(through: tail, durable: false)
      group.locked { rewind(&$0, to: tail) }
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

extension GroupFlush.State {
  func isWaiting(_ chunk: UnsafeMutableRawPointer) -> Bool { sealed.contains { $0.chunk == chunk } }
}
