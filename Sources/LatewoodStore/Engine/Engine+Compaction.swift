import Dispatch
import LatewoodBytes
import LatewoodDevice
import LatewoodFile
import LatewoodTree

extension Engine {
  /// Runs a compaction on this thread, or waits for the one that runs.
  ///
  /// - Parameter isAutomatic: nobody asked for it. Then it keeps the room that it takes within the
  ///   bounds of `CompactionPolicy`, and writers wait longer.
  func compact(
    bytesPerSecond: UInt64?, isAutomatic: Bool = false, unless isCancelled: () -> Bool = { false },
    _ progress: ((CompactionProgress) -> Void)?
  ) throws(Fault) -> CompactionReport {
    if isReadOnly { throw Fault(.readOnly, "the store was opened to be read only") }
    return try rewrite(
      joins: true, isAutomatic: isAutomatic, unless: isCancelled, bytesPerSecond, progress,
      into: { () throws(Fault) in try log.createReplacement() })
  }

  /// Writes the newest state into a file of its own, on this thread.
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
    if let report = try compaction.begin(joins: joins, unless: isCancelled) { return report }
    let result: Result<CompactionReport, Fault>
    do throws(Fault) {
      result = .success(
        try runRewriting(
          holdsWriters: joins, isAutomatic: isAutomatic, bytesPerSecond, progress, into: create))
    } catch {
      result = .failure(error)
    }
    forgetReplaced()
    compaction.end(result)
    return try result.get()
  }

  /// Lets go of the file that was replaced, on another thread: when nobody has it any more the
  /// system gives up all that it cached of it, and its blocks, which takes as long as to copy some
  /// of it.
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
    holdsWriters: Bool, isAutomatic: Bool, _ bytesPerSecond: UInt64?,
    _ progress: ((CompactionProgress) -> Void)?,
    into create: () throws(Fault) -> LogFile
  ) throws(Fault) -> CompactionReport {
    let began = MonotonicClock.nanoseconds
    try compaction.checkpoint()
    // What a checkpoint that is running has merged needs not be followed.
    if isAutomatic { checkpointing.withLock {} }
    isCompactingItself.store(isAutomatic, ordering: .relaxed)
    // From here on writers that are faster than this are held back, or it might never come to an
    // end.
    if holdsWriters { beginLag(isAutomatic: isAutomatic) }
    defer {
      compactionLag.end()
      isCompactingItself.store(false, ordering: .relaxed)
    }
    // Before anything that takes long: where the new file cannot be made as it has to be, that is
    // all it costs.
    if holdsWriters { try log.proveReplaceable() }
    if holdsWriters, let preparation = preparation.withLock({ $0 }) { try preparation.run() }
    // So that there is a tree of everything, and few transactions have to be followed. To give back
    // blocks of a file that is to go soon would take as long as half of its compaction, with every
    // commit waiting for one of them: only a bound on the room is worth that. A file that was taken
    // away gets no checkpoint any more, and its log is followed from the last one on.
    let isFirst = lastCheckpoint.load(ordering: .relaxed) == 0
    let isWorthIt = !isAutomatic || pendingBytes.load(ordering: .relaxed) >= checkpointThreshold / 4
    if !isReadOnly, !log.isMoved, isFirst || isWorthIt {
      do throws(Fault) {
        try checkpoint(isForced: isFirst, givesBack: isAutomatic || !holdsWriters)
      } catch {
        // That it was taken away may be found out only now.
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
    compactionLag.begin(
      at: committedBytes.load(ordering: .relaxed), live: liveBytes.load(ordering: .relaxed),
      divisor: isAutomatic ? 32 : 8, least: isAutomatic ? 3 << 20 : Engine.leastThreshold,
      isBounded: isAutomatic)
  }

  /// The newest checkpoint, and a version that keeps its tree mapped and, with all of the log from
  /// its replay offset on, from being given back to the file system.
  private func newestTree() throws(Fault) -> (Version, CheckpointRecord) {
    checkpointing.lock()
    defer { checkpointing.unlock() }
    let version = try current()
    // Of a store that is only read there may be none yet: everything is in the log.
    let start = try newestCheckpoint()
    return (
      version,
      start ?? CheckpointRecord(root: nil, replay: .start, transaction: 0, time: 0, previousCheckpoint: 0)
    )
  }

  /// Of a new file: names its first tree in both root slots, and lets reads see it. The log before
  /// it does not have these entries, so no slot may lead around it.
  func begin(with root: Subtree?, transaction: UInt64) throws(Fault) {
    try log.flush(through: log.position, durable: false)
    try log.syncNodes()
    let checkpoint = try log.appendCheckpoint(
      CheckpointRecord(
        root: root, replay: log.replayPosition, transaction: transaction, time: environment.now(),
        previousCheckpoint: 0, isCompaction: true))
    for _ in 0..<2 { try log.writeSlot(naming: checkpoint) }
    lastCheckpoint.store(checkpoint.offset, ordering: .relaxed)
    liveBytes.store(root?.liveBytes ?? 0, ordering: .relaxed)
    head.transaction = transaction
    head.number += 1
    let hold = startPunching(from: checkpoint.offset, replay: checkpoint.record.replay, isOwn: true)
    swap { _ in makeVersion(head, base: root, frozen: nil, hold: hold) }
  }

  /// Of a new file: lets reads see all that has been flushed. Transactions that are replayed are
  /// published before they are in the file, to nobody; whoever reads that may not look beyond what
  /// was there.
  func showAll() {
    swap { old in makeVersion(head, base: old.base, frozen: old.frozen, hold: old.hold) }
  }

  /// Takes the writer lock if the store can go on in another file; returns when the lock was taken,
  /// in nanoseconds.
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

  /// Goes on in the file of `other`, which holds the same state and is in the place of this one's.
  /// Under `checkpointing` and `writer`.
  func takeOver(_ other: Engine) {
    // Whoever still waits for the old file must find this published, not publish it with the new
    // file under it.
    publish(head)
    let base = other.published.held()?.base
    var next = other.head
    // Numbers never fall, neither here nor in the buffer that was made over there.
    next.number = max(head.number, other.head.number) + 1
    next.known = head.known
    head = next
    unfinished = nil
    liveBytes.store(base?.liveBytes ?? 0, ordering: .relaxed)
    pendingBytes.store(next.pendingBytes, ordering: .relaxed)
    frozenBytes.store(0, ordering: .relaxed)
    writebackThrough.store(other.log.tail, ordering: .relaxed)
    backgroundFailure.withLock { $0 = nil }
    compactionAttempts.withLock { $0 = CompactionAttempts() }
    let checkpoint = other.lastCheckpoint.load(ordering: .relaxed)
    goOn(in: other.log, checkpoint: checkpoint)
    let hold = startPunching(from: checkpoint, replay: other.punching.withLock { $0.replay }, isOwn: true)
    swap { _ in makeVersion(next, base: base, frozen: nil, hold: hold) }
  }
}
