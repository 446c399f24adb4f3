import Dispatch
import LatewoodBytes
import LatewoodDevice
import LatewoodFile
import LatewoodTree

extension Engine {
  /// Starts a checkpoint on the background queue, unless one is waiting or running.
  func checkpointLater() {
    guard options.checkpointsInBackground,
      checkpointScheduled.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing)
        .exchanged
    else { return }
    checkpointQueue.async { [self] in
      defer {
        checkpointScheduled.store(false, ordering: .releasing)
        checkpointEnded.withLock { checkpointEnded.broadcast() }
      }
      guard !closed.load(ordering: .relaxed) else { return }
      do throws(Fault) {
        try checkpoint(isForced: false)
      } catch {
        backgroundFailure.withLock { $0 = $0 ?? error }
      }
    }
  }

  /// Merges the write buffer into the base tree, so that recovery starts from here.
  ///
  /// - Parameters:
  ///   - isForced: whether to write a checkpoint even if nothing was committed since the last one.
  ///   - givesBack: whether to give dead blocks back to the file system afterwards. Otherwise they
  ///     wait for the next checkpoint.
  func checkpoint(isForced: Bool, givesBack: Bool = true) throws(Fault) {
    checkpointing.lock()
    defer { checkpointing.unlock() }
    try writeCheckpoint(isForced: isForced)
    if givesBack { try punchDead() }
    frozenBytes.store(0, ordering: .relaxed)
    measureSpare()
    if givesBack { compactLater() }
  }

  func writeCheckpoint(isForced: Bool) throws(Fault) {
    var isForced = isForced
    try takeBackUnwritten()
    while true {
      // A checkpoint that failed, on a full disk, has left its frozen buffer. Merge that first.
      let left = unfinished
      var next = left
      if next == nil { next = try freeze(isForced: isForced) }
      guard let frozen = next else { return }
      let (root, dead) = try merge(frozen)
      do throws(Fault) {
        try conclude(frozen, root, dead)
        if left == nil { return }
      } catch {
        // The log restarted after this buffer was frozen, so no checkpoint may lead a reader to its
        // old place. The tree can still be built upon: the next checkpoint, of everything, is the
        // one that the log needs.
        guard error.kind == .unsupported else { throw error }
        keepDead(dead)
        install(root, of: frozen)
        isForced = true
      }
    }
  }

  /// The contents of a checkpoint, fixed when it froze the write buffer.
  struct Frozen {
    var buffer: BufferState
    var transaction: UInt64
    var replay: ReplayPosition
  }

  /// Replaces the full write buffer with a new one. Holds the writer lock for microseconds.
  private func freeze(isForced: Bool) throws(Fault) -> Frozen? {
    // A commit whose sync failed is still in memory and must not be published. And a store that
    // cannot write needs no checkpoint.
    try log.checkWriting()
    // Flush most of the log before taking the lock, so that it is held for microseconds only. If
    // threads commit synchronously without a pause, it is held for a sync of their commits since.
    try log.flush(through: log.committedPosition, durable: isSyncAwaited)
    lockForService()
    defer { unlockForService() }
    try rollBackUnwritten()
    // `pendingBytes` counts frames of aborted transactions too: they are useless, but a replay has
    // to read them.
    if head.active.isEmpty, head.pendingBytes == 0, !isForced, !log.needsCheckpoint { return nil }
    // Readers see the whole frozen buffer from here on.
    try log.flush(through: log.writer.position, durable: isSyncAwaited)
    let frozen = Frozen(buffer: head.active, transaction: head.transaction, replay: log.writer.replayPosition)
    head.number += 1
    head.active = BufferState()
    frozenBytes.store(head.pendingBytes, ordering: .relaxed)
    head.pendingBytes = 0
    pendingBytes.store(0, ordering: .relaxed)
    swap { old in makeVersion(head, base: old.base, frozen: frozen.buffer, hold: old.hold) }
    unfinished = frozen
    return frozen
  }

  /// Whether there is a synchronous commit that is not durable yet.
  private var isSyncAwaited: Bool { synchronousEnd.load(ordering: .relaxed) > log.durableThrough }

  /// Writes the next base tree and makes it durable with all of the log before it. The log is
  /// verified first, so that a damaged operation does not get a new checksum.
  private func merge(_ frozen: Frozen) throws(Fault) -> (root: Subtree?, dead: DeadSpace) {
    let base = try current().base
    var dead = DeadSpace()
    let log = log
    let reading = log.view.hold()
    defer { withExtendedLifetime(reading) {} }
    try log.proveFrames(from: punching.withLock { $0.replay }, to: frozen.replay.offset)
    var regions: [Range<UInt64>] = []
    do throws(Fault) {
      let root = try BufferMerge.run(
        frozen.buffer, into: base, file: log.view, nodeSize: options.nodeSize,
        transaction: frozen.transaction, leaving: &dead,
        reserve: { (length) throws(Fault) in
          let offset = try reserve(length)
          regions.append(offset..<offset + UInt64(length))
          return offset
        },
        write: { (bytes, offset) throws(Fault) in try log.writeNodes(bytes, at: offset) })
      try log.syncNodes()
      return (root, dead)
    } catch {
      if error.kind == .outOfSpace { discard(regions) }
      throw error
    }
  }

  /// Appends the checkpoint of the new tree, and writes a root slot that names it.
  private func conclude(_ frozen: Frozen, _ root: Subtree?, _ dead: DeadSpace) throws(Fault) {
    let checkpoint = try append(
      CheckpointRecord(
        root: root, replay: frozen.replay, transaction: frozen.transaction, time: environment.now(),
        previousCheckpoint: lastCheckpoint.load(ordering: .relaxed)))
    try log.writeSlot(naming: checkpoint)
    lastCheckpoint.store(checkpoint.offset, ordering: .relaxed)
    backgroundFailure.withLock { $0 = nil }
    release(dead, by: checkpoint)
    install(root, of: frozen)
  }

  /// Publishes the new tree, which replaces the old one and the frozen buffer.
  private func install(_ root: Subtree?, of frozen: Frozen) {
    lockForService()
    defer { unlockForService() }
    unfinished = nil
    liveBytes.store(root?.liveBytes ?? 0, ordering: .relaxed)
    fitReserve()
    let (log, hold) = (log, holdOfNextBase())
    log.needRecords(from: frozen.replay.offset)
    swap { old in
      Version(
        number: old.number, transaction: old.transaction, base: root, active: old.active, frozen: nil,
        known: old.known, file: log.view, mapping: log.use, registry: registry, hold: hold)
    }
  }

  private func append(_ record: CheckpointRecord) throws(Fault) -> AppendedCheckpoint {
    lockForService()
    defer { unlockForService() }
    return try log.writer.appendCheckpoint(record)
  }

  private func reserve(_ length: Int) throws(Fault) -> UInt64 {
    lockForService()
    defer { unlockForService() }
    return try log.writer.reserveNodes(length: length)
  }

  func lockForService() {
    services.begin()
    writer.lock()
  }

  func unlockForService() {
    writer.unlock()
    services.end()
  }

  // MARK: Sealing

  /// Schedules a seal half a second after a synchronous commit, which records that the commit is
  /// durable.
  func sealLater() {
    guard options.checkpointsInBackground,
      sealScheduled.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing)
        .exchanged
    else { return }
    checkpointQueue.asyncAfter(deadline: .now() + .milliseconds(500)) { [weak self] in
      guard let self else { return }
      sealScheduled.store(false, ordering: .releasing)
      guard !closed.load(ordering: .relaxed) else { return }
      seal()
    }
  }

  private func seal() {
    lockForService()
    defer { unlockForService() }
    guard !closed.load(ordering: .relaxed) else { return }
    writeSeal()
  }

  /// Appends a seal. Best effort: a missing seal does no harm. Under the writer lock.
  private func writeSeal() {
    do throws(Fault) {
      try log.writer.appendSeal()
      try log.flush(through: log.writer.position, durable: false)
    } catch {
      return
    }
  }

  // MARK: Closing

  /// Closes the store and its snapshots, whose reads throw from here on. Idempotent.
  func close() throws(Fault) {
    try refuseInsideCompaction("the store was closed")
    lockForService()
    let wasClosed = closed.exchange(true, ordering: .acquiringAndReleasing)
    unlockForService()
    if wasClosed { return }
    compaction.close()
    var failure: Fault?
    if !isReadOnly, !log.isPoisoned {
      do throws(Fault) {
        try checkpoint(isForced: false)
        try log.syncNodes()
        lockForService()
        writeSeal()
        unlockForService()
      } catch {
        failure = error
      }
    }
    checkpointing.lock()
    published.clear()
    snapshots.closeAll()
    log.close()
    checkpointing.unlock()
    if let failure { throw failure }
  }
}
