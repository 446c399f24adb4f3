import Dispatch
import LatewoodBytes
import LatewoodConcurrency
import LatewoodFile
import LatewoodTree

extension Engine {
  // MARK: The decision to compact automatically; see `CompactionPolicy`

  /// Schedules a compaction if the policy requires one: now, or after the quiet time without
  /// commits. Cheap when there is nothing to do.
  func scheduleCompaction() {
    let scheduled = schedule.urgency
    guard options.compaction.isAutomatic, options.checkpointsInBackground, !isReadOnly, !isClosed,
      scheduled != .now, let share = wantedShare(), !compaction.isRunning
    else { return }
    let urgency: CompactionUrgency = share >= options.compaction.urgentDeadShare ? .now : .whenQuiet
    guard urgency != scheduled else { return }
    let commits = committedCount
    let delay = urgency == .now ? 0 : options.compaction.quietTime
    schedule.schedule(urgency, instead: scheduled, after: delay) { [weak self] in
      guard let self else { return }
      if urgency == .now || commits == committedCount {
        compactInBackground(urgency)
      } else {
        scheduleCompaction()
      }
    }
  }

  /// Calls `scheduleCompaction` once for each `minimumSize` of log.
  func considerCompaction(at end: UInt64) {
    if schedule.shouldConsider(at: end, step: options.compaction.minimumSize) { scheduleCompaction() }
  }

  /// A number that changes with every commit.
  private var committedCount: UInt64 { file.committedPosition.offset }

  /// Returns the dead fraction if the policy requires a compaction, now or after the quiet time;
  /// otherwise nil.
  private func wantedShare() -> Double? {
    do throws(StorageError) {
      guard schedule.mayTry(at: pacer.committedBytes) else { return nil }
      let occupancy = try occupancy()
      if wouldRelieve(occupancy) { return 1 }
      guard occupancy.size >= options.compaction.minimumSize else { return nil }
      if reclaimer.isCollecting,
        occupancy.isTooLarge(bounds(of: occupancy), isGivingBack: pacer.frozenBytes > 0)
      {
        return 1
      }
      if occupancy.deadShare >= options.compaction.urgentDeadShare { return occupancy.deadShare }
      // 0 is less than every urgent fraction.
      return occupancy.removableShare >= options.compaction.deadShare ? 0 : nil
    } catch {
      // The file has been closed, or its size cannot be read: nothing to compact.
      return nil
    }
  }

  func occupancy() throws(StorageError) -> Occupancy {
    let (file, checkpoint) = currentFile.fileAndCheckpoint
    let size = try file.device.size()
    let allocated = try file.device.allocatedSize()
    let live = try versions.current().base?.liveBytes ?? 0
    let end = file.committedPosition.offset
    let reclaimable = hooks.preparation?.reclaimable() ?? 0
    return Occupancy(
      size: min(size, allocated), apparent: size, live: min(size, live - min(live, reclaimable)),
      log: pacer.pendingBytes + pacer.frozenBytes,
      recent: max(pacer.pendingBytes, end - min(end, checkpoint)))
  }

  private func bounds(of occupancy: Occupancy) -> SpaceBounds {
    SpaceBounds(live: occupancy.live, wholeCheckpoints: options.wholeCheckpoints)
  }

  /// Returns the number of bytes that may still be allocated for log within the bounds, besides the
  /// current file and the next tree or compacted file; 0 if that is unknown.
  func spare() -> UInt64 {
    guard options.compaction.isAutomatic, reclaimer.isCollecting else { return 0 }
    do throws(StorageError) {
      let occupancy = try occupancy()
      return occupancy.spare(within: bounds(of: occupancy))
    } catch {
      return 0
    }
  }

  /// Sets the limit on log until the end of the next checkpoint. Called right after a checkpoint,
  /// when its dead blocks have been reclaimed.
  func measureSpare() { pacer.setSpare(spare()) }

  private func compactInBackground(_ urgency: CompactionUrgency) {
    do throws(StorageError) {
      guard !isClosed, wantedShare() != nil else { return }
      if urgency == .whenQuiet {
        // A checkpoint reclaims blocks without a copy; then measure again.
        try checkpoint(isForced: false)
        guard wantedShare() != nil else { return }
      }
      let report = try compact(
        bytesPerSecond: options.compaction.bytesPerSecond, isAutomatic: true, nil)
      // The next compaction waits, as after a failure.
      if report.isInPlace { throw StorageError(.outOfSpace, "there is no space for a compacted file") }
      // Values replaced meanwhile are already dead in the new file.
      scheduleCompaction()
    } catch {
      guard error.kind != .cancelled, error.kind != .closed else { return }
      schedule.didFail(error, at: pacer.committedBytes, step: options.compaction.minimumSize)
    }
  }

  // MARK: Running one

  /// Runs a compaction on this thread, or waits for the running one.
  ///
  /// - Parameter isAutomatic: whether the policy started it. Then it obeys the bounds of
  ///   `CompactionPolicy`, and writers wait longer.
  func compact(
    bytesPerSecond: UInt64?, isAutomatic: Bool = false, unless isCancelled: () -> Bool = { false },
    _ progress: ((CompactionProgress) -> Void)?
  ) throws(StorageError) -> CompactionReport {
    if isReadOnly { throw StorageError(.readOnly, "the store was opened read-only") }
    return try rewrite(
      joins: true, isAutomatic: isAutomatic, unless: isCancelled, bytesPerSecond, progress,
      into: { () throws(StorageError) in try file.createReplacement() })
  }

  /// Writes the newest state into a separate file, on this thread.
  func copy(
    to path: String, bytesPerSecond: UInt64?, _ progress: ((CompactionProgress) -> Void)?
  ) throws(StorageError) -> CompactionReport {
    try rewrite(
      joins: false, isAutomatic: false, unless: { false }, bytesPerSecond, progress,
      into: { () throws(StorageError) in try file.createCopy(at: path) })
  }

  private func rewrite(
    joins: Bool, isAutomatic: Bool, unless isCancelled: () -> Bool, _ bytesPerSecond: UInt64?,
    _ progress: ((CompactionProgress) -> Void)?, into create: () throws(StorageError) -> DatabaseFile
  ) throws(StorageError) -> CompactionReport {
    try checkOpen()
    try refuseInsideCompaction("a compaction or copy was requested")
    if let report = try compaction.begin(joins: joins, isAutomatic: isAutomatic, unless: isCancelled) {
      return report
    }
    let result: Result<CompactionReport, StorageError>
    do throws(StorageError) {
      result = .success(
        try runRewriting(
          holdsWriters: joins, isAutomatic: isAutomatic, bytesPerSecond, progress, into: create))
    } catch {
      do throws(StorageError) {
        guard joins, error.kind == .outOfSpace else { throw error }
        result = .success(
          try withReserve(orElse: { () throws(StorageError) in try reclaimInPlace(insteadOf: error) }) {
            () throws(StorageError) in
            // At full speed, because transactions wait.
            try runRewriting(
              holdsWriters: joins, isAutomatic: isAutomatic, isPrepared: true, nil, progress, into: create)
          })
      } catch {
        result = .failure(error)
      }
    }
    replaced.scheduleRelease()
    compaction.end(result)
    return try result.get()
  }

  /// Pauses the running compaction and later ones, or lets them continue. Writers do not wait for a
  /// paused compaction.
  func setCompactionPaused(_ isPaused: Bool) {
    compaction.setPaused(isPaused)
    pacer.lag.setPaused(isPaused)
    pacer.wake()
    disk.loan.wake()
  }

  private func runRewriting(
    holdsWriters: Bool, isAutomatic: Bool, isPrepared: Bool = false, _ bytesPerSecond: UInt64?,
    _ progress: ((CompactionProgress) -> Void)?,
    into create: () throws(StorageError) -> DatabaseFile
  ) throws(StorageError) -> CompactionReport {
    let began = MonotonicClock.nanoseconds
    try compaction.waitWhilePaused()
    // Wait for a running checkpoint: transactions that it merges need not be followed.
    if isAutomatic { checkpointer.exclude {} }
    // Writers that are faster than the compaction are slowed down from now on, or it might never
    // end.
    if holdsWriters { beginLag(isAutomatic: isAutomatic) }
    defer {
      pacer.lag.end()
      pacer.wake()
    }
    // Fail early if the new file cannot get the owner and attributes of the old one.
    if holdsWriters { try file.checkReplaceable() }
    if holdsWriters, !isPrepared, let preparation = hooks.preparation { try preparation.run() }
    // A checkpoint, so that the tree is complete and few transactions must be followed. Reclaiming
    // blocks of a file that will soon be replaced would take half as long as its compaction and
    // delay every commit, which is only worthwhile to obey the bounds on space. A file that was
    // moved away gets no more checkpoints; its log is followed from the last one.
    let isFirst = currentFile.checkpoint == 0
    let isWorthIt = !isAutomatic || pacer.pendingBytes >= pacer.checkpointThreshold / 4
    if !isReadOnly, !file.isMoved, isFirst || isWorthIt {
      do throws(StorageError) {
        try checkpoint(isForced: isFirst, reclaims: isAutomatic || !holdsWriters)
      } catch {
        // The checkpoint may be the first to notice that the file was moved away.
        if holdsWriters || error.kind != .fileMoved { throw error }
      }
    }
    let (version, start) = try newestTree()
    let (old, new) = (file, try create())
    var report: CompactionReport
    do throws(StorageError) {
      let run = try CompactionRun(
        self, from: start, into: new, bytesPerSecond: bytesPerSecond, progress)
      report = try run.run(keeping: version)
    } catch {
      new.discard()
      guard error.kind == .fileMoved, !file.isMoved else { throw error }
      throw StorageError(
        .inputOutput, "the new file was removed while it was being written", path: error.path)
    }
    replaced.keep(old, version)
    report.duration = (MonotonicClock.nanoseconds - began) / 1000
    var last = compaction.progress ?? CompactionProgress()
    last.fraction = 1
    last.deadBytes = 0
    progress?(last)
    return report
  }

  private func beginLag(isAutomatic: Bool) {
    // Writers can get ahead by at most twice `least`, and both files contain that log. It must not
    // be enough to start a checkpoint, which would add another tree.
    let part = min(spare() / 8, UInt64(options.writeBufferBudget) / 4 * 3)
    pacer.lag.begin(
      at: pacer.committedBytes, live: pacer.liveBytes,
      divisor: isAutomatic ? 32 : 8,
      least: isAutomatic ? max(3 << 20, part) : WritePacer.leastThreshold,
      isBounded: isAutomatic)
  }

  /// Returns the newest checkpoint, and a version that keeps its tree mapped and prevents it, and
  /// the log from its replay offset on, from being reclaimed.
  private func newestTree() throws(StorageError) -> (Version, CheckpointRecord) {
    try checkpointer.exclude { () throws(StorageError) in
      let version = try versions.current()
      // A read-only store may have no checkpoint yet: everything is in the log.
      let start = try newestCheckpoint()
      return (
        version,
        start ?? CheckpointRecord(root: nil, replay: .start, transaction: 0, time: 0, previousCheckpoint: 0)
      )
    }
  }

  /// Writes the first checkpoint of a new file, refers to it in both root slots, and publishes its
  /// tree. Both slots must refer to it, because the log before it does not have these entries.
  func begin(with root: Subtree?, transaction: UInt64) throws(StorageError) {
    try file.flush(through: file.writer.position, durable: false)
    try file.syncNodes()
    let checkpoint = try file.writer.appendCheckpoint(
      CheckpointRecord(
        root: root, replay: file.writer.replayPosition, transaction: transaction, time: environment.now(),
        previousCheckpoint: 0, isCompaction: true))
    for _ in 0..<2 { try file.writeSlot(naming: checkpoint) }
    currentFile.didWriteCheckpoint(at: checkpoint.offset)
    pacer.didInstall(live: root?.liveBytes ?? 0)
    var next = head.newest
    next.transaction = transaction
    next.number += 1
    head.replace(with: next)
    let pin = reclaimer.start(from: checkpoint.offset, replay: checkpoint.record.replay, isOwn: true)
    versions.publish(next, base: root, frozen: nil, pin: pin)
  }

  /// Throws if the store cannot switch to another file now. Under the writer lock.
  func checkSwitch() throws(StorageError) {
    try checkOpen()
    try file.checkWriting()
    if file.isOutOfSpace || file.needsCheckpoint { throw StorageError(.outOfSpace, "the disk is full") }
  }
}

/// The sizes on which the decisions of the compaction policy are based.
struct Occupancy {
  /// The number of bytes that the file occupies on the disk, without holes.
  var size: UInt64
  /// The size of the file in bytes, including holes.
  var apparent: UInt64
  var live: UInt64
  /// The number of bytes of log that are not in a checkpoint yet.
  var log: UInt64
  /// The number of bytes appended since the newest checkpoint: log that is not in a checkpoint yet,
  /// and the part of the next tree that has been written. The next checkpoint makes as many bytes
  /// dead.
  var recent: UInt64

  /// The fraction of bytes that are dead now.
  var deadShare: Double { share(of: live + recent) }
  /// The fraction of bytes that a compaction would remove.
  var removableShare: Double { share(of: live) }

  private func share(of needed: UInt64) -> Double {
    size > needed ? Double(size - needed) / Double(size) : 0
  }

  /// Whether the file is about to exceed its bounds.
  ///
  /// Until the end of a compaction, a checkpoint may add a tree to the file, writers may add as
  /// much log as `Engine.measureSpare` and `Engine.beginLag` allow, and the new file is another
  /// copy. On the disk, the tree and the log of a checkpoint are reclaimed before the copy is
  /// written.
  ///
  /// - Parameter isGivingBack: whether the dead blocks of a checkpoint are still being reclaimed.
  func isTooLarge(_ bounds: SpaceBounds, isGivingBack: Bool) -> Bool {
    let tree = apparent - min(apparent, log)
    if tree + live / 2 * 7 + 36 << 20 >= bounds.apparent { return true }
    if isGivingBack { return false }
    return size - min(size, recent) + live / 5 * 7 + 8 << 20 >= bounds.allocated
  }

  /// Returns the number of bytes that may still be allocated for log, besides the current file and
  /// the next tree or compacted file.
  func spare(within bounds: SpaceBounds) -> UInt64 { bounds.allocated - min(bounds.allocated, size + live) }
}

/// The bounds that `CompactionPolicy` promises for all files of a store, in bytes, less a margin
/// for preallocated space.
struct SpaceBounds {
  let allocated: UInt64
  let apparent: UInt64

  /// - Parameters:
  ///   - live: number of live bytes.
  ///   - wholeCheckpoints: number of checkpoints that stay complete.
  init(live: UInt64, wholeCheckpoints: Int) {
    let past = UInt64(min(wholeCheckpoints - 1, 1000)) * live
    allocated = 3 * live + past + 24 << 20
    apparent = 8 * live + past + 56 << 20
  }
}
