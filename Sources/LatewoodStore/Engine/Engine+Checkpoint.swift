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

  /// Merges what the write buffer holds into the base tree, so that recovery starts from here.
  ///
  /// - Parameters:
  ///   - isForced: also when nothing was committed since the last one.
  ///   - givesBack: dead blocks go back to the file system then. Otherwise they wait for the next
  ///     checkpoint.
  func checkpoint(isForced: Bool, givesBack: Bool = true) throws(Fault) {
    checkpointing.lock()
    defer { checkpointing.unlock() }
    try writeCheckpoint(isForced: isForced)
    if givesBack { try punchDead() }
    frozenBytes.store(0, ordering: .relaxed)
    if givesBack { compactLater() }
  }

  private func writeCheckpoint(isForced: Bool) throws(Fault) {
    var isForced = isForced
    try takeBackUnwritten()
    while true {
      // One that failed (a full disk) has left its frozen buffer: it goes first.
      let left = unfinished
      var next = left
      if next == nil { next = try freeze(isForced: isForced) }
      guard let frozen = next else { return }
      let (root, dead) = try merge(frozen)
      do throws(Fault) {
        try conclude(frozen, root, dead)
        if left == nil { return }
      } catch {
        // The log began anew after this buffer was frozen, so no checkpoint may send a reader to
        // where it was. Its tree is as good as any to build on: the next one, of everything, is
        // what the log waits for.
        guard error.kind == .unsupported else { throw error }
        keepDead(dead)
        install(root)
        isForced = true
      }
    }
  }

  /// What a checkpoint holds, fixed at the moment it froze the write buffer.
  struct Frozen {
    var buffer: BufferState
    var transaction: UInt64
    var replay: ReplayPosition
  }

  /// Puts a new write buffer in the place of the full one. Microseconds, under the writer lock.
  private func freeze(isForced: Bool) throws(Fault) -> Frozen? {
    // A commit whose sync failed is in memory still: it must not be published, nor does a store
    // that cannot write need a checkpoint.
    try log.checkWriting()
    // Most of what waits goes to the file, or to the disk, before the lock is taken, so that it is
    // held for microseconds; where threads commit synchronously without a pause, for a sync of what
    // they have committed since.
    try log.flush(through: log.committedPosition, durable: isSyncAwaited)
    lockForService()
    defer { unlockForService() }
    try rollBackUnwritten()
    // Frames of transactions that were given up are of no use, but a replay has to pass them.
    if head.active.isEmpty, head.pendingBytes == 0, !isForced, !log.needsCheckpoint { return nil }
    // Readers see all that is frozen from here on.
    try log.flush(through: log.position, durable: isSyncAwaited)
    let frozen = Frozen(buffer: head.active, transaction: head.transaction, replay: log.replayPosition)
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

  /// Writes the next base tree and makes it durable, and all of the log before it, which is proved
  /// first: an operation that is no longer what was written must not get a new checksum.
  private func merge(_ frozen: Frozen) throws(Fault) -> (root: Subtree?, dead: DeadSpace) {
    let base = try current().base
    var dead = DeadSpace()
    let log = log
    try log.proveFrames(from: punching.withLock { $0.replay }, to: frozen.replay.offset)
    let root = try BufferMerge.run(
      frozen.buffer, into: base, file: log.view, nodeSize: options.nodeSize, transaction: frozen.transaction,
      leaving: &dead,
      reserve: { (length) throws(Fault) in try reserve(length) },
      write: { (bytes, offset) throws(Fault) in try log.writeNodes(bytes, at: offset) })
    try log.syncNodes()
    return (root, dead)
  }

  /// Names the new tree in the file.
  private func conclude(_ frozen: Frozen, _ root: Subtree?, _ dead: DeadSpace) throws(Fault) {
    let checkpoint = try append(
      CheckpointRecord(
        root: root, replay: frozen.replay, transaction: frozen.transaction, time: environment.now(),
        previousCheckpoint: lastCheckpoint.load(ordering: .relaxed)))
    try log.writeSlot(naming: checkpoint)
    lastCheckpoint.store(checkpoint.offset, ordering: .relaxed)
    backgroundFailure.withLock { $0 = nil }
    release(dead, by: checkpoint)
    install(root)
  }

  /// Lets readers see the new tree in the place of the old one and the frozen buffer.
  private func install(_ root: Subtree?) {
    lockForService()
    defer { unlockForService() }
    unfinished = nil
    liveBytes.store(root?.liveBytes ?? 0, ordering: .relaxed)
    let (log, hold) = (log, holdOfNextBase())
    swap { old in
      Version(
        number: old.number, transaction: old.transaction, base: root, active: old.active, frozen: nil,
        known: old.known, file: log.view, mapping: log.use, registry: registry, hold: hold)
    }
  }

  private func append(_ record: CheckpointRecord) throws(Fault) -> AppendedCheckpoint {
    lockForService()
    defer { unlockForService() }
    return try log.appendCheckpoint(record)
  }

  private func reserve(_ length: Int) throws(Fault) -> UInt64 {
    lockForService()
    defer { unlockForService() }
    return try log.reserveNodes(length: length)
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

  /// Appends a seal some time after the last synchronous commit, so that its durability is on
  /// record too.
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

  /// Best effort: a seal that cannot be written is only one that is missing. Under the writer lock.
  private func writeSeal() {
    do throws(Fault) {
      try log.appendSeal()
      try log.flush(through: log.position, durable: false)
    } catch {
      return
    }
  }

  // MARK: Closing

  /// Idempotent. Snapshots are told: their reads throw from here on.
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
