import LatewoodBytes

extension LogFile {
  /// *Writer.* Begins a transaction and returns its number.
  ///
  /// Throws `poisoned`, `closed`, `fileTooLarge`; `outOfSpace` until `recoverFromOutOfSpace` was
  /// called; `unsupported` while `needsCheckpoint`.
  package func beginTransaction() throws(Fault) -> UInt64 {
    precondition(!append.pointee.isOpen, "a transaction is open")
    try prepareToAppend(beginning: true)
    let (number, overflow) = append.pointee.transaction.addingReportingOverflow(1)
    guard !overflow else { throw Fault(.fileTooLarge, "the numbers for transactions are used up") }
    append.pointee.transaction = number
    append.pointee.transactionStart = append.pointee.tail
    append.pointee.isOpen = true
    append.pointee.hasPut = false
    transactionFailure = nil
    append.pointee.closedFrames = 0
    append.pointee.position = append.pointee.frameStart + FrameHeader.length
    return append.pointee.transaction
  }

  /// *Writer.* Completes the transaction in memory; `flush` brings it to the file.
  ///
  /// The transaction is over even if this throws; then it has left no trace, and the caller must
  /// forget its operations. A transaction without operations writes nothing. Throws `poisoned`,
  /// `closed`, `outOfSpace`, and the error of a put after which the transaction can only be
  /// aborted.
  ///
  /// - Parameter freesSpace: whether it may use the reserve; nil if it may unless it has a put.
  package func commitTransaction(freesSpace: Bool? = nil) throws(Fault) -> CommitPosition {
    precondition(append.pointee.isOpen, "no transaction is open")
    if let failure = transactionFailure {
      abortTransaction()
      throw failure
    }
    if !append.pointee.frameHasRecords, append.pointee.closedFrames == 0 {
      abortTransaction()
      return position
    }
    do throws(Fault) {
      try claimOpenFrame(freesSpace: freesSpace)
    } catch {
      abortTransaction()
      throw error
    }
    let frameStart = append.pointee.frameStart
    let checksum = append.pointee.lastFrameChecksum
    closeFrame(continues: false)
    do throws(Fault) {
      try group.completeTransaction(length: append.pointee.frameStart)
    } catch {
      append.pointee.frameStart = frameStart
      append.pointee.lastFrameChecksum = checksum
      abortTransaction()
      throw error
    }
    append.pointee.isOpen = false
    endsInSeal = false
    return position
  }

  /// *Writer.* Drops the open transaction.
  ///
  /// Complete frames of a long transaction stay. Without its last frame, readers skip them, and the
  /// transaction's number is not used again. Does nothing if no transaction is open.
  package func abortTransaction() {
    guard append.pointee.isOpen else { return }
    append.pointee.position = append.pointee.frameStart
    append.pointee.isOpen = false
    if append.pointee.closedFrames == 0 { append.pointee.transaction -= 1 }
  }

  /// *Writer.* The number of bytes in the log that belong to complete frames of the open
  /// transaction. Until something else is appended, those of the last transaction, even of an
  /// aborted one, whose complete frames stay.
  package var transactionLength: UInt64 { append.pointee.tail - append.pointee.transactionStart }

  /// Completes the open commit frame in memory.
  func closeFrame(continues: Bool) {
    let place = append.pointee
    var header = frameHeader(.commit, payloadLength: place.position - place.frameStart - FrameHeader.length)
    header.continues = continues
    // SAFETY: `frameStart` and everything up to `position` lie in the chunk.
    append.pointee.lastFrameChecksum = header.encode(into: place.memory + place.frameStart, seed: place.seed)
    padFrame()
  }

  /// A header for a frame at the tail.
  func frameHeader(_ kind: FrameKind, payloadLength: Int) -> FrameHeader {
    let place = append.pointee
    return FrameHeader(
      kind: kind, ownOffset: place.tail, transaction: place.transaction,
      previousChecksum: place.lastFrameChecksum, durableThrough: place.durableThrough,
      payloadLength: UInt64(payloadLength))
  }

  /// Rounds `position` up to a multiple of 8, with zeros, and lets the next frame start there.
  func padFrame() {
    let position = append.pointee.position
    let end = (position + 7) & ~7
    // SAFETY: every append leaves 8 bytes of the chunk for this. Chunks are used again, so the
    // zeros must be written.
    for at in position..<end { append.pointee.memory.set(UInt8(0), at: at) }
    append.pointee.position = end
    append.pointee.frameStart = end
  }
}
