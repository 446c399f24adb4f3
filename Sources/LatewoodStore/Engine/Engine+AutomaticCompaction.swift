import Dispatch
import LatewoodBytes
import LatewoodFile
import Synchronization

/// What is scheduled: a compaction once nobody has committed for a while, or one at once.
enum CompactionUrgency: UInt8, AtomicRepresentable {
  case none, whenQuiet, now
}

/// Automatic compactions that failed, one after the other.
struct CompactionAttempts {
  /// Why the last one did.
  private(set) var failure: Fault?
  private var failures: UInt64 = 0
  private var next: UInt64 = 0

  /// Whether another may be tried: what failed once will often fail again, at the same cost.
  ///
  /// - Parameter committed: bytes of log that commits have written so far.
  func mayTry(at committed: UInt64) -> Bool { committed >= next }

  /// The next one waits until so many bytes are committed, and the one after it for twice as many.
  mutating func fail(_ fault: Fault, at committed: UInt64, step: UInt64) {
    failure = fault
    next = committed + max(step, 1) << min(failures, 10)
    failures += 1
  }
}

/// When the file is compacted by itself: `CompactionPolicy`.
extension Engine {
  /// Sizes that the policy goes by.
  struct Occupancy {
    /// Bytes on the disk: holes take none.
    var size: UInt64
    /// Bytes of the file, holes and all.
    var apparent: UInt64
    var live: UInt64
    /// Bytes of log that no checkpoint holds yet.
    var log: UInt64
    /// Bytes that were appended since the newest checkpoint: log that none holds yet, and what one
    /// that is being written has of its tree. As much will be dead once it is there.
    var recent: UInt64

    /// Share of bytes that are dead now.
    var deadShare: Double { share(of: live + recent) }
    /// Share of bytes that a compaction would give back.
    var removableShare: Double { share(of: live) }

    private func share(of needed: UInt64) -> Double {
      size > needed ? Double(size - needed) / Double(size) : 0
    }
  }

  func occupancy() throws(Fault) -> Occupancy {
    let log = log
    let size = try log.device.size()
    let allocated = try log.device.allocatedSize()
    let live = try current().base?.liveBytes ?? 0
    let (end, checkpoint) = (log.committedPosition.offset, lastCheckpoint.load(ordering: .relaxed))
    let reclaimable = preparation.withLock { $0 }?.reclaimable() ?? 0
    return Occupancy(
      size: min(size, allocated), apparent: size, live: min(size, live - min(live, reclaimable)),
      log: pendingBytes.load(ordering: .relaxed) + frozenBytes.load(ordering: .relaxed),
      recent: max(pendingBytes.load(ordering: .relaxed), end - min(end, checkpoint)))
  }

  /// Compacts if the policy wants that: at once, or when nobody has committed for its quiet time.
  /// Costs next to nothing when there is nothing to do.
  func compactLater() {
    let scheduled = compactionScheduled.load(ordering: .relaxed)
    guard options.compaction.isAutomatic, options.checkpointsInBackground, !isReadOnly,
      !closed.load(ordering: .relaxed), scheduled != .now
    else { return }
    guard let share = wantedShare(), !compaction.isRunning else { return }
    // What has become urgent meanwhile does not wait for the quiet time of what was not.
    let urgency: CompactionUrgency = share >= options.compaction.urgentDeadShare ? .now : .whenQuiet
    guard urgency != scheduled,
      compactionScheduled.compareExchange(
        expected: scheduled, desired: urgency, ordering: .acquiringAndReleasing
      ).exchanged
    else { return }
    let commits = committedCount
    let delay = urgency == .now ? 0 : options.compaction.quietTime
    compactionQueue.asyncAfter(deadline: .now() + delay) { [weak self] in
      guard let self,
        compactionScheduled.compareExchange(
          expected: urgency, desired: .none, ordering: .acquiringAndReleasing
        ).exchanged
      else { return }
      if urgency == .now || commits == committedCount { compactInBackground(urgency) } else { compactLater() }
    }
  }

  /// Asks the policy once for each `minimumSize` of log.
  func considerCompaction(at end: UInt64) {
    let last = compactionConsidered.load(ordering: .relaxed)
    guard end < last || end - last >= options.compaction.minimumSize else { return }
    compactionConsidered.store(end, ordering: .relaxed)
    compactLater()
  }

  /// Commits so far, or something else that changes with each.
  private var committedCount: UInt64 { log.committedPosition.offset }

  /// The share of dead bytes, if it is one that the policy acts on, now or after a quiet time.
  private func wantedShare() -> Double? {
    do throws(Fault) {
      let committed = committedBytes.load(ordering: .relaxed)
      guard compactionAttempts.withLock({ $0.mayTry(at: committed) }) else { return nil }
      let occupancy = try occupancy()
      guard occupancy.size >= options.compaction.minimumSize else { return nil }
      if isTooLarge(occupancy) { return 1 }
      if occupancy.deadShare >= options.compaction.urgentDeadShare { return occupancy.deadShare }
      // Not urgent, whatever it is.
      return occupancy.removableShare >= options.compaction.deadShare ? 0 : nil
    } catch {
      // A file that has been closed meanwhile, or cannot be asked: nothing to compact.
      return nil
    }
  }

  /// Whether a file that is overwritten at full speed is about to pass the bounds that
  /// `CompactionPolicy` promises.
  ///
  /// A compaction needs room for another copy, and until it has ended a checkpoint may add a tree
  /// to the file, and writers their log.
  private func isTooLarge(_ occupancy: Occupancy) -> Bool {
    guard collectsDead else { return false }
    let live = occupancy.live
    let past = UInt64(min(options.wholeCheckpoints - 1, 1000)) * live
    if occupancy.apparent - min(occupancy.apparent, occupancy.log) >= 5 * live + past + 24 << 20 {
      return true
    }
    // Until a checkpoint has ended, what it leaves behind has not been given back.
    guard frozenBytes.load(ordering: .relaxed) == 0 else { return false }
    return occupancy.size - min(occupancy.size, occupancy.recent) >= live / 5 * 8 + past + 16 << 20
  }

  private func compactInBackground(_ urgency: CompactionUrgency) {
    do throws(Fault) {
      guard !closed.load(ordering: .relaxed), wantedShare() != nil else { return }
      if urgency == .whenQuiet {
        // It gives back what needs no copy for that, and shows how much is left.
        try checkpoint(isForced: false)
        guard wantedShare() != nil else { return }
      }
      _ = try compact(bytesPerSecond: options.compaction.bytesPerSecond, isAutomatic: true, nil)
      // What was replaced meanwhile is dead in the new file.
      compactLater()
    } catch {
      guard error.kind != .cancelled, error.kind != .closed else { return }
      let committed = committedBytes.load(ordering: .relaxed)
      let step = options.compaction.minimumSize
      compactionAttempts.withLock { $0.fail(error, at: committed, step: step) }
    }
  }
}
