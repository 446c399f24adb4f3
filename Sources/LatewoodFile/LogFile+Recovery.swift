import LatewoodBytes
import LatewoodDevice

/// What `LogFile.recover` found.
package struct RecoveryReport: Sendable, Equatable {
  /// Nil: none yet.
  package var checkpoint: CheckpointRecord?
  /// Of the checkpoint's frame; 0 if there is none.
  package var checkpointOffset: UInt64 = 0
  package var framesReplayed = 0
  package var transactionsReplayed = 0
  /// Of commit frames.
  package var bytesReplayed: UInt64 = 0
  /// What lay behind the log and was never acknowledged.
  package var tornTail: Range<UInt64>?
  /// The newest slot, or the checkpoint it names, was not sound, and the older one was taken.
  package var usedOlderSlot = false
  /// See `LogFile.needsCheckpoint`.
  package var needsCheckpoint = false
  /// The greatest transaction number in the file.
  package var lastTransaction: UInt64 = 0
}

extension LogFile {
  /// Reads the newest state: picks the root slot, walks the log, and gives `apply` the operations
  /// of each committed transaction in order.
  ///
  /// `apply` is only called after the whole log has been found sound, and never again for the same
  /// record. For a writer, appending starts after the end of the log, or past the end of the file
  /// if there was a torn tail; then `needsCheckpoint` is set.
  ///
  /// O(bytes of the log since the checkpoint). Throws `damaged` with the offset, and what the
  /// device throws.
  ///
  /// - Parameter begin: called before the first operation, with the view that the records are in.
  package func recover(
    begin: (FileView) -> Void = { _ in }, apply: ReplayAction
  ) throws(Fault) -> RecoveryReport {
    let found = try findNewest()
    let size = found.size
    group.locked { $0.touchableThrough = size }
    let choice = found.choice
    let view = found.walk.view
    begin(view)
    // A reader may come here again, when there is a newer checkpoint.
    var replay = LogReplay()
    try replay.apply(
      view: view, from: choice.replay.offset, to: found.walk.position.offset, apply)
    self.replay = replay
    replayed = found.walk.position
    lastTransactionSeen = found.walk.lastTransaction
    lastFrameSeen = found.walk.lastFrame
    slotGeneration = choice.slot.generation
    oldestWholeCheckpoint = choice.slot.oldestWhole
    branch = choice.checkpoint?.branch ?? 0
    // From here on this is no backup, and goes its own way.
    if !isReadOnly, found.walk.hasEnded { branch = environment.random() | 1 }

    var report = RecoveryReport()
    report.checkpoint = choice.checkpoint
    report.checkpointOffset = choice.slot.checkpointOffset
    report.framesReplayed = found.walk.frames
    report.transactionsReplayed = replay.transactions
    report.bytesReplayed = replay.bytes
    report.usedOlderSlot = choice.isOlder
    report.lastTransaction = max(choice.newestTransaction, found.walk.lastTransaction)
    if found.hasTornTail, !found.walk.hasEnded { report.tornTail = replayed.offset..<size }
    if isReadOnly {
      noteCommitted(through: replayed.offset)
    } else {
      try startAppending(after: found, lastTransaction: report.lastTransaction)
      // Whoever gave the file its name, new or in the place of an older one, may not have got so
      // far as to sync that.
      if !group.locked({ $0.keepsLock }) { try volume.syncDirectory(containing: path) }
      report.needsCheckpoint = needsCheckpoint
    }
    return report
  }

  /// A log that was walked and found not to be damaged.
  struct Found {
    var choice: SlotChoice
    var walk: LogWalk
    /// Bytes of the file when the walk began.
    var size: UInt64
    /// What slots and frames say was durable.
    var floor: UInt64
    /// Something other than reserved room lies behind the log, or it ends for good: what is
    /// appended goes past all that.
    var hasTornTail: Bool
  }

  /// A reader beside a live writer can see a frame or a slot half written: it looks again before it
  /// speaks of damage.
  func findNewest() throws(Fault) -> Found {
    var pause: UInt64 = 2
    while true {
      do throws(Fault) {
        return try findOnce()
      } catch {
        guard isReadOnly, error.kind == .damaged, pause <= 64 else { throw error }
        Monitor.sleep(milliseconds: pause)
        pause *= 2
      }
    }
  }

  private func findOnce() throws(Fault) -> Found {
    // In this order: what a slot names was there before the slot was written, so it lies below the
    // size read after it.
    forgetCache(0..<FileLayout.logStart)
    // What this process has just made hides nothing.
    let mayBeFalse = !isReadOnly && !isReplacement
    let slots = try readSlots(fromDisk: mayBeFalse)
    let size = try checkedSize()
    // What a slot says to have been durable is on the disk as the cache has it.
    forgetCache(slots.reduce(FileLayout.logStart) { max($0, $1.durableThrough) }..<UInt64.max)
    let view = try view(through: size)
    let choice = try chooseSlot(slots, in: view)
    var walk = LogWalk(
      view: view, size: size, from: choice.replay, lastTransaction: choice.checkpoint?.transaction ?? 0)
    try walk.finish()
    let floor = try floor(of: walk, slots: choice.durableThrough)
    let isFollowedByZeros = try walk.isFollowedByZeros()
    var found = Found(
      choice: choice, walk: walk, size: size, floor: floor,
      hasTornTail: walk.hasEnded || !isFollowedByZeros)
    if mayBeFalse { try endWhereDiskEnds(&found) }
    return found
  }

  /// Ends the log before the first frame that the disk does not have as the mapping shows it:
  /// nobody may build on that.
  ///
  /// The room of a nodes frame is not looked at. What lies there proves itself, and is durable
  /// before a slot leads to it.
  private func endWhereDiskEnds(_ found: inout Found) throws(Fault) {
    let end = found.walk.position.offset
    guard end > found.floor else { return }
    var disk = DiskView(of: device, mappedAt: found.walk.view.base)
    var walk = LogWalk(
      view: found.walk.view, size: found.size, from: found.choice.replay,
      lastTransaction: found.choice.checkpoint?.transaction ?? 0)
    while walk.position.offset < end {
      let before = walk
      guard let header = try walk.next(), let frameEnd = header.end else { return }
      if frameEnd <= found.floor { continue }
      let start = header.ownOffset
      let proof = header.kind == .nodes ? start + UInt64(FrameHeader.length) : frameEnd
      if try disk.agrees(on: start..<proof) { continue }
      guard before.position.offset >= found.floor else {
        throw Fault.damaged(at: start, "the disk does not have what had been made durable here")
      }
      found.walk = before
      found.hasTornTail = true
      return
    }
  }

  /// The size of the file, if the format has files of this size.
  func checkedSize() throws(Fault) -> UInt64 {
    let size = try device.size()
    guard size <= FileLayout.fileLimit else {
      throw Fault(.fileTooLarge, "the file is larger than the format allows", path: path)
    }
    return size
  }

  /// What was durable at least. Throws `damaged` if the walk ended before that.
  func floor(of walk: LogWalk, slots: UInt64) throws(Fault) -> UInt64 {
    let floor = max(slots, walk.durableThrough)
    var isWhole = walk.position.offset >= floor
    if isWhole { isWhole = try !walk.isContradictedBeyond() }
    guard isWhole else {
      throw Fault.damaged(
        at: walk.position.offset, "the log is damaged here: commits that had been made durable follow")
    }
    return floor
  }

  /// Tells `committedPosition` how far a log goes that others write.
  func noteCommitted(through offset: UInt64) {
    group.locked { state in
      state.closedThrough = offset
      state.writtenThrough = offset
    }
  }

  /// Sets the writer's place after the log, or past the end of the file if what lies behind the log
  /// must not be written to.
  private func startAppending(after found: Found, lastTransaction: UInt64) throws(Fault) {
    let end = found.walk.position
    let goesOn = found.hasTornTail ? false : try givesRoomBack(behind: found)
    guard let tail = goesOn ? end.offset : beyond(found.size) else {
      throw Fault(.fileTooLarge, "the file has reached its greatest length", path: path)
    }
    append.pointee.transaction = lastTransaction
    append.pointee.lastFrameChecksum = goesOn ? end.previousChecksum : 0
    endsInSeal = goesOn && found.walk.lastFrame?.kind == .seal
    let floor = found.floor
    group.locked { state in
      state.syncedThrough = floor
      state.durableMark = floor
      state.closedThrough = tail
      state.writtenThrough = tail
      state.needsCheckpoint = !goesOn
      state.gapStart = end.offset
      if !goesOn { state.chainStart = tail }
      rewind(&state, to: tail)
    }
  }
}
