import Dispatch
import LatewoodBytes
import LatewoodConcurrency
import LatewoodFile
import LatewoodTree

extension Engine {
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
      .compaction, isAutomatic: isAutomatic, unless: isCancelled, bytesPerSecond, progress,
      into: { () throws(StorageError) in try file.createReplacement() })
  }

  /// Writes the newest state into a separate file, on this thread.
  func copy(
    to path: String, bytesPerSecond: UInt64?, _ progress: ((CompactionProgress) -> Void)?
  ) throws(StorageError) -> CompactionReport {
    try rewrite(
      .copy, isAutomatic: false, unless: { false }, bytesPerSecond, progress,
      into: { () throws(StorageError) in try file.createCopy(at: path) })
  }

  /// Runs a compaction into a file that is encrypted in another way, on this thread.
  func rewrite(encryption: DatabaseFile.ReplacementEncryption) throws(StorageError) {
    _ = try rewrite(
      .encryption, isAutomatic: false, unless: { false }, nil, nil,
      into: { () throws(StorageError) in try file.createReplacement(encryption: encryption) })
  }

  /// The purpose for which the live data is written again.
  private enum Purpose {
    case compaction, encryption, copy

    /// Whether the new file replaces the old one, for which writers may have to wait.
    var replaces: Bool { self != .copy }
  }

  private func rewrite(
    _ purpose: Purpose, isAutomatic: Bool, unless isCancelled: () -> Bool, _ bytesPerSecond: UInt64?,
    _ progress: ((CompactionProgress) -> Void)?, into create: () throws(StorageError) -> DatabaseFile
  ) throws(StorageError) -> CompactionReport {
    try checkOpen()
    try refuseInsideCompaction("a compaction or copy was requested")
    if let report = try compaction.begin(
      joins: purpose == .compaction, isAutomatic: isAutomatic, unless: isCancelled)
    {
      return report
    }
    let result: Result<CompactionReport, StorageError>
    do throws(StorageError) {
      result = .success(
        try runRewriting(
          holdsWriters: purpose.replaces, isAutomatic: isAutomatic, bytesPerSecond, progress, into: create))
    } catch {
      do throws(StorageError) {
        guard purpose.replaces, error.kind == .outOfSpace else { throw error }
        let failure = error
        let otherwise = { () throws(StorageError) -> CompactionReport in
          guard purpose == .compaction else { throw failure }
          return try self.reclaimInPlace(insteadOf: failure)
        }
        result = .success(
          try withReserve(orElse: otherwise) { () throws(StorageError) in
            // Run at full speed, because transactions wait.
            try runRewriting(
              holdsWriters: true, isAutomatic: isAutomatic, isPrepared: true, nil, progress, into: create)
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
    if isAutomatic { checkpointer.withoutCheckpoints {} }
    // Slow down writers that are faster than the compaction, or it might never end.
    if holdsWriters { beginLag(isAutomatic: isAutomatic) }
    defer {
      pacer.lag.end()
      pacer.wake()
    }
    // Fail early if the new file cannot get the owner and attributes of the old one.
    if holdsWriters { try file.checkReplaceable() }
    if holdsWriters, !isPrepared, let preparation = hooks.preparation { try preparation.run() }
    // Write a checkpoint, so that the tree is complete and few transactions must be followed.
    // Reclaiming blocks of a file that will soon be replaced would take half as long as its
    // compaction and delay every commit, which is only worthwhile to obey the bounds on space. A
    // file that was moved away gets no more checkpoints; its log is followed from the last one.
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
    // Writers can get ahead by at most twice `least`, and both files contain that log. That must
    // remain too little to start a checkpoint, which would add another tree.
    let part = min(logHeadroom() / 8, UInt64(options.writeBufferBudget) / 4 * 3)
    pacer.lag.begin(
      at: pacer.committedBytes, live: pacer.liveBytes,
      divisor: isAutomatic ? 32 : 8,
      least: isAutomatic ? max(3 << 20, part) : WritePacer.leastThreshold,
      isBounded: isAutomatic)
  }

  /// Returns the newest checkpoint, and a version that keeps its tree mapped and prevents that
  /// tree, and the log after its replay offset, from being reclaimed.
  private func newestTree() throws(StorageError) -> (Version, CheckpointRecord) {
    try checkpointer.withoutCheckpoints { () throws(StorageError) in
      let version = try versions.current()
      // A read-only store may have no checkpoint yet: everything is in the log.
      let start = try newestCheckpoint()
      return (
        version,
        start ?? CheckpointRecord(root: nil, replay: .start, transaction: 0, time: 0, previousCheckpoint: 0)
      )
    }
  }

  /// Throws if the store cannot switch to another file now. Called under the writer lock.
  func checkSwitch() throws(StorageError) {
    try checkOpen()
    try file.checkWriting()
    if file.isOutOfSpace || file.needsCheckpoint { throw StorageError(.outOfSpace, "the disk is full") }
  }
}

/// The file that a compaction has replaced, with its version, until it is closed in the background.
/// The last close drops its cached pages and frees its blocks, which is slow.
///
/// Thread safety: all methods may be called from any thread.
final class ReplacedFile: Sendable {
  private let replaced = Guarded<(file: DatabaseFile, version: Version)?>(nil)

  func keep(_ file: DatabaseFile, _ version: Version) { replaced.withLock { $0 = (file, version) } }

  /// Releases the file on the current thread, so that its blocks are free on return.
  func release() {
    let old = replaced.withLock { old in
      defer { old = nil }
      return old
    }
    withExtendedLifetime(old) {}
  }

  /// Releases the file on another thread.
  func scheduleRelease() { DispatchQueue.global(qos: .utility).async { self.release() } }
}
