import Dispatch
import LatewoodBytes
import LatewoodConcurrency
import LatewoodFile
import LatewoodTree

extension Engine {
  /// Runs a compaction on this thread, or waits for the running one.
  ///
  /// - Parameter isAutomatic: whether the policy started it. Then it keeps the space that it takes
  ///   within the bounds of `CompactionPolicy`, and writers wait longer.
  func compact(
    bytesPerSecond: UInt64?, isAutomatic: Bool = false, unless isCancelled: () -> Bool = { false },
    _ progress: ((CompactionProgress) -> Void)?
  ) throws(Fault) -> CompactionReport {
    if isReadOnly { throw Fault(.readOnly, "the store was opened to be read only") }
    return try rewrite(
      joins: true, isAutomatic: isAutomatic, unless: isCancelled, bytesPerSecond, progress,
      into: { () throws(Fault) in try log.createReplacement() })
  }

  /// Writes the newest state into a separate file, on this thread.
  func copy(
    to path: String, bytesPerSecond: UInt64?, _ progress: ((CompactionProgress) -> Void)?
  ) throws(Fault) -> CompactionReport {
    try rewrite(
      joins: false, isAutomatic: false, unless: { false }, bytesPerSecond, progress,
      into: { () throws(Fault) in try log.createCopy(at: path) })
  }

  private func rewrite(
    joins: Bool, isAutomatic: Bool, unless isCancelled: () -> Bool, _ bytesPerSecond: UInt64?,
    _ progress: ((CompactionProgress) -> Void)?, into create: () throws(Fault) -> LogFile
  ) throws(Fault) -> CompactionReport {
    try checkOpen()
    try refuseInsideCompaction("a compaction or copy was asked for")
    if let report = try compaction.begin(joins: joins, isAutomatic: isAutomatic, unless: isCancelled) {
      return report
    }
    let result: Result<CompactionReport, Fault>
    do throws(Fault) {
      result = .success(
        try runRewriting(
          holdsWriters: joins, isAutomatic: isAutomatic, bytesPerSecond, progress, into: create))
    } catch {
      do throws(Fault) {
        guard joins, error.kind == .outOfSpace else { throw error }
        result = .success(
          try withReserve(orElse: { () throws(Fault) in try giveBackInPlace(insteadOf: error) }) {
            () throws(Fault) in
            // At full speed, because transactions wait.
            try runRewriting(
              holdsWriters: joins, isAutomatic: isAutomatic, isPrepared: true, nil, progress, into: create)
          })
      } catch {
        result = .failure(error)
      }
    }
    forgetReplaced()
    compaction.end(result)
    return try result.get()
  }

  /// Releases the replaced file on another thread. With the last reference the system drops its
  /// cached pages and frees its blocks, which takes as long as copying a part of it.
  private func forgetReplaced() {
    DispatchQueue.global(qos: .utility).async { [replaced] in
      let old = replaced.withLock { old in
        defer { old = nil }
        return old
      }
      withExtendedLifetime(old) {}
    }
  }

  private func runRewriting(
    holdsWriters: Bool, isAutomatic: Bool, isPrepared: Bool = false, _ bytesPerSecond: UInt64?,
    _ progress: ((CompactionProgress) -> Void)?,
    into create: () throws(Fault) -> LogFile
  ) throws(Fault) -> CompactionReport {
    let began = MonotonicClock.nanoseconds
    try compaction.checkpoint()
    // Wait for a running checkpoint: transactions that it merges need not be followed.
    if isAutomatic { checkpointing.withLock {} }
    isCompactingItself.store(isAutomatic, ordering: .relaxed)
    // From here on writers that are faster than the compaction are held back, or it might never
    // end.
    if holdsWriters { beginLag(isAutomatic: isAutomatic) }
    defer {
      compactionLag.end()
      isCompactingItself.store(false, ordering: .relaxed)
    }
    // First of all: if the new file cannot be made as it must be, the attempt costs nothing else.
    if holdsWriters { try log.proveReplaceable() }
    if holdsWriters, !isPrepared, let preparation = preparation.withLock({ $0 }) { try preparation.run() }
    // A checkpoint, so that the tree is complete and few transactions have to be followed. Giving
    // back blocks of a file that will soon be gone would take half as long as its compaction and
    // delay every commit, which is only worthwhile to keep a bound on the space. A file that was
    // moved away gets no checkpoint any more; its log is followed from the last one.
    let isFirst = lastCheckpoint.load(ordering: .relaxed) == 0
    let isWorthIt = !isAutomatic || pendingBytes.load(ordering: .relaxed) >= checkpointThreshold / 4
    if !isReadOnly, !log.isMoved, isFirst || isWorthIt {
      do throws(Fault) {
        try checkpoint(isForced: isFirst, givesBack: isAutomatic || !holdsWriters)
      } catch {
        // The checkpoint may be the first to notice that the file was moved away.
        if holdsWriters || error.kind != .fileMoved { throw error }
      }
    }
    let (version, start) = try newestTree()
    let (old, new) = (log, try create())
    var report: CompactionReport
    do throws(Fault) {
      let run = try CompactionRun(
        self, from: start, into: new, bytesPerSecond: bytesPerSecond, progress)
      report = try run.run(keeping: version)
    } catch {
      new.discard()
      guard error.kind == .fileMoved, !log.isMoved else { throw error }
      throw Fault(
        .inputOutput, "the new file was removed while it was being written", path: error.path)
    }
    replaced.withLock { $0 = (old, version) }
    report.duration = (MonotonicClock.nanoseconds - began) / 1000
    var last = compaction.progress ?? CompactionProgress()
    last.fraction = 1
    last.deadBytes = 0
    progress?(last)
    return report
  }

  private func beginLag(isAutomatic: Bool) {
    // Twice the least part is the most that writers get ahead, and both files hold it. They must
    // not get so far that a checkpoint begins, which would add another tree.
    let part = min(spare() / 8, UInt64(options.writeBufferBudget) / 4 * 3)
    compactionLag.begin(
      at: committedBytes.load(ordering: .relaxed), live: liveBytes.load(ordering: .relaxed),
      divisor: isAutomatic ? 32 : 8,
      least: isAutomatic ? max(3 << 20, part) : Engine.leastThreshold,
      isBounded: isAutomatic)
  }

  /// Returns the newest checkpoint, and a version that keeps its tree mapped. The version also
  /// keeps the tree, and the log from its replay offset on, from being given back.
  private func newestTree() throws(Fault) -> (Version, CheckpointRecord) {
    checkpointing.lock()
    defer { checkpointing.unlock() }
    let version = try current()
    // A read-only store may have no checkpoint yet: everything is in the log.
    let start = try newestCheckpoint()
    return (
      version,
      start ?? CheckpointRecord(root: nil, replay: .start, transaction: 0, time: 0, previousCheckpoint: 0)
    )
  }

  /// In a new file: writes the first checkpoint, names it in both root slots, and publishes its
  /// tree. Both slots must name it, because the log before it does not have these entries.
  func begin(with root: Subtree?, transaction: UInt64) throws(Fault) {
    try log.flush(through: log.writer.position, durable: false)
    try log.syncNodes()
    let checkpoint = try log.writer.appendCheckpoint(
      CheckpointRecord(
        root: root, replay: log.writer.replayPosition, transaction: transaction, time: environment.now(),
        previousCheckpoint: 0, isCompaction: true))
    for _ in 0..<2 { try log.writeSlot(naming: checkpoint) }
    lastCheckpoint.store(checkpoint.offset, ordering: .relaxed)
    liveBytes.store(root?.liveBytes ?? 0, ordering: .relaxed)
    head.transaction = transaction
    head.number += 1
    let hold = startPunching(from: checkpoint.offset, replay: checkpoint.record.replay, isOwn: true)
    swap { _ in makeVersion(head, base: root, frozen: nil, hold: hold) }
  }

  /// In a new file: publishes a version with everything that has been flushed. Replayed
  /// transactions were published before they were in the file, so the view of that version ends too
  /// early.
  func showAll() {
    swap { old in makeVersion(head, base: old.base, frozen: old.frozen, hold: old.hold) }
  }

  /// Takes the writer lock if the store can switch to another file, and returns the time at which
  /// it was taken, in nanoseconds.
  func lockForSwitch() throws(Fault) -> UInt64 {
    lockForService()
    do throws(Fault) {
      try checkOpen()
      try log.checkWriting()
      if log.isOutOfSpace || log.needsCheckpoint { throw Fault(.outOfSpace, "the disk was full meanwhile") }
      return MonotonicClock.nanoseconds
    } catch {
      unlockForService()
      throw error
    }
  }

  /// Switches to the file of `other`, which holds the same state and has replaced this one's. Under
  /// `checkpointing` and `writer`.
  func takeOver(_ other: Engine) {
    // Threads that still wait for the old file must find this published, and not publish it with
    // the new file.
    publish(head)
    let base = other.published.held()?.base
    var next = other.head
    // Version numbers never decrease, neither here nor in the buffer that `other` made.
    next.number = max(head.number, other.head.number) + 1
    next.known = head.known
    head = next
    unfinished = nil
    liveBytes.store(base?.liveBytes ?? 0, ordering: .relaxed)
    pendingBytes.store(next.pendingBytes, ordering: .relaxed)
    frozenBytes.store(0, ordering: .relaxed)
    writebackThrough.store(other.log.writer.tail, ordering: .relaxed)
    backgroundFailure.withLock { $0 = nil }
    compactionAttempts.withLock { $0 = CompactionAttempts() }
    let checkpoint = other.lastCheckpoint.load(ordering: .relaxed)
    goOn(in: other.log, checkpoint: checkpoint)
    let hold = startPunching(from: checkpoint, replay: other.punching.withLock { $0.replay }, isOwn: true)
    swap { _ in makeVersion(next, base: base, frozen: nil, hold: hold) }
    measureSpare()
  }
}
