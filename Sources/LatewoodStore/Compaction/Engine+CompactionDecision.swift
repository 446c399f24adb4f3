import Dispatch
import LatewoodBytes
import LatewoodConcurrency
import LatewoodFile
import LatewoodTree

/// The decision to compact automatically; see `CompactionPolicy`.
extension Engine {
  /// Schedules a compaction if the policy requires one: now, or after the quiet time without
  /// commits. Cheap if no compaction is due.
  func scheduleCompaction() {
    let scheduled = schedule.urgency
    guard options.compaction.isAutomatic, options.checkpointsInBackground, !isReadOnly, !isClosed,
      scheduled != .now, let share = deadFractionToCompact(), !compaction.isRunning
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

  /// A number that changes with every commit.
  private var committedCount: UInt64 { file.completedThrough.offset }

  /// Returns the dead fraction if the policy requires a compaction, now or after the quiet time;
  /// otherwise nil.
  private func deadFractionToCompact() -> Double? {
    do throws(StorageError) {
      guard schedule.mayTry(at: pacer.committedBytes) else { return nil }
      let occupancy = try occupancy()
      if wouldFreeSpace(occupancy) { return 1 }
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
      // The file has been closed, or its size cannot be read: do not compact.
      return nil
    }
  }

  func occupancy() throws(StorageError) -> Occupancy {
    let (file, checkpoint) = currentFile.fileAndCheckpoint
    let size = try file.device.size()
    let allocated = try file.device.allocatedSize()
    let live = try versions.current().base?.liveBytes ?? 0
    let end = file.completedThrough.offset
    let reclaimable = hooks.preparation?.reclaimable() ?? 0
    return Occupancy(
      size: min(size, allocated), apparent: size, live: min(size, live - min(live, reclaimable)),
      log: pacer.pendingBytes + pacer.frozenBytes,
      recent: max(pacer.pendingBytes, end - min(end, checkpoint)))
  }

  private func bounds(of occupancy: Occupancy) -> SpaceBounds {
    SpaceBounds(live: occupancy.live, wholeCheckpoints: options.wholeCheckpoints)
  }

  /// Returns the number of bytes that may still be allocated for log within the bounds, in addition
  /// to the current file and the next tree or compacted file; 0 if it is unknown.
  func logHeadroom() -> UInt64 {
    guard options.compaction.isAutomatic, reclaimer.isCollecting else { return 0 }
    do throws(StorageError) {
      let occupancy = try occupancy()
      return occupancy.logHeadroom(within: bounds(of: occupancy))
    } catch {
      return 0
    }
  }

  /// Sets the limit on log until the end of the next checkpoint. Called right after a checkpoint,
  /// when its dead blocks have been reclaimed.
  func measureLogHeadroom() { pacer.setLogHeadroom(logHeadroom()) }

  private func compactInBackground(_ urgency: CompactionUrgency) {
    do throws(StorageError) {
      guard !isClosed, deadFractionToCompact() != nil else { return }
      if urgency == .whenQuiet {
        // A checkpoint reclaims blocks without a copy; then measure again.
        try checkpoint(isForced: false)
        guard deadFractionToCompact() != nil else { return }
      }
      let report = try compact(
        bytesPerSecond: options.compaction.bytesPerSecond, isAutomatic: true, nil)
      // The next compaction waits, as after a failure.
      if report.isInPlace { throw StorageError(.outOfSpace, "a compacted file does not fit on the disk") }
      options.onEvent?(.compactionFinished(report))
      // Values replaced during the compaction are already dead in the new file.
      scheduleCompaction()
    } catch {
      if let failure = recordFailure(error) { options.onEvent?(.compactionFailed(failure)) }
    }
  }

  /// Records that an automatic compaction has failed, so that the next one waits. Returns nil if it
  /// was only cancelled.
  func recordFailure(_ error: StorageError) -> CompactionFailure? {
    guard error.kind != .cancelled, error.kind != .closed else { return nil }
    let attempts = schedule.didFail(
      error, at: pacer.committedBytes, step: options.compaction.minimumSize)
    return CompactionFailure(
      error: StoreError(error, path: path), attempts: attempts.count, bytesUntilRetry: attempts.wait)
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
  /// and the part of the next tree that has been written. The next checkpoint makes the same number
  /// of bytes dead.
  var recent: UInt64

  /// The fraction of bytes that are dead now.
  var deadShare: Double { share(of: live + recent) }
  /// The fraction of bytes that a compaction would remove.
  var removableShare: Double { share(of: live) }

  private func share(of needed: UInt64) -> Double {
    size > needed ? Double(size - needed) / Double(size) : 0
  }

  /// Returns whether the file is about to exceed its bounds.
  ///
  /// Until the end of a compaction, a checkpoint may add a tree to the file, writers may add as
  /// much log as `Engine.measureLogHeadroom` and `Engine.beginLag` allow, and the new file is
  /// another copy. On the disk, the tree and the log of a checkpoint are reclaimed before the copy
  /// is written.
  ///
  /// To the length of the file, without the log that waits for a checkpoint, are added
  /// - 2 × live: the tree of that checkpoint, and the new file;
  /// - live + 24 MiB: the log of that checkpoint, at most what `spare` can return;
  /// - half as much: the log during the compaction, twice an eighth of that, in both files.
  ///
  /// Together these are 3.5 × live + 36 MiB. To the space on the disk, without what the checkpoint
  /// makes dead, are added
  /// - live: the new file;
  /// - 0.4 × live + 8 MiB: the log during the compaction, in both files. The same number of bytes
  ///   is spare when the compaction begins, and that log takes about half of them. But with little
  ///   live data it may reach 2 × 3 MiB in each file; the 4 MiB that exceed 8 MiB are in the margin
  ///   of the bounds.
  ///
  /// - Parameter isGivingBack: whether the dead blocks of a checkpoint are still being reclaimed.
  func isTooLarge(_ bounds: SpaceBounds, isGivingBack: Bool) -> Bool {
    let withoutLog = apparent - min(apparent, log)
    if withoutLog + live / 2 * 7 + (36 << 20) >= bounds.apparent { return true }
    if isGivingBack { return false }
    let withoutDead = size - min(size, recent)
    return withoutDead + live / 5 * 7 + (8 << 20) >= bounds.allocated
  }

  /// Returns the number of bytes that may still be allocated for log, in addition to the current
  /// file and the next tree or compacted file.
  func logHeadroom(within bounds: SpaceBounds) -> UInt64 {
    bounds.allocated - min(bounds.allocated, size + live)
  }
}

/// The bounds that `CompactionPolicy` promises for all files of a store, in bytes, less a margin
/// for preallocated space.
struct SpaceBounds {
  private static let margin: UInt64 = 8 << 20

  let allocated: UInt64
  let apparent: UInt64

  /// - Parameters:
  ///   - live: number of live bytes.
  ///   - wholeCheckpoints: number of checkpoints that stay complete. Each of them except the newest
  ///     may keep another tree, which the promise does not include.
  init(live: UInt64, wholeCheckpoints: Int) {
    let past = UInt64(min(wholeCheckpoints - 1, 1000)) * live
    allocated = 3 * live + past + (32 << 20) - SpaceBounds.margin
    apparent = 8 * live + past + (64 << 20) - SpaceBounds.margin
  }
}
