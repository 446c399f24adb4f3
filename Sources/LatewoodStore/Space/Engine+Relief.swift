import LatewoodBytes
import LatewoodConcurrency
import LatewoodFile

/// Freeing a full disk. Deletes and checkpoints use the blocks of the log's reserve, and the space
/// that they make dead is reclaimed, until the reserve is complete again.
extension Engine {
  /// The maximum length of live data, in bytes, for whose compaction the reserve is lent.
  /// Transactions wait during the loan.
  private static let greatestLent: UInt64 = 256 << 20

  private func noteSpace(of file: DatabaseFile) {
    if disk.note(file) { pacer.wake() }
  }

  /// Frees space if little is left outside the reserve, and more space may have become dead since.
  ///
  /// - Parameter longest: the maximum number of live bytes of a file in which to look for what
  ///   earlier sessions have left.
  ///
  /// Throws only if the store can no longer write.
  func freeSpaceIfDue(sweepingUpTo longest: UInt64) throws(StorageError) {
    guard disk.isTight, !isClosed, !disk.loan.isUnderWay, disk.takeAttempt() else { return }
    try checkpointer.withoutCheckpoints { () throws(StorageError) in
      try reclaimer.sweep(upTo: longest)
      try checkpointer.mergeAndReclaim()
      head.withMaintenance {
        checkpointer.fitReserve()
        let file = file
        // A compaction may have borrowed the reserve in the meantime.
        if !disk.loan.isUnderWay { file.writer.refillReserve() }
        noteSpace(of: file)
        if reclaimer.isHeldByReaders { disk.noteBlockedByReaders() }
        if !file.writer.isTight { disk.noteSpaceRecovered() }
      }
    }
    // Only a compaction can free more space.
    if disk.isTight { scheduleCompaction() }
  }

  /// Returns whether the disk is full, and a compaction would remove bytes that cannot be reclaimed
  /// in place: parts of blocks, and entries that a layer above keeps until then.
  func wouldFreeSpace(_ occupancy: Occupancy) -> Bool {
    guard disk.isTight else { return false }
    let kept = pacer.liveBytes - min(pacer.liveBytes, occupancy.live)
    return reclaimer.partialBlockBytes &+ kept
      >= max(occupancy.live / 4, Checkpointer.plentifulReserve.upperBound / 4)
  }

  /// Waits for the compaction that has borrowed the reserve. Returns false if a transaction should
  /// begin anyway.
  func waitForReserve() -> Bool {
    guard disk.loan.isUnderWay else { return true }
    // A closure called by the compaction would wait for itself.
    guard !compaction.isRunningHere else { return false }
    return disk.loan.waitForEnd { compaction.isPaused }
  }

  /// Repeats a compaction that found no space, with the space of the reserve. Transactions wait for
  /// its end; transactions that cannot wait are refused.
  ///
  /// - Parameter otherwise: called if the reserve is not sufficient or does not exist.
  func withReserve(
    orElse otherwise: () throws(StorageError) -> CompactionReport,
    _ compact: () throws(StorageError) -> CompactionReport
  ) throws(StorageError) -> CompactionReport {
    guard releaseReserve() else { return try otherwise() }
    do throws(StorageError) {
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

  /// Lends the reserve if it may provide enough space for the compacted file and writing that file
  /// takes little time.
  private func releaseReserve() -> Bool {
    head.withMaintenance {
      let (live, file) = (pacer.liveBytes, file)
      // A session that has not written yet does not know of the blocks that earlier ones reserved.
      if file.writer.reservedLength == 0 { file.writer.refillReserve() }
      guard live <= Engine.greatestLent, live <= (file.device.freeSpace() ?? 0) + file.writer.reservedLength,
        file.writer.releaseReserve()
      else { return false }
      disk.loan.begin()
      return true
    }
  }

  private func takeReserveBack() {
    head.withMaintenance {
      checkpointer.fitReserve()
      file.writer.refillReserve()
      noteSpace(of: file)
    }
  }

  /// Performs the part of a compaction that needs no space for a new file.
  ///
  /// Throws `error` if no blocks could be reclaimed.
  func reclaimInPlace(insteadOf error: StorageError) throws(StorageError) -> CompactionReport {
    let began = MonotonicClock.nanoseconds
    var report = CompactionReport()
    report.isInPlace = true
    try checkpointer.withoutCheckpoints { () throws(StorageError) in
      let file = file
      report.bytesBefore = try file.device.allocatedSize()
      let before = reclaimer.reclaimedBytes
      try reclaimer.sweep(upTo: .max)
      let isSwept = reclaimer.reclaimedBytes > before
      guard try checkpointer.mergeAndReclaim() || isSwept else { throw error }
      report.bytesAfter = try file.device.allocatedSize()
    }
    report.duration = (MonotonicClock.nanoseconds - began) / 1000
    return report
  }
}
