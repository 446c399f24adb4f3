import LatewoodBytes

extension LogFile {
  /// Returns when the file has everything before `position`, and if `durable`, when that would
  /// survive a power cut. From any thread.
  ///
  /// The first thread that comes writes, or syncs, for all that wait; who does not ask for
  /// durability waits for no sync. The first failure of a sync, or of a write for anything but lack
  /// of space, ends all writing: those who wait get the failure itself, everyone later `poisoned`.
  /// Throws `outOfSpace` if the commit is not in the file for lack of space; then it never will be,
  /// nobody who reads the file finds it there, and `recoverFromOutOfSpace` is needed.
  package func flush(through position: CommitPosition, durable: Bool) throws(Fault) {
    try group.flush(through: position.offset, durable: durable)
  }

  /// *Writer, no transaction open.* Goes on after a write that failed for lack of space.
  ///
  /// What waited in memory is given up: its flushes throw `outOfSpace`, also later. Before this the
  /// store takes back, in memory, every transaction that was not flushed. After it,
  /// `needsCheckpoint` is set, and the store writes a checkpoint of what is left, with
  /// `replayPosition` as it is now; a checkpoint that was under way must be done again. If there is
  /// still no space, that fails in the same way, and this is called once more. What was given up is
  /// no part of the log, and neither an end of the process nor a power cut brings it back.
  ///
  /// Does nothing if no write failed. Throws `poisoned`, `closed`, `fileTooLarge`, and what the
  /// device throws.
  package func recoverFromOutOfSpace() throws(Fault) {
    precondition(!append.pointee.isOpen, "a transaction is open")
    guard isOutOfSpace else { return }
    group.waitUntilIdle()
    if let fault = group.locked({ $0.poisonRefusal }) { throw fault }
    // Nothing of what was tried is beyond the size: the file only grows by writing.
    let size = try device.size()
    guard let tail = FileLayout.alignedToFrame(max(size, append.pointee.tail) + FileLayout.frameAlignment),
      tail < FileLayout.fileLimit
    else { throw Fault(.fileTooLarge, "the file has reached its greatest length", path: path) }
    try eraseGivenUp(below: size)
    append.pointee.lastFrameChecksum = 0
    endsInSeal = false
    group.locked { state in
      let chunk = state.open.chunk
      state.restart(at: tail, open: LogFile.segment(memory: chunk, at: tail, chunk: chunk))
      rewind(&state, to: tail)
    }
  }

  /// Makes sure that the log ends before what was given up: all of that hangs on its first frame,
  /// which `GroupFlush` completes last.
  ///
  /// A device that refuses a write all of whose bytes it took is none that we know; but if the
  /// frame is there, zeros take its place, for good. Otherwise nothing is synced: where a sync
  /// fails for lack of space, it ends all writing.
  private func eraseGivenUp(below size: UInt64) throws(Fault) {
    let start = group.locked { $0.writtenThrough }
    let view = try view(through: size)
    guard try LogWalk.frame(at: start, view: view, size: size) != nil else { return }
    try withScratch(FrameHeader.length) { zeros throws(Fault) in
      try group.writeAside(UnsafeRawBufferPointer(zeros), at: start, pieces: zeros.count)
    }
    try group.sync()
  }
}
