import LatewoodBytes
import LatewoodFile

/// The decision to compact automatically; see `CompactionPolicy`.
extension Engine {
  func occupancy() throws(Fault) -> Occupancy {
    let (log, checkpoint) = file.logAndCheckpoint
    let size = try log.device.size()
    let allocated = try log.device.allocatedSize()
    let live = try versions.current().base?.liveBytes ?? 0
    let end = log.committedPosition.offset
    let reclaimable = hooks.preparation?.reclaimable() ?? 0
    return Occupancy(
      size: min(size, allocated), apparent: size, live: min(size, live - min(live, reclaimable)),
      log: pacer.pendingBytes + pacer.frozenBytes,
      recent: max(pacer.pendingBytes, end - min(end, checkpoint)))
  }

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
  private var committedCount: UInt64 { log.committedPosition.offset }

  /// Returns the dead fraction if the policy requires a compaction, now or after the quiet time;
  /// otherwise nil.
  private func wantedShare() -> Double? {
    do throws(Fault) {
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

  private func bounds(of occupancy: Occupancy) -> SpaceBounds {
    SpaceBounds(live: occupancy.live, wholeCheckpoints: options.wholeCheckpoints)
  }

  /// Returns the number of bytes that may still be allocated for log within the bounds, besides the
  /// current file and the next tree or compacted file; 0 if that is unknown.
  func spare() -> UInt64 {
    guard options.compaction.isAutomatic, reclaimer.isCollecting else { return 0 }
    do throws(Fault) {
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
    do throws(Fault) {
      guard !isClosed, wantedShare() != nil else { return }
      if urgency == .whenQuiet {
        // A checkpoint reclaims blocks without a copy; then measure again.
        try checkpoint(isForced: false)
        guard wantedShare() != nil else { return }
      }
      let report = try compact(
        bytesPerSecond: options.compaction.bytesPerSecond, isAutomatic: true, nil)
      // The next compaction waits, as after a failure.
      if report.isInPlace { throw Fault(.outOfSpace, "there is no space for a compacted file") }
      // Values replaced meanwhile are already dead in the new file.
      scheduleCompaction()
    } catch {
      guard error.kind != .cancelled, error.kind != .closed else { return }
      schedule.didFail(error, at: pacer.committedBytes, step: options.compaction.minimumSize)
    }
  }
}
