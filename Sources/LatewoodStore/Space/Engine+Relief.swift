import LatewoodBytes
import LatewoodConcurrency
import LatewoodFile

/// Freeing a full disk. Deletes and checkpoints use the blocks of the log's reserve, and the space
/// that they make dead is reclaimed, until the reserve is complete again.
extension Engine {
  /// The maximum length of live data, in bytes, for whose compaction the reserve is lent.
  /// Transactions wait meanwhile.
  private static let greatestLent: UInt64 = 256 << 20

  /// Records the space that a commit has found. Under the writer lock.
  ///
  /// - Parameter removes: whether it only freed space.
  func didCommit(to log: DatabaseFile, removes: Bool) {
    noteSpace(of: log)
    if log.writer.isTight { disk.didCommit(head.newest.transaction, removes: removes) }
  }

  /// Records that a commit found no space besides the reserve. The next transaction tries to free
  /// some. Under the writer lock.
  func wasRefusedSpace(by log: DatabaseFile) {
    noteSpace(of: log)
    disk.wasRefused(after: head.newest.transaction)
  }

  private func noteSpace(of log: DatabaseFile) {
    // The threshold of checkpoints, and so the price for writers, depends on it.
    if disk.note(log) { pacer.wake() }
  }

  /// Frees space if little is left besides the reserve, and something may have become dead since.
  ///
  /// Throws only if the store can no longer write.
  func freeSpaceIfDue() throws(Fault) {
    guard disk.isTight, !isClosed, !disk.loan.isUnderWay, disk.takeAttempt() else { return }
    try checkpointer.exclude { () throws(Fault) in
      try checkpointer.mergeAndReclaim()
      head.withMaintenance {
        checkpointer.fitReserve()
        let log = log
        // A compaction may have borrowed the reserve meanwhile.
        if !disk.loan.isUnderWay { log.writer.refillReserve() }
        noteSpace(of: log)
        if !log.writer.isTight { disk.wasRelieved() }
      }
    }
    // Only a compaction can gain more.
    if disk.isTight { scheduleCompaction() }
  }

  /// Returns whether the disk is full, and a compaction would remove bytes that cannot be reclaimed
  /// in place: parts of blocks, and entries that a layer above keeps until then.
  func wouldRelieve(_ occupancy: Occupancy) -> Bool {
    guard disk.isTight else { return false }
    let kept = pacer.liveBytes - min(pacer.liveBytes, occupancy.live)
    return reclaimer.partialBlockBytes &+ kept
      >= max(occupancy.live / 4, Checkpointer.plentifulReserve.upperBound / 4)
  }

  /// Waits for the compaction that has borrowed the reserve. Returns false if a transaction should
  /// begin anyway.
  func waitForReserve() -> Bool {
    guard disk.loan.isUnderWay else { return true }
    // A closure called by the compaction must not wait for the compaction.
    guard !compaction.isRunningHere else { return false }
    return disk.loan.waitForEnd { compaction.isPaused }
  }

  /// Repeats a compaction that had no space, with the space of the reserve. Transactions wait
  /// meanwhile; those that cannot wait are refused.
  ///
  /// - Parameter otherwise: called if that is not enough, or there is no reserve.
  func withReserve(
    orElse otherwise: () throws(Fault) -> CompactionReport, _ compact: () throws(Fault) -> CompactionReport
  ) throws(Fault) -> CompactionReport {
    guard lendReserve() else { return try otherwise() }
    do throws(Fault) {
      let report = try compact()
      // The blocks of the old file are the next reserve.
      replaced.release()
      takeReserveBack()
      disk.loan.end()
      return report
    } catch {
      takeReserveBack()
      disk.loan.end()
      guard error.kind == .outOfSpace else { throw error }
      let report = try otherwise()
      takeReserveBack()
      return report
    }
  }

  /// Lends the reserve if it may provide enough space for the compacted file, and writing that
  /// takes little time.
  private func lendReserve() -> Bool {
    head.withMaintenance {
      let (live, log) = (pacer.liveBytes, log)
      guard live <= Engine.greatestLent, live <= (log.device.freeSpace() ?? 0) + log.writer.reservedLength,
        log.writer.lendReserve()
      else { return false }
      disk.loan.begin()
      return true
    }
  }

  private func takeReserveBack() {
    head.withMaintenance {
      checkpointer.fitReserve()
      log.writer.refillReserve()
      noteSpace(of: log)
    }
  }

  /// Performs the part of a compaction that needs no space for a new file.
  ///
  /// Throws `fault` if no block could be reclaimed.
  func reclaimInPlace(insteadOf fault: Fault) throws(Fault) -> CompactionReport {
    let began = MonotonicClock.nanoseconds
    var report = CompactionReport()
    report.isInPlace = true
    try checkpointer.exclude { () throws(Fault) in
      let log = log
      report.bytesBefore = try log.device.allocatedSize()
      guard try checkpointer.mergeAndReclaim() else { throw fault }
      report.bytesAfter = try log.device.allocatedSize()
    }
    report.duration = (MonotonicClock.nanoseconds - began) / 1000
    return report
  }
}
