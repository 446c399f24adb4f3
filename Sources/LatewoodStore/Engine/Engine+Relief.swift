import LatewoodBytes
import LatewoodDevice
import LatewoodFile

/// What has happened since a full disk was last freed, and the decision to try that again.
///
/// Freeing takes a checkpoint, which may find little to give back. So it is tried after the first
/// transaction that removes something, and then after twice as many each time; and after a refused
/// commit, if anything was committed meanwhile.
struct Relief {
  private static let greatestDue = 64

  /// The number of transactions that removed something.
  private var removals = 0
  private var due = 1
  private var isWanted = false
  private var hasCommits = false

  mutating func didCommit(removes: Bool) {
    hasCommits = true
    if removes { removals += 1 }
  }

  mutating func wasRefused() { isWanted = true }

  /// Whether freeing should be tried now; if so, the next time is later.
  mutating func take() -> Bool {
    let isDue = removals >= due
    guard isDue || (isWanted && hasCommits) else { return false }
    if isDue { due = min(2 * due, Relief.greatestDue) }
    removals = 0
    isWanted = false
    hasCommits = false
    return true
  }
}

/// Freeing a full disk. Deletes and checkpoints use the blocks that the log has kept in reserve,
/// and what they leave dead is given back, until there is a whole reserve again.
extension Engine {
  /// The least and greatest length of the reserve, in bytes, while the disk has plenty of space and
  /// while it has little. The greatest is what a checkpoint that rewrites a tree of this length
  /// takes.
  private static let plenty: ClosedRange<UInt64> = 64 << 10...1 << 20
  private static let little: ClosedRange<UInt64> = 256 << 10...16 << 20
  /// The greatest length of live data, in bytes, for whose compaction the reserve is lent.
  /// Transactions wait meanwhile.
  private static let greatestLent: UInt64 = 256 << 20

  /// The reserve for the live data. Under the writer lock.
  func fitReserve() {
    guard !isReadOnly, options.punchesHoles else { return }
    let live = liveBytes.load(ordering: .relaxed)
    let frozen = unfinished == nil ? 0 : frozenBytes.load(ordering: .relaxed)
    let log = log
    log.writer.setReserve(
      ReserveLengths(
        least: min(max(live / 4, Engine.plenty.lowerBound), Engine.plenty.upperBound),
        full: min(max(live + live / 2, Engine.little.lowerBound), Engine.little.upperBound),
        pendingStart: log.writer.tail - min(log.writer.tail, head.pendingBytes + frozen)))
  }

  /// Notes what a commit found out about the space. Under the writer lock.
  ///
  /// - Parameter removes: whether it only freed space.
  func didCommit(to log: LogFile, removes: Bool) {
    noteSpace(of: log)
    if log.writer.isTight { relief.withLock { $0.didCommit(removes: removes) } }
  }

  /// Notes that there was no space for a commit besides the reserve. Under the writer lock.
  func wasRefusedSpace(by log: LogFile) {
    noteSpace(of: log)
    relief.withLock { $0.wasRefused() }
  }

  private func noteSpace(of log: LogFile) {
    isLowOnSpace.store(log.writer.isLowOnSpace, ordering: .relaxed)
    isTight.store(log.writer.isTight, ordering: .relaxed)
  }

  /// Frees space if little is left besides the reserve, and something may have become dead since.
  ///
  /// Throws only if the store can no longer write.
  func freeSpaceIfDue() throws(Fault) {
    guard isTight.load(ordering: .relaxed), !closed.load(ordering: .relaxed), !reserveLoan.isUnderWay,
      relief.withLock({ $0.take() })
    else { return }
    checkpointing.lock()
    defer { checkpointing.unlock() }
    try mergeAndGiveBack()
    lockForService()
    defer { unlockForService() }
    fitReserve()
    let log = log
    // A compaction may have borrowed the reserve meanwhile, and would find it gone.
    if !reserveLoan.isUnderWay { log.writer.refillReserve() }
    noteSpace(of: log)
    if !log.writer.isTight { return relief.withLock { $0 = Relief() } }
    // What is left can only be gained by a compaction.
    compactLater()
  }

  /// Whether the disk is full, and a compaction would give back what cannot be given back in place:
  /// parts of blocks, and what a layer above keeps until then.
  func wouldRelieve(_ occupancy: Occupancy) -> Bool {
    guard isTight.load(ordering: .relaxed) else { return false }
    let parts = punching.withLock { $0.loose.ranges.reduce(0) { $0 &+ $1.length } }
    let live = liveBytes.load(ordering: .relaxed)
    let kept = live - min(live, occupancy.live)
    return parts &+ kept >= max(occupancy.live / 4, Engine.plenty.upperBound / 4)
  }

  /// Waits for the compaction that has borrowed the reserve. Returns false if a transaction should
  /// begin all the same.
  func waitForReserve() -> Bool {
    guard reserveLoan.isUnderWay else { return true }
    // A closure called by the compaction must not wait for the compaction.
    guard !compaction.isRunningHere else { return false }
    return reserveLoan.waitForEnd { compaction.isPaused }
  }

  /// Runs a compaction again, which had no space, with the space of the reserve. Meanwhile
  /// transactions wait; those that cannot wait are refused.
  ///
  /// - Parameter otherwise: what to do if that is not enough, or there is no reserve.
  func withReserve(
    orElse otherwise: () throws(Fault) -> CompactionReport, _ compact: () throws(Fault) -> CompactionReport
  ) throws(Fault) -> CompactionReport {
    guard lendReserve() else { return try otherwise() }
    do throws(Fault) {
      let report = try compact()
      // The blocks of the old file are the next reserve.
      replaced.withLock { $0 = nil }
      takeReserveBack()
      reserveLoan.end()
      return report
    } catch {
      takeReserveBack()
      reserveLoan.end()
      guard error.kind == .outOfSpace else { throw error }
      let report = try otherwise()
      takeReserveBack()
      return report
    }
  }

  /// Lends the reserve if the compacted file may have enough space with it, and takes little time
  /// to write.
  private func lendReserve() -> Bool {
    lockForService()
    defer { unlockForService() }
    let (live, log) = (liveBytes.load(ordering: .relaxed), log)
    guard live <= Engine.greatestLent, live <= (log.device.freeSpace() ?? 0) + log.writer.reservedLength,
      log.writer.lendReserve()
    else { return false }
    reserveLoan.begin()
    return true
  }

  private func takeReserveBack() {
    lockForService()
    defer { unlockForService() }
    fitReserve()
    log.writer.refillReserve()
    noteSpace(of: log)
  }

  /// Gives back every block that is known to be dead, however few there are. Writes a checkpoint in
  /// between, which makes more of them dead, if there is enough space for it. Under
  /// `checkpointing`.
  ///
  /// - Returns: whether any were given back, besides those that the checkpoint itself had used.
  @discardableResult
  func mergeAndGiveBack() throws(Fault) -> Bool {
    let given = punching.withLock { $0.punchedBytes }
    try punchDead(least: 1)
    let before = punching.withLock { $0.punchedBytes }
    do throws(Fault) {
      try writeCheckpoint(isForced: false)
      frozenBytes.store(0, ordering: .relaxed)
    } catch {
      // Blocks that were dead before have been given back all the same.
      guard error.kind == .outOfSpace else { throw error }
      return before > given
    }
    try punchDead(least: 1)
    return punching.withLock { $0.punchedBytes } > given
  }

  /// Gives the blocks back into which a checkpoint wrote nodes before it failed for lack of space.
  /// Nothing ever referred to them. Under `checkpointing`.
  func discard(_ regions: [Range<UInt64>]) {
    guard collectsDead else { return }
    punching.withLock { state in
      state.loose.insert(
        regions.map { DeadRange(start: $0.lowerBound, end: $0.upperBound, endsInNode: false) })
    }
    // If this fails, they wait for the next checkpoint.
    do throws(Fault) { try punchLoose() } catch { return }
  }
}
