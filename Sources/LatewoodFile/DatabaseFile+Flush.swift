import LatewoodBytes

extension DatabaseFile {
  /// Waits until everything before `position` is in the file and, if `durable`, would survive a
  /// power cut. From any thread.
  ///
  /// The first thread writes, or syncs, for all that wait; a caller that does not ask for
  /// durability waits for no sync. The first failure of a sync, or of a write for anything but lack
  /// of space, ends all writing: waiting threads get the failure itself, later calls `poisoned`.
  /// Throws `outOfSpace` if there was no space for the commit. Then it will never be in the file,
  /// no reader finds it there, and `recoverFromOutOfSpace` is needed.
  package func flush(through position: CommitPosition, durable: Bool) throws(Fault) {
    try group.flush(through: position.offset, durable: durable)
  }

  /// Writes nodes into space reserved by `LogWriter.reserveNodes`. From any thread.
  ///
  /// Writes in pieces of 32 KiB by default, so that a concurrent commit waits for one piece at
  /// most, about 10 µs; pass larger pieces if nobody commits to this file. Throws `outOfSpace`,
  /// after which the log is as usable as before and only these nodes are missing; `inputOutput`,
  /// which ends all writing; `poisoned`, `closed`.
  package func writeNodes(
    _ bytes: UnsafeRawBufferPointer, at offset: UInt64, pieces: Int = DatabaseFile.nodePieceLength
  ) throws(Fault) {
    try group.writeAside(bytes, at: offset, pieces: pieces)
    // The file is this long now. The tree may be read before a frame behind it is written, which
    // can fail for lack of space.
    let end = offset + UInt64(bytes.count)
    progress.extendReadable(through: end)
  }

  /// Makes the written nodes durable, and with them the whole file. From any thread.
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
  /// Frames waiting in memory are given up: flushes of them throw `outOfSpace` from now on. Before
  /// calling this, the store undoes, in memory, every transaction that was not flushed. Afterwards
  /// `needsCheckpoint` is set, and the store writes a checkpoint of what is left, with the current
  /// `LogWriter.replayPosition`; a checkpoint that was under way must be done again. If there is
  /// still no space, that fails in the same way, and this is called again. Frames given up are not
  /// part of the log, and neither an end of the process nor a power cut brings them back.
  ///
  /// Does nothing if no write failed. Throws `poisoned`, `closed`, `fileTooLarge`, and errors of
  /// the device.
  package func recoverFromOutOfSpace() throws(Fault) {
    precondition(!writer.isInTransaction, "a transaction is open")
    guard isOutOfSpace else { return }
    group.waitUntilIdle()
    try progress.check()
    // No attempted write reaches beyond this size: the file only grows by writing.
    let size = try device.size()
    guard let tail = FileLayout.alignedToFrame(max(size, writer.tail) + FileLayout.frameAlignment),
      tail < FileLayout.fileLimit
    else { throw Fault(.fileTooLarge, "the file has reached its greatest length", path: path) }
    try eraseGivenUp(below: size)
    writer.restart(at: tail)
  }

  /// Makes sure that the log ends before the frames given up. They all depend on the first of them,
  /// which `FrameWriter` completes last.
  ///
  /// No known device refuses a write after taking all of its bytes. But if the first frame is
  /// there, it is durably overwritten with zeros. Otherwise nothing is synced, because a sync that
  /// fails for lack of space ends all writing.
  private func eraseGivenUp(below size: UInt64) throws(Fault) {
    let start = progress.writtenThrough
    let view = try view(through: size)
    guard try LogReader.frame(at: start, view: view, size: size) != nil else { return }
    try withScratch(FrameHeader.length) { zeros throws(Fault) in
      try group.writeAside(UnsafeRawBufferPointer(zeros), at: start, pieces: zeros.count)
    }
    try group.sync()
  }
}
