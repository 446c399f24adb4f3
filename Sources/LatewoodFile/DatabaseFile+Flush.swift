import LatewoodBytes

extension DatabaseFile {
  /// Waits until everything before `position` is in the file and, if `durable`, would survive a
  /// power cut. From any thread.
  ///
  /// The first thread writes, or syncs, for all waiting threads; a caller that does not ask for
  /// durability waits for no sync. The first failed sync, or write that fails for any reason but
  /// lack of space, ends all writing: waiting threads get the failure itself, later calls
  /// `poisoned`. Throws `outOfSpace` if there was no space for the commit: it will never be in the
  /// file, and `recoverFromOutOfSpace` must be called.
  package func flush(through position: CommitPosition, durable: Bool) throws(Fault) {
    try group.flush(through: position.offset, durable: durable)
  }

  /// Writes nodes into space reserved by `LogWriter.reserveNodes`. From any thread.
  ///
  /// Writes in pieces of 32 KiB by default, so that a concurrent commit waits for at most one
  /// piece, about 10 µs; pass larger pieces for a file without concurrent commits. Throws
  /// `outOfSpace`, after which only these nodes are missing and the log remains usable;
  /// `inputOutput`, which ends all writing; `poisoned`, `closed`.
  package func writeNodes(
    _ bytes: UnsafeRawBufferPointer, at offset: UInt64, pieces: Int = DatabaseFile.nodePieceLength
  ) throws(Fault) {
    try group.writeOutOfBand(bytes, at: offset, pieces: pieces)
    // The nodes may be read before a later frame extends the file, which can fail for lack of
    // space.
    let end = offset + UInt64(bytes.count)
    progress.extendReadable(through: end)
  }

  /// Makes the written nodes, and everything else in the file, durable. From any thread.
  ///
  /// A flush is not enough: commits beyond a region may have been synced before its nodes were
  /// written. The first failure ends all writing.
  package func syncNodes() throws(Fault) {
    let through = committedPosition.offset
    try group.flush(through: through, durable: false)
    try group.sync()
  }

  /// *Writer, no transaction open.* Restarts the log after a write that failed for lack of space.
  ///
  /// Discards the frames waiting in memory: flushes of them throw `outOfSpace` from now on, and
  /// neither a crash nor a power cut brings them back. Before calling this, the store undoes, in
  /// memory, every transaction that was not flushed. Afterwards `needsCheckpoint` is set, and the
  /// store writes a checkpoint of the remaining state at the current `LogWriter.replayPosition`; a
  /// checkpoint in progress must be started again. If there is still no space, that fails in the
  /// same way, and this is called again.
  ///
  /// Does nothing if no write failed. Throws `poisoned`, `closed`, `fileTooLarge`, and errors of
  /// the device.
  package func recoverFromOutOfSpace() throws(Fault) {
    precondition(!writer.isInTransaction, "a transaction is open")
    guard isOutOfSpace else { return }
    group.waitUntilIdle()
    try progress.check()
    // No attempted write reached beyond this size: the file only grows by writing.
    let size = try device.size()
    guard let tail = FileLayout.alignedToFrame(max(size, writer.tail) + FileLayout.frameAlignment),
      tail < FileLayout.fileLimit
    else { throw Fault(.fileTooLarge, "the file has reached its greatest length", path: path) }
    try eraseDiscardedFrames(below: size)
    writer.restart(at: tail)
  }

  /// Makes sure that the log ends before the discarded frames. All of them depend on the first,
  /// which `FrameWriter` completes last.
  ///
  /// No known device fails a write after storing all of its bytes. But if the first frame is in the
  /// file, it is durably overwritten with zeros. Otherwise nothing is synced, because a sync that
  /// fails for lack of space ends all writing.
  private func eraseDiscardedFrames(below size: UInt64) throws(Fault) {
    let start = progress.writtenThrough
    let view = try view(through: size)
    guard try LogReader.frame(at: start, view: view, size: size) != nil else { return }
    try withScratch(FrameHeader.length) { zeros throws(Fault) in
      try group.writeOutOfBand(UnsafeRawBufferPointer(zeros), at: start, pieces: zeros.count)
    }
    try group.sync()
  }
}
