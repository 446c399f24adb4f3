import LatewoodBytes
import LatewoodConcurrency
import LatewoodFile
import LatewoodTree
import Synchronization

/// Collects the dead parts of a store's file, and gives their blocks back to the file system once
/// nobody can read them any more.
///
/// Called by checkpoints, one at a time, unless a method says otherwise. The path of a dead range
/// is written down at `DeadSpaceState`.
final class SpaceReclaimer: Sendable {
  /// The longest time for which readers are kept out at once, and the pause after it.
  private static let punchNanoseconds: UInt64 = 10_000_000
  private static let pauseMilliseconds: UInt64 = 3
  /// The longest wait for short reads of an older tree to end.
  private static let patienceMilliseconds: UInt64 = 20
  /// The longest time that one checkpoint spends counting references. Up to `quickLength` live
  /// bytes, counting begins however little is dead.
  private static let countNanoseconds: UInt64 = 500_000_000
  private static let quickLength: UInt64 = 64 << 20
  /// A longer tree is counted only if the dead bytes are at least a sixteenth of its live bytes.
  private static let countedShare: UInt64 = 16

  private let file: CurrentFile
  private let readers: ReaderRegistry
  private let options: Store.Options
  private let isReadOnly: Bool
  private let state = Guarded(DeadSpaceState())
  /// While this is above 0, no space is given back; see `hold`.
  private let holds = Atomic<Int>(0)
  /// Held while blocks are given back.
  private let punching = Monitor()

  init(_ file: CurrentFile, readers: ReaderRegistry, options: Store.Options, isReadOnly: Bool) {
    self.file = file
    self.readers = readers
    self.options = options
    self.isReadOnly = isReadOnly
  }

  /// Whether dead ranges are collected. Any thread.
  var isCollecting: Bool { options.punchesHoles && !isReadOnly && !state.withLock { $0.isOver } }

  /// The replay position of the newest checkpoint. Any thread.
  var replay: ReplayPosition { state.withLock { $0.replay } }

  /// The offset of the oldest checkpoint that can be read; 0 if all can be. Any thread.
  var oldestWhole: UInt64 { state.withLock { $0.oldestWhole } }

  /// The number of bytes given back since the store was opened. Any thread.
  var givenBack: UInt64 { state.withLock { $0.givenBack } }

  /// The reason why no more space is given back; nil if there is none. Any thread.
  var failure: Fault? { state.withLock { $0.failure } }

  /// The number of dead bytes that are not whole blocks, which only a compaction can give back. Any
  /// thread.
  var looseBytes: UInt64 { state.withLock { $0.loose.ranges.reduce(0) { $0 &+ $1.length } } }

  /// Starts with the file that is in use from here on, and forgets everything about the previous
  /// one.
  ///
  /// - Parameters:
  ///   - checkpoint: offset of its newest checkpoint; 0 if there is none.
  ///   - replay: the replay position of that checkpoint.
  ///   - isOwn: whether this process wrote the whole file.
  /// - Returns: the hold of that checkpoint's base tree.
  func start(from checkpoint: UInt64, replay: ReplayPosition, isOwn: Bool) -> BaseHold {
    let log = file.log
    return state.withLock { state in
      var fresh = DeadSpaceState()
      fresh.replay = replay
      fresh.ownership = isOwn ? .own : .unknown
      fresh.oldestWhole = log.oldestWholeCheckpoint
      if checkpoint != 0 { fresh.whole = [.init(checkpoint: checkpoint, epoch: fresh.epoch)] }
      fresh.givenBack = state.givenBack
      state = fresh
      return BaseHold(epoch: fresh.epoch, registry: fresh.bases)
    }
  }

  /// Begins the next epoch, and returns the hold of its base tree.
  func holdOfNextBase() -> BaseHold {
    state.withLock { state in
      state.epoch += 1
      return BaseHold(epoch: state.epoch, registry: state.bases)
    }
  }

  /// Holds the base tree of an older checkpoint; nil if parts of it may have been given back. Any
  /// thread.
  func hold(checkpoint offset: UInt64) -> BaseHold? {
    state.withLock { state in
      guard offset >= state.oldestWhole else { return nil }
      let epoch = state.whole.first { $0.checkpoint == offset }?.epoch ?? 0
      return BaseHold(epoch: epoch, registry: state.bases)
    }
  }

  /// Calls a closure while everything that needs to know about dead space waits. For tests.
  func withStateLocked<Result>(_ body: () throws -> Result) rethrows -> Result {
    try state.withLock { _ in try body() }
  }

  // MARK: Collecting

  /// Keeps the dead space of a merge whose tree is built upon although its checkpoint was not
  /// written. The previous checkpoint still needs it.
  func keep(_ dead: DeadSpace) {
    if isCollecting { state.withLock { $0.unconcluded.append(dead) } }
  }

  /// Collects the dead space of a checkpoint once its slot is written, before its tree is
  /// installed. Neither the next base tree nor a later one needs it, nor the log before its replay
  /// offset.
  func collect(_ dead: DeadSpace, of checkpoint: AppendedCheckpoint) {
    let replay = checkpoint.record.replay
    var frames: [DeadRange] = []
    let collects = isCollecting
    if collects {
      // Frames that cannot be read are not given back.
      do throws(Fault) {
        frames = try file.log.frames(from: self.replay, to: replay.offset).ranges
      } catch {}
    }
    state.withLock { state in
      var all = state.unconcluded
      state.unconcluded = DeadSpace()
      all.append(dead)
      all.leave(log: frames)
      all.removeAll(beyond: checkpoint.offset)
      state.replay = replay
      state.newest = checkpoint
      state.whole.append(.init(checkpoint: checkpoint.offset, epoch: state.epoch + 1))
      // If no space is given back, all checkpoints stay complete, and only some need to be listed.
      if !collects { state.whole.removeFirst(max(0, state.whole.count - options.wholeCheckpoints)) }
      if collects {
        state.waiting.append(.init(epoch: state.epoch + 1, ranges: all.ranges, length: all.length))
      }
    }
  }

  // MARK: Giving back

  /// Prevents giving space back until the matching `release`, and waits until none is being given
  /// back. Any thread.
  func hold() {
    holds.add(1, ordering: .acquiringAndReleasing)
    punching.withLock {}
  }

  func release() { holds.subtract(1, ordering: .acquiringAndReleasing) }

  private var isHeld: Bool { holds.load(ordering: .acquiring) > 0 }

  /// Gives dead blocks back to the file system. Without any other lock.
  ///
  /// - Parameter least: the smallest number of dead bytes for which this is worthwhile; nil for the
  ///   default.
  /// - Throws: only if the store can no longer write, because a slot could not be made durable.
  func giveBack(least: UInt64? = nil) throws(Fault) {
    guard isCollecting, !isHeld else { return }
    do throws(Fault) {
      try joinDead(least: least ?? options.punchingThreshold)
      try punchLoose()
    } catch {
      if file.log.isPoisoned { throw error }
      // If there was no space for the slot, the next checkpoint tries again. No other failure is
      // worth another try.
      if error.kind == .outOfSpace { return }
      state.withLock { state in
        state.failure = error
        state.end()
      }
    }
  }

  /// Gives the blocks back into which a checkpoint wrote nodes before it failed for lack of space.
  /// Nothing ever referred to them.
  func discard(_ regions: [Range<UInt64>]) {
    guard isCollecting else { return }
    state.withLock { state in
      state.loose.insert(
        regions.map { DeadRange(start: $0.lowerBound, end: $0.upperBound, endsInNode: false) })
    }
    // If this fails, they wait for the next checkpoint.
    do throws(Fault) { try punchLoose() } catch { return }
  }

  /// Moves ranges that nobody needs any more to `loose`, after making sure that neither slot leads
  /// to them.
  private func joinDead(least: UInt64) throws(Fault) {
    let log = file.log
    let limit = state.withLock { state in
      state.eligible(keeping: options.wholeCheckpoints, oldestHeld: nil)
    }
    guard let limit, limit.length >= least, try !log.hasReaders(),
      try knowsOwners(dead: limit.length)
    else { return }
    waitForReads(of: limit.epoch)
    // From here on no older checkpoint can be opened, so that no new reader can pin these ranges.
    let decided = state.withLock { state -> (checkpoint: AppendedCheckpoint, epoch: UInt64)? in
      guard
        let eligible = state.eligible(keeping: options.wholeCheckpoints, oldestHeld: state.bases.oldest),
        eligible.length >= least, let newest = state.newest
      else { return nil }
      state.whole.removeAll { $0.epoch < eligible.epoch }
      state.oldestWhole = state.whole.first?.checkpoint ?? newest.offset
      return (newest, eligible.epoch)
    }
    guard let decided else { return }
    try log.writeBothSlots(naming: decided.checkpoint, oldestWhole: oldestWhole)
    state.withLock { state in
      let count = state.waiting.prefix { $0.epoch <= decided.epoch }.count
      let dead = state.waiting.prefix(count).flatMap(\.ranges)
      state.waiting.removeFirst(count)
      state.ownership.remove(dead)
      state.loose.insert(dead) { log.isPadding($0) }
    }
  }

  /// Waits briefly for transactions and short reads, which hold an older base tree for microseconds
  /// only, and tell nobody when they end. Does not wait for snapshots.
  private func waitForReads(of epoch: UInt64) {
    let bases = state.withLock { $0.bases }
    var waited: UInt64 = 0
    readers.collect()
    while waited < SpaceReclaimer.patienceMilliseconds, let oldest = bases.oldest, oldest < epoch {
      Monitor.sleep(milliseconds: 1)
      readers.collect()
      waited += 1
    }
  }

  private func punchLoose() throws(Fault) {
    let log = file.log
    let blockLength = log.device.blockLength
    var blocks = state.withLock { state in
      state.ownership.free(in: state.loose.takeBlocks(of: blockLength) { log.isPadding($0) }, of: blockLength)
    }
    let all = blocks.reduce(0) { $0 + $1.count }
    var outcome = PunchOutcome.busy
    defer {
      let rest = blocks.map { DeadRange(start: $0.lowerBound, end: $0.upperBound, endsInNode: false) }
      state.withLock { state in
        state.givenBack += UInt64(all - blocks.reduce(0) { $0 + $1.count })
        state.loose.insert(rest)
        if outcome == .unsupported { state.end() }
      }
    }
    while !blocks.isEmpty, !isHeld {
      // A part of a long range may have been given back.
      let before = blocks.last
      outcome = try punching.withLock { () throws(Fault) in
        let start = MonotonicClock.nanoseconds
        return try log.punch(&blocks) {
          isHeld || MonotonicClock.nanoseconds - start >= SpaceReclaimer.punchNanoseconds
        }
      }
      if outcome != .busy || blocks.last == before { return }
      Monitor.sleep(milliseconds: SpaceReclaimer.pauseMilliseconds)
    }
  }

  // MARK: Owners

  /// Whether all references to blocks with dead bytes are known. Counts them if necessary.
  ///
  /// Throws if the file contradicts itself, or cannot be read.
  private func knowsOwners(dead length: UInt64) throws(Fault) -> Bool {
    let (ownership, newest) = state.withLock { ($0.ownership, $0.newest) }
    switch ownership {
    case .own, .counted: return true
    case .counting(let count): return try goOn(counting: count)
    case .unknown:
      let live = newest?.record.root?.liveBytes ?? 0
      let isQuick = live <= SpaceReclaimer.quickLength
      guard isQuick || length >= live / SpaceReclaimer.countedShare, let newest else { return false }
      guard let count = try startCounting(before: newest) else { return false }
      state.withLock { $0.ownership = .counting(count) }
      return try goOn(counting: count)
    }
  }

  private func goOn(counting count: ClaimCount) throws(Fault) -> Bool {
    let start = MonotonicClock.nanoseconds
    let isDone = try count.run {
      MonotonicClock.nanoseconds - start > SpaceReclaimer.countNanoseconds
    }
    if isDone { state.withLock { $0.ownership = .counted(count.claims) } }
    return isDone
  }

  /// Counts the log and the waiting ranges; nil if not everything can be counted.
  private func startCounting(before newest: AppendedCheckpoint) throws(Fault) -> ClaimCount? {
    guard var claims = BlockClaims(limit: newest.offset) else { return nil }
    let (waiting, replay) = state.withLock { ($0.waiting, $0.replay) }
    let log = file.log
    let frames = try log.frames(from: replay, to: newest.offset)
    guard frames.isWhole else { return nil }
    for range in waiting.flatMap(\.ranges) + frames.ranges {
      guard claims.add(range) else { throw Ownership.contradiction(at: range.start) }
    }
    guard let hold = hold(checkpoint: newest.offset) else { return nil }
    return ClaimCount(claims, tree: Version(of: newest.record, in: log, hold: hold))
  }
}

extension Version {
  /// The state of a checkpoint, without later commits.
  convenience init(of record: CheckpointRecord, in log: DatabaseFile, hold: BaseHold) {
    // It has no write buffer, so no buffer nodes are kept for it. It needs a separate registry,
    // because the writer's accepts numbers only in ascending order and transactions continue
    // meanwhile.
    self.init(
      number: 0, transaction: record.transaction, base: record.root, active: BufferState(), frozen: nil,
      known: KnownKeyspaces(), file: log.view, mapping: log.use, registry: VersionRegistry(),
      hold: hold)
  }
}
