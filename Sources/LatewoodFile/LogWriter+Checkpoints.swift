import LatewoodBytes

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
    let payload = tail + UInt64(FrameHeader.length)
    let first = (payload + FileLayout.nodeAlignment - 1) & ~(FileLayout.nodeAlignment - 1)
    try reserve.claim(from: tail, through: first + UInt64(length), freesSpace: true)
    log.appendNodesHeader(payloadLength: Int(first - payload) + length)
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
    if record.replay.offset > log.lastCommitOffset { record.replay = replayPosition }
    // SAFETY: `prepareToAppend` ensures space for a few thousand bytes.
    log.append(.checkpoint, payloadLength: CheckpointRecord.length) { record.encode(into: $0) }
    return AppendedCheckpoint(
      offset: offset, checksum: lastFrameChecksum, position: position, record: record)
  }

  /// *No transaction open.* Appends a frame that only records how far the file is known to be
  /// durable. `DatabaseFile.flush` writes it; it needs no sync. Does nothing right after another
  /// seal.
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
  /// transactions that free space can commit. Returns false if there was no reserve.
  package func lendReserve() -> Bool { reserve.lend(from: tail) }

  /// Tries to allocate the full reserve again.
  package func refillReserve() { reserve.refill(from: tail) }
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
