import LatewoodBytes

extension LogFile {
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

  /// *Writer, no transaction open.* Restarts the log after a write that failed for lack of space.
  ///
  /// Frames waiting in memory are given up: flushes of them throw `outOfSpace` from now on. Before
  /// calling this, the store undoes, in memory, every transaction that was not flushed. Afterwards
  /// `needsCheckpoint` is set, and the store writes a checkpoint of what is left, with the current
  /// `replayPosition`; a checkpoint that was under way must be done again. If there is still no
  /// space, that fails in the same way, and this is called again. Frames given up are not part of
  /// the log, and neither an end of the process nor a power cut brings them back.
  ///
  /// Does nothing if no write failed. Throws `poisoned`, `closed`, `fileTooLarge`, and errors of
  /// the device.
  package func recoverFromOutOfSpace() throws(Fault) {
    precondition(!append.pointee.isOpen, "a transaction is open")
    guard isOutOfSpace else { return }
    group.waitUntilIdle()
    try group.check()
    // No attempted write reaches beyond this size: the file only grows by writing.
    let size = try device.size()
    guard let tail = FileLayout.alignedToFrame(max(size, append.pointee.tail) + FileLayout.frameAlignment),
      tail < FileLayout.fileLimit
    else { throw Fault(.fileTooLarge, "the file has reached its greatest length", path: path) }
    try eraseGivenUp(below: size)
    append.pointee.lastFrameChecksum = 0
    endsInSeal = false
    beginChunk(group.restart(at: tail), at: tail)
  }

  /// Makes sure that the log ends before the frames given up. They all depend on the first of them,
  /// which `FrameWriter` completes last.
  ///
  /// No known device refuses a write after taking all of its bytes. But if the first frame is
  /// there, it is durably overwritten with zeros. Otherwise nothing is synced, because a sync that
  /// fails for lack of space ends all writing.
  private func eraseGivenUp(below size: UInt64) throws(Fault) {
    let start = group.writtenThrough
    let view = try view(through: size)
    guard try LogWalk.frame(at: start, view: view, size: size) != nil else { return }
    try withScratch(FrameHeader.length) { zeros throws(Fault) in
      try group.writeAside(UnsafeRawBufferPointer(zeros), at: start, pieces: zeros.count)
    }
    try group.sync()
  }
}
