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
  ) throws(Fault) -> BackupReport {
    try checkOpen()
    try refuseInsideCompaction("a backup was requested")
    if isReadOnly {
      throw Fault(.readOnly, "only the writing process can make a backup; any process can make a copy")
    }
    _ = try compaction.begin(joins: false, unless: { false })
    defer { compaction.end(.failure(CompactionControl.cancelled)) }
    // Otherwise dead blocks could be zeros here but still have their old bytes in the backup.
    reclaimer.pause()
    defer { reclaimer.resume() }
    let began = MonotonicClock.nanoseconds
    let file = try BackupFile.open(at: path, of: log)
    do throws(Fault) {
      var report = try write(file, CompactionThrottle(bytesPerSecond: bytesPerSecond), progress)
      file.close()
      report.duration = (MonotonicClock.nanoseconds - began) / 1000
      return report
    } catch {
      file.discard()
      throw error
    }
  }

  private func write(
    _ file: BackupFile, _ throttle: CompactionThrottle, _ tell: ((BackupProgress) -> Void)?
  ) throws(Fault) -> BackupReport {
    try checkpoint(isForced: self.file.checkpoint == 0)
    var range = try rangeToBackUp()
    var report = BackupReport()
    report.isIncremental = file.isIncremental
    report.transaction = range.transaction
    // Nothing has been appended since.
    if range.end.offset == file.start, file.isIncremental {
      report.fileSize = try file.size()
      return report
    }
    if range.record.replay.offset < file.leastReplay {
      try checkpoint(isForced: true)
      range = try rangeToBackUp()
      report.transaction = range.transaction
    }
    let end = range.end.offset
    try verify(range, from: file.start)
    var done: UInt64 = 0
    let total = 2 * (end - min(end, file.leastReplay))
    let step = { (bytes: UInt64) throws(Fault) in
      done += bytes
      try self.compaction.waitWhilePaused()
      tell?(BackupProgress(fraction: 0.99 * Double(done) / Double(max(total, 1)), bytesTotal: total / 2))
    }
    try file.write(through: range.end, transaction: range.transaction) { bytes throws(Fault) in
      try throttle.pass(bytes, compaction)
      try step(bytes)
    }
    try file.verifyCopy(through: end, step: step)
    try file.publish(checkpoint: range.checkpoint, end: end)
    withExtendedLifetime(range.version) {}
    tell?(BackupProgress(fraction: 1, bytesTotal: total / 2))
    report.bytesCopied = total / 2
    report.fileSize = try file.size()
    return report
  }

  private func rangeToBackUp() throws(Fault) -> BackupRange {
    // No checkpoint is running, so all space reserved for nodes has been written.
    try checkpointer.exclude { () throws(Fault) in
      let version = try versions.current()
      let (log, offset) = file.logAndCheckpoint
      guard let (record, _) = try log.checkpoint(at: offset, in: log.view) else {
        throw Fault.damaged(at: offset, "there is no sound checkpoint here")
      }
      let (end, transaction) = try committedEnd()
      // A power cut must not remove commits from this file that the backup has, or the next backup
      // could not continue from there.
      try log.flush(through: CommitPosition(offset: end.offset), durable: true)
      return BackupRange(
        checkpoint: offset, record: record, end: end, transaction: transaction, version: version)
    }
  }

  private func committedEnd() throws(Fault) -> (ReplayPosition, transaction: UInt64) {
    try head.withMaintenance { () throws(Fault) in
      try checkOpen()
      try log.checkWriting()
      if log.isInterrupted { throw Fault(.outOfSpace, "the disk is full: free space, then try again") }
      return (log.writer.replayPosition, log.writer.lastTransaction)
    }
  }

  /// Verifies everything that the backup will copy, so that it contains no damage.
  private func verify(_ range: BackupRange, from start: UInt64) throws(Fault) {
    let log = log
    let tree = TreeVerification.run(range.record.root, in: log.view, from: start, progress: nil)
    if let fault = tree.faults.first { throw fault }
    let frames = try log.verify(through: range.end.offset)
    // Damaged root slots or headers are not copied.
    if let fault = frames.faults.first(where: { ($0.offset ?? 0) >= FileLayout.logStart }) { throw fault }
  }
}
