import LatewoodBytes
import LatewoodConcurrency
import LatewoodFile
import LatewoodTree

extension Engine {
  /// The part of the file that a backup copies.
  private struct BackupRange {
    /// The offset of the newest checkpoint's frame.
    var checkpoint: UInt64
    var record: CheckpointRecord
    /// The end of the part. All space before it that a checkpoint reserved has been written.
    var end: ReplayPosition
    var transaction: UInt64
    var version: Version
  }

  /// Creates or updates a backup, on the current thread.
  func backup(
    to path: String, bytesPerSecond: UInt64?, _ progress: ((BackupProgress) -> Void)?
  ) throws(StorageError) -> BackupReport {
    try checkOpen()
    try refuseInsideCompaction("a backup was requested")
    if isReadOnly {
      throw StorageError(.readOnly, "only the writing process can make a backup; any process can make a copy")
    }
    _ = try compaction.begin(joins: false, unless: { false })
    defer { compaction.end(.failure(CompactionControl.cancelled)) }
    // Otherwise dead blocks could be zeros in this file but still have their old bytes in the
    // backup.
    reclaimer.pause()
    defer { reclaimer.resume() }
    let began = MonotonicClock.nanoseconds
    let backup = try BackupFile.open(at: path, of: file)
    do throws(StorageError) {
      var report = try write(backup, CompactionThrottle(bytesPerSecond: bytesPerSecond), progress)
      backup.close()
      report.duration = (MonotonicClock.nanoseconds - began) / 1000
      return report
    } catch {
      backup.discard()
      throw error
    }
  }

  private func write(
    _ backup: BackupFile, _ throttle: CompactionThrottle, _ tell: ((BackupProgress) -> Void)?
  ) throws(StorageError) -> BackupReport {
    try checkpoint(isForced: currentFile.checkpoint == 0)
    var range = try rangeToBackUp()
    var report = BackupReport()
    report.isIncremental = backup.isIncremental
    report.transaction = range.transaction
    // No bytes have been appended since.
    if range.end.offset == backup.start, backup.isIncremental {
      report.fileSize = try backup.size()
      return report
    }
    if range.record.replay.offset < backup.leastReplay {
      try checkpoint(isForced: true)
      range = try rangeToBackUp()
      report.transaction = range.transaction
    }
    let end = range.end.offset
    try verify(range, from: backup.start)
    var done: UInt64 = 0
    let total = 2 * (end - min(end, backup.leastReplay))
    let step = { (bytes: UInt64) throws(StorageError) in
      done += bytes
      try self.compaction.waitWhilePaused()
      tell?(BackupProgress(fraction: 0.99 * Double(done) / Double(max(total, 1)), bytesTotal: total / 2))
    }
    try backup.write(through: range.end, transaction: range.transaction) { bytes throws(StorageError) in
      try throttle.pass(bytes, compaction)
      try step(bytes)
    }
    try backup.verifyCopy(through: end, step: step)
    try backup.publish(checkpoint: range.checkpoint, end: end)
    withExtendedLifetime(range.version) {}
    tell?(BackupProgress(fraction: 1, bytesTotal: total / 2))
    report.bytesCopied = total / 2
    report.fileSize = try backup.size()
    return report
  }

  private func rangeToBackUp() throws(StorageError) -> BackupRange {
    // No checkpoint is running, so all space reserved for nodes has been written.
    try checkpointer.withoutCheckpoints { () throws(StorageError) in
      let version = try versions.current()
      let (file, offset) = currentFile.fileAndCheckpoint
      guard let (record, _) = try file.checkpoint(at: offset, in: file.view) else {
        throw StorageError.damaged(at: offset, "the checkpoint at this offset is not sound")
      }
      let (end, transaction) = try committedEnd()
      // A power cut must not remove commits from this file that the backup contains, or the next
      // backup could not continue from there.
      try file.flush(through: CommitPosition(offset: end.offset), durable: true)
      return BackupRange(
        checkpoint: offset, record: record, end: end, transaction: transaction, version: version)
    }
  }

  private func committedEnd() throws(StorageError) -> (ReplayPosition, transaction: UInt64) {
    try head.withMaintenance { () throws(StorageError) in
      try checkOpen()
      try file.checkWriting()
      if file.isInterrupted {
        throw StorageError(.outOfSpace, "the disk is full: free space, then try again")
      }
      return (file.writer.replayPosition, file.writer.lastTransaction)
    }
  }

  /// Verifies everything that the backup will copy, so that it contains no damage.
  private func verify(_ range: BackupRange, from start: UInt64) throws(StorageError) {
    let file = file
    let tree = TreeVerification.run(range.record.root, in: file.view, from: start, progress: nil)
    if let fault = tree.faults.first { throw fault }
    let frames = try file.verify(through: range.end.offset)
    // Damaged root slots or headers are not copied.
    if let fault = frames.faults.first(where: { ($0.offset ?? 0) >= FileLayout.logStart }) { throw fault }
  }
}
