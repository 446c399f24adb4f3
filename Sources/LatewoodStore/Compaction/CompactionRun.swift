import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice
import LatewoodFile
import LatewoodTree

/// One compaction: writes the state of a checkpoint to another file, which then replaces the
/// store's file.
///
/// ```
/// copy       the tree of the newest checkpoint, in key order, into NAME.compacting; one thread
///            reads the old file ahead, another reads the new file back from the disk
/// follow     the transactions in the log since then, until few are left
/// verify     the rest of the new file, read from the disk
/// switch     the last transactions, sync, rename, sync of the directory, swap
/// ```
///
/// Commits continue until the switch, during which writers wait for milliseconds. Until then,
/// `CompactedFile` holds the state of the new file; at the switch the store adopts it.
///
/// Until the rename nothing in the store has changed, so a failure before it costs only the new
/// file.
final class CompactionRun {
  /// The length of log, in bytes, that may be left to follow while writers wait.
  static let shortTail: UInt64 = 64 << 10
  /// The weights of the phases in the reported progress.
  private static let copyShare = 0.8
  private static let followShare = 0.1

  private let engine: Engine
  private let old: DatabaseFile
  private let new: DatabaseFile
  private let target: CompactedFile
  private let throttle: CompactionThrottle
  private let tellProgress: ((CompactionProgress) -> Void)?
  private var follower: LogFollower
  private let start: CheckpointRecord
  private var report = CompactionReport()
  private var progress = CompactionProgress()
  private var copiedAndTold: UInt64 = 0
  private let readBack: ReadBack
  /// The root of the copied tree, and the end of the new log after it.
  private var copied: (root: Subtree?, end: UInt64) = (nil, FileLayout.logStart)

  /// - Parameters:
  ///   - start: the newest checkpoint of the engine's file.
  ///   - new: an empty file, which will replace the engine's file or become a copy of it.
  init(
    _ engine: Engine, from start: CheckpointRecord, into new: DatabaseFile, bytesPerSecond: UInt64?,
    _ tellProgress: ((CompactionProgress) -> Void)?
  ) throws(StorageError) {
    self.engine = engine
    self.start = start
    self.tellProgress = tellProgress
    throttle = CompactionThrottle(bytesPerSecond: bytesPerSecond)
    old = engine.file
    follower = LogFollower(old, from: start.replay)
    self.new = new
    target = try CompactedFile(new, engine.options, engine.environment)
    readBack = ReadBack(new)
    report.bytesBefore = try old.device.size()
    progress.bytesTotal = start.root?.liveBytes ?? 0
    progress.deadBytes = report.bytesBefore - min(report.bytesBefore, progress.bytesTotal)
    // A copy becomes another database, and a file that is decrypted forgets its anchors. New
    // anchors wait until this has ended.
    if new.isReplacement, new.isEncrypted {
      new.writer.anchors.take(from: engine.head.withMaintenance { old.writer.anchors })
    }
  }

  /// Runs the compaction. If this throws, the caller discards the new file.
  ///
  /// - Parameter version: a version with the tree of `start`, which prevents that tree and the log
  ///   after it from being reclaimed.
  func run(keeping version: Version) throws(StorageError) -> CompactionReport {
    readBack.start()
    defer { readBack.stop() }
    tell(0)
    // Keep the version until the end of the log has been read: without it, that log could be
    // reclaimed.
    defer { withExtendedLifetime(version) {} }
    try copy()
    try follow(until: CompactionRun.shortTail)
    try verify()
    if new.isReplacement { try switchFiles() } else { try settle() }
    return report
  }

  // MARK: Copy

  private func copy() throws(StorageError) {
    let (new, readBack, options) = (new, readBack, engine.options)
    new.writer.continueTransactions(after: start.transaction)
    let copying = TreeCopy.Target(
      view: new.view, nodeSize: options.nodeSize, inlineValueLimit: options.inlineValueLimit,
      transaction: start.transaction,
      reserve: { (length) throws(StorageError) in try new.writer.reserveNodes(length: length) },
      // Transactions do not commit to this file while it is being written.
      write: { (bytes, offset) throws(StorageError) in
        try new.writeNodes(bytes, at: offset, pieces: 256 << 10)
      },
      didPlace: { (region) throws(StorageError) in
        // Writes the frame headers too, so that the blocks they share with nodes are not written
        // again later.
        try new.flushCommitted(durable: false)
        try readBack.add(region)
      },
      step: { (bytes) throws(StorageError) in try self.didCopy(bytes) })
    let root = try TreeCopy.run(
      start.root, in: old.view, to: copying, rewriters: engine.hooks.rewriters)
    copied = (root, new.writer.tail)
    try target.startLog(after: root, transaction: start.transaction)
  }

  private func didCopy(_ bytes: UInt64) throws(StorageError) {
    progress.bytesCopied += bytes
    if new.isReplacement { engine.pacer.lag.allow(copied: progress.bytesCopied) }
    try engine.compaction.waitWhilePaused()
    try throttle.pass(bytes, engine.compaction)
    guard progress.bytesCopied - copiedAndTold >= 1 << 20 else { return }
    copiedAndTold = progress.bytesCopied
    engine.pacer.wake()
    let total = Double(max(progress.bytesCopied, progress.bytesTotal))
    tell(CompactionRun.copyShare * Double(progress.bytesCopied) / total)
  }

  // MARK: Follow

  /// Commits the transactions that have been appended to the old log since the copied checkpoint,
  /// or since the last call, in ever shorter rounds, until at most `rest` bytes of log are left.
  ///
  /// - Parameter isSwitching: whether the caller holds a lock that others wait for. Then this
  ///   neither pauses nor calls code that might take the lock.
  private func follow(until rest: UInt64, isSwitching: Bool = false) throws(StorageError) {
    defer { if new.isReplacement { engine.pacer.lag.allow() } }
    for round in 0..<64 {
      if !isSwitching { try engine.compaction.waitWhilePaused() }
      let committed = engine.pacer.committedBytes
      let end = try old.flushForCopy()
      let length = end.offset - min(end.offset, follower.offset)
      try advance(through: end)
      if new.isReplacement {
        engine.pacer.lag.follow(to: committed)
        engine.pacer.lag.allow(rounds: round)
        engine.pacer.wake()
      }
      if !isSwitching { tell(CompactionRun.copyShare + CompactionRun.followShare * Double(round + 1) / 64) }
      if length <= rest { return }
    }
  }

  private func advance(through end: CommitPosition) throws(StorageError) {
    var replayed = TransactionReplayer(target, rewriters: engine.hooks.rewriters)
    try follower.advance(through: end) { (number, _, record) throws(StorageError) in
      try replayed.take(record, of: number)
    }
    try replayed.finish()
    report.transactionsMeanwhile += replayed.count
  }

  private func tell(_ fraction: Double) {
    progress.fraction = max(progress.fraction, fraction)
    engine.compaction.tell(progress)
    tellProgress?(progress)
  }

  // MARK: Verify

  /// Verifies the new file by reading the disk, because the cache may differ from it.
  private func verify() throws(StorageError) {
    try new.flushCommitted(durable: false)
    try new.syncNodes()
    let isVerified = try isTreeVerified()
    // The header, the root slots, the log, and the tree unless `ReadBack` has read it, are read
    // through the cache.
    new.device.dropCache(0..<(isVerified ? FileLayout.logStart : .max))
    // A tree without nodes counts as read back even if the system does not support reads past its
    // cache.
    if isVerified { new.device.dropCache(copied.end & ~UInt64(directAlignment - 1)..<UInt64.max) }
    let base = CompactionRun.copyShare + CompactionRun.followShare
    let found = try VerifyReport(
      of: target.version, in: new, log: target.state.replay.offset, isTreeVerified: isVerified
    ) { verified in
      let share = Double(verified.bytesChecked) / Double(max(verified.bytesTotal, 1))
      self.tell(base + (0.99 - base) * min(share, 1))
    }
    if let fault = found.faults.first {
      let kind: StorageError.Kind = fault.kind == .inputOutput ? .inputOutput : .damaged
      throw StorageError(
        kind, "the new file reads back differently from what was written: \(fault.what)", offset: fault.offset
      )
    }
    try engine.compaction.waitWhilePaused()
  }

  /// Returns whether the newest tree is the copied one and was read back from the disk. The newest
  /// tree is another one if checkpoints were written while following the log.
  private func isTreeVerified() throws(StorageError) -> Bool {
    guard target.state.base == copied.root else { return false }
    return try readBack.finish(copied.root) { () throws(StorageError) in
      try engine.compaction.waitWhilePaused()
    }
  }

  // MARK: Settle

  /// Makes a copy durable and renames it to its final name.
  private func settle() throws(StorageError) {
    try new.flush(through: new.writer.position, durable: true)
    report.bytesAfter = try new.device.size()
    try new.renameToPath()
    new.close()
  }

  // MARK: Switch

  private func switchFiles() throws(StorageError) {
    // A checkpoint of the old file is not useful any more, and no checkpoint may be running when
    // the files are swapped.
    try engine.checkpointer.withoutCheckpoints { () throws(StorageError) in
      try follow(until: CompactionRun.shortTail, isSwitching: true)
      try new.syncNodes()
      try follow(until: CompactionRun.shortTail, isSwitching: true)
      try engine.head.withMaintenance { () throws(StorageError) in
        let began = MonotonicClock.nanoseconds
        try engine.checkSwitch()
        try old.flush(through: old.writer.position, durable: false)
        try advance(through: old.writer.position)
        try new.flush(through: new.writer.position, durable: true)
        report.bytesAfter = try new.device.size()
        // A later failure cannot be undone; `replace` then poisons both files.
        try new.replace(old)
        engine.adopt(compacted: target.state)
        report.longestPause = (MonotonicClock.nanoseconds - began) / 1000
      }
    }
  }
}

/// Limits a compaction to a number of bytes per second.
final class CompactionThrottle {
  private let bytesPerSecond: UInt64?
  private let start = MonotonicClock.nanoseconds
  private var bytes: UInt64 = 0

  init(bytesPerSecond: UInt64?) { self.bytesPerSecond = bytesPerSecond.map { max($0, 1) } }

  /// Waits until `count` more bytes may be written; throws `cancelled`.
  func pass(_ count: UInt64, _ control: CompactionControl) throws(StorageError) {
    guard let bytesPerSecond else { return }
    bytes += count
    while true {
      let due = Double(bytes) / Double(bytesPerSecond)
      let elapsed = Double(MonotonicClock.nanoseconds - start) / 1e9
      guard due > elapsed + 0.001 else { return }
      try control.rest(milliseconds: UInt64(min(due - elapsed, 0.1) * 1000) + 1)
    }
  }
}
