import Dispatch
import LatewoodBytes
import LatewoodFile
import Synchronization

/// The urgency of a scheduled compaction: none, once nobody has committed for a while, or now.
enum CompactionUrgency: UInt8, AtomicRepresentable {
  case none, whenQuiet, now
}

/// The record of automatic compactions that failed one after the other.
struct CompactionAttempts {
  /// The error of the last one.
  private(set) var failure: Fault?
  private var failures: UInt64 = 0
  private var next: UInt64 = 0

  /// Whether another may be tried. A compaction that failed will often fail again, at the same
  /// cost.
  ///
  /// - Parameter committed: number of bytes of log written by commits so far.
  func mayTry(at committed: UInt64) -> Bool { committed >= next }

  /// Records a failure. The next attempt waits until `step` more bytes are committed, and the one
  /// after it for twice as many.
  mutating func fail(_ fault: Fault, at committed: UInt64, step: UInt64) {
    failure = fault
    next = committed + max(step, 1) << min(failures, 10)
    failures += 1
  }
}

/// The decision to compact automatically; see `CompactionPolicy`.
extension Engine {
  /// The sizes on which the policy decides.
  struct Occupancy {
    /// The number of bytes that the file takes on the disk, without holes.
    var size: UInt64
    /// The size of the file in bytes, including holes.
    var apparent: UInt64
    var live: UInt64
    /// The number of bytes of log that are not in a checkpoint yet.
    var log: UInt64
    /// The number of bytes appended since the newest checkpoint: log that is not in a checkpoint
    /// yet, and the part of the next tree that is already written. As many bytes will be dead after
    /// the next checkpoint.
    var recent: UInt64

    /// The fraction of bytes that are dead now.
    var deadShare: Double { share(of: live + recent) }
    /// The fraction of bytes that a compaction would give back.
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

  /// Schedules a compaction if the policy asks for one: at once, or when nobody has committed for
  /// the quiet time. Cheap when there is nothing to do.
  func compactLater() {
    let scheduled = compactionScheduled.load(ordering: .relaxed)
    guard options.compaction.isAutomatic, options.checkpointsInBackground, !isReadOnly,
      !closed.load(ordering: .relaxed), scheduled != .now
    else { return }
    guard let share = wantedShare(), !compaction.isRunning else { return }
    // An urgent compaction does not wait for the quiet time of one that is already scheduled.
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

  /// Calls `compactLater` once for each `minimumSize` of log.
  func considerCompaction(at end: UInt64) {
    let last = compactionConsidered.load(ordering: .relaxed)
    guard end < last || end - last >= options.compaction.minimumSize else { return }
    compactionConsidered.store(end, ordering: .relaxed)
    compactLater()
  }

  /// A number that changes with every commit.
  private var committedCount: UInt64 { log.committedPosition.offset }

  /// The dead fraction if the policy wants a compaction, now or after the quiet time; otherwise
  /// nil.
  private func wantedShare() -> Double? {
    do throws(Fault) {
      let committed = committedBytes.load(ordering: .relaxed)
      guard compactionAttempts.withLock({ $0.mayTry(at: committed) }) else { return nil }
      let occupancy = try occupancy()
      if wouldRelieve(occupancy) { return 1 }
      guard occupancy.size >= options.compaction.minimumSize else { return nil }
      if isTooLarge(occupancy) { return 1 }
      if occupancy.deadShare >= options.compaction.urgentDeadShare { return occupancy.deadShare }
      // 0 is below every urgent fraction.
      return occupancy.removableShare >= options.compaction.deadShare ? 0 : nil
    } catch {
      // The file has been closed meanwhile, or its size cannot be read: nothing to compact.
      return nil
    }
  }

  /// The bounds that `CompactionPolicy` promises for the whole of a store, in bytes, less a margin
  /// for what its files preallocate.
  private func bounds(live: UInt64) -> (allocated: UInt64, apparent: UInt64) {
    let past = UInt64(min(options.wholeCheckpoints - 1, 1000)) * live
    return (3 * live + past + 24 << 20, 8 * live + past + 56 << 20)
  }

  /// Whether the file is about to exceed its bounds.
  ///
  /// Until a compaction has ended, a checkpoint may add a tree to the file, writers as much log as
  /// `measureSpare` and `beginLag` let them, and the new file is another copy. On the disk, the
  /// tree and the log of a checkpoint are given back before the copy is made.
  private func isTooLarge(_ occupancy: Occupancy) -> Bool {
    guard collectsDead else { return false }
    let live = occupancy.live
    let bounds = bounds(live: live)
    let tree = occupancy.apparent - min(occupancy.apparent, occupancy.log)
    if tree + live / 2 * 7 + 36 << 20 >= bounds.apparent { return true }
    // The dead blocks of a running checkpoint have not been given back yet.
    guard frozenBytes.load(ordering: .relaxed) == 0 else { return false }
    return occupancy.size - min(occupancy.size, occupancy.recent) + live / 5 * 7 + 8 << 20 >= bounds.allocated
  }

  /// The number of bytes that may still be allocated for log, beside the present file and the next
  /// tree or compacted file, within the bounds; 0 if that cannot be told.
  func spare() -> UInt64 {
    guard options.compaction.isAutomatic, collectsDead else { return 0 }
    do throws(Fault) {
      let occupancy = try occupancy()
      let taken = occupancy.size + occupancy.live
      let bound = bounds(live: occupancy.live).allocated
      return bound - min(bound, taken)
    } catch {
      return 0
    }
  }

  /// Sets how much log may gather until the next checkpoint has ended. Right after a checkpoint,
  /// when its dead blocks have been given back.
  func measureSpare() {
    let pending = pendingBytes.load(ordering: .relaxed)
    spareBytes.store(spare() + pending, ordering: .relaxed)
  }

  private func compactInBackground(_ urgency: CompactionUrgency) {
    do throws(Fault) {
      guard !closed.load(ordering: .relaxed), wantedShare() != nil else { return }
      if urgency == .whenQuiet {
        // A checkpoint gives back blocks without a copy; then see how much is left.
        try checkpoint(isForced: false)
        guard wantedShare() != nil else { return }
      }
      let report = try compact(
        bytesPerSecond: options.compaction.bytesPerSecond, isAutomatic: true, nil)
      // The next compaction waits, as after a failure.
      if report.isInPlace { throw Fault(.outOfSpace, "there is no space for a compacted file") }
      // Values replaced meanwhile are already dead in the new file.
      compactLater()
    } catch {
      guard error.kind != .cancelled, error.kind != .closed else { return }
      let committed = committedBytes.load(ordering: .relaxed)
      let step = options.compaction.minimumSize
      compactionAttempts.withLock { $0.fail(error, at: committed, step: step) }
    }
  }
}
