import LatewoodBytes
import LatewoodDevice
import LatewoodFile
import LatewoodTree
import Synchronization

/// What the store knows of dead parts of its file: which there are, since when, and which
/// checkpoints are still whole.
///
/// ```
/// merge          leaves dead ranges            (counted once the checkpoint is concluded: its slot is written)
/// waiting        until nobody holds a base tree from before, and enough checkpoints are whole without them
/// loose          joined with their neighbours; whole blocks are given back, the rest stays
/// ```
///
/// An epoch counts base trees: the one a store was opened with is 0, and each that a checkpoint
/// installs is the next. What the merge to epoch `n` left behind is needed by base trees before `n`
/// only.
///
/// Invariants:
/// 1. A range is in here only if both are durable or will be made so before it is given back: the
///    checkpoint that does without it, and a slot that names it. Before anything is given back both
///    slots name such a checkpoint.
/// 2. `whole` are checkpoints of which nothing was given back, nor will be before they are taken
///    out.
/// 3. A block is given back only if nothing else refers to it: see `Ownership`.
///
/// Nothing of it is in the file: what waits when the store is closed stays until the file is
/// compacted.
struct Punching {
  struct Dead {
    var epoch: UInt64
    var ranges: [DeadRange]
    var length: UInt64
  }
  struct Whole {
    var checkpoint: UInt64
    var epoch: UInt64
  }

  /// What was left behind by merges whose checkpoint could not be written, while their trees were
  /// built upon.
  var unconcluded = DeadSpace()
  var ownership = Ownership.unknown
  /// Who still reads the base trees of this file. Another file has another: snapshots of the old
  /// one hold nothing of the new one.
  let bases = BaseRegistry()
  /// Where a replay starts from the newest checkpoint.
  var replay = ReplayPosition.start
  var newest: AppendedCheckpoint?
  var epoch: UInt64 = 0
  var waiting: [Dead] = []
  var loose = DeadRanges()
  var whole: [Whole] = []
  /// Offset of the oldest checkpoint that can be read; 0: all can.
  var oldestWhole: UInt64 = 0
  var punchedBytes: UInt64 = 0
  /// No more is given back: the file system cannot, or failed.
  var isOver = false
  var failure: Fault?

  /// Nothing is collected or given back any more.
  mutating func end() {
    isOver = true
    unconcluded = DeadSpace()
    waiting = []
    loose = DeadRanges()
    ownership = .unknown
  }

  /// What may be given back, if it is worth it: the greatest epoch of it, and its length.
  func eligible(keeping checkpoints: Int, oldestHeld: UInt64?) -> (epoch: UInt64, length: UInt64)? {
    guard let first = whole.suffix(checkpoints).first else { return nil }
    let limit = min(first.epoch, oldestHeld ?? .max)
    let dead = waiting.prefix { $0.epoch <= limit }
    guard let last = dead.last else { return nil }
    return (last.epoch, dead.reduce(0) { $0 &+ $1.length })
  }
}

extension Engine {
  /// How long readers are kept out at a time, and the pause after that.
  private static let punchNanoseconds: UInt64 = 10_000_000
  private static let pauseMilliseconds: UInt64 = 3
  /// How long reads of the tree before are waited for that are about to end.
  private static let patienceMilliseconds: UInt64 = 20

  /// Whether dead ranges are collected.
  var collectsDead: Bool { options.punchesHoles && !isReadOnly && !punching.withLock { $0.isOver } }

  /// Begins anew with the file that `log` is from now on; what was known of the one before is
  /// forgotten with it.
  ///
  /// - Parameters:
  ///   - checkpoint: offset of its newest checkpoint; 0 if there is none.
  ///   - replay: where a replay starts from that.
  ///   - isOwn: this process wrote the file from its beginning.
  /// - Returns: the hold of that checkpoint's base tree.
  func startPunching(from checkpoint: UInt64, replay: ReplayPosition, isOwn: Bool) -> BaseHold {
    punching.withLock { state in
      var fresh = Punching()
      fresh.replay = replay
      fresh.ownership = isOwn ? .own : .unknown
      fresh.oldestWhole = log.oldestWholeCheckpoint
      if checkpoint != 0 { fresh.whole = [.init(checkpoint: checkpoint, epoch: fresh.epoch)] }
      fresh.punchedBytes = state.punchedBytes
      state = fresh
      return BaseHold(epoch: fresh.epoch, registry: fresh.bases)
    }
  }

  /// The hold of the base tree that is installed next. Under `checkpointing`.
  func holdOfNextBase() -> BaseHold {
    punching.withLock { state in
      state.epoch += 1
      return BaseHold(epoch: state.epoch, registry: state.bases)
    }
  }

  // MARK: What dies

  /// A merge's tree is built upon although its checkpoint was not written: what it left is still
  /// needed.
  func keepDead(_ dead: DeadSpace) {
    if collectsDead { punching.withLock { $0.unconcluded.append(dead) } }
  }

  /// A checkpoint was written, and the slot that names it: from the base tree that is installed
  /// next on nobody needs what its merge left, nor the log before its replay offset. Under
  /// `checkpointing`, before the tree is installed.
  func release(_ dead: DeadSpace, by checkpoint: AppendedCheckpoint) {
    let replay = checkpoint.record.replay
    var frames: [DeadRange] = []
    let collects = collectsDead
    if collects {
      // What cannot be read stays where it is.
      do throws(Fault) {
        frames = try log.frames(from: punching.withLock { $0.replay }, to: replay.offset).ranges
      } catch {}
    }
    punching.withLock { state in
      var all = state.unconcluded
      state.unconcluded = DeadSpace()
      all.append(dead)
      all.leave(log: frames)
      all.removeAll(beyond: checkpoint.offset)
      state.replay = replay
      state.newest = checkpoint
      state.whole.append(.init(checkpoint: checkpoint.offset, epoch: state.epoch + 1))
      // Checkpoints that are not asked for need not be remembered one by one.
      if !collects { state.whole.removeFirst(max(0, state.whole.count - options.wholeCheckpoints)) }
      if collects {
        state.waiting.append(.init(epoch: state.epoch + 1, ranges: all.ranges, length: all.length))
      }
    }
  }

  // MARK: What is given back

  /// Until as many calls of `releasePunching`, nothing is given back; on return nothing is being
  /// given back.
  func holdPunching() {
    punchingHolds.add(1, ordering: .acquiringAndReleasing)
    punchingNow.withLock {}
  }

  func releasePunching() { punchingHolds.subtract(1, ordering: .acquiringAndReleasing) }

  private var isHeld: Bool { punchingHolds.load(ordering: .acquiring) > 0 }

  /// Gives the file system what is dead by now. Under `checkpointing`, without any other lock.
  ///
  /// Throws only if the store cannot write any more: a slot could not be made durable.
  func punchDead() throws(Fault) {
    guard collectsDead, !isHeld else { return }
    do throws(Fault) {
      try joinDead()
      try punchLoose()
    } catch {
      if log.isPoisoned { throw error }
      // For lack of space the slot was not written: the next checkpoint tries again. Nothing else
      // is worth another try.
      if error.kind == .outOfSpace { return }
      punching.withLock { state in
        state.failure = error
        state.end()
      }
    }
  }

  /// Decides what has been waiting long enough, and makes sure that neither slot leads there.
  private func joinDead() throws(Fault) {
    let limit = punching.withLock { state in
      state.eligible(keeping: options.wholeCheckpoints, oldestHeld: nil)
    }
    guard let limit, limit.length >= options.punchingThreshold, try !log.hasReaders(),
      try knowsOwners(dead: limit.length)
    else { return }
    waitForReads(of: limit.epoch)
    // From here on no older checkpoint can be opened, so that nobody comes to hold what was found
    // to be held by nobody.
    let decided = punching.withLock { state -> (checkpoint: AppendedCheckpoint, epoch: UInt64)? in
      guard
        let eligible = state.eligible(keeping: options.wholeCheckpoints, oldestHeld: state.bases.oldest),
        eligible.length >= options.punchingThreshold, let newest = state.newest
      else { return nil }
      state.whole.removeAll { $0.epoch < eligible.epoch }
      state.oldestWhole = state.whole.first?.checkpoint ?? newest.offset
      return (newest, eligible.epoch)
    }
    guard let decided else { return }
    let oldestWhole = punching.withLock { $0.oldestWhole }
    try log.writeBothSlots(naming: decided.checkpoint, oldestWhole: oldestWhole)
    punching.withLock { state in
      let count = state.waiting.prefix { $0.epoch <= decided.epoch }.count
      let dead = state.waiting.prefix(count).flatMap(\.ranges)
      state.waiting.removeFirst(count)
      state.ownership.remove(dead)
      state.loose.insert(dead) { log.isPadding($0) }
    }
  }

  /// A transaction that ends, or a read, has the base tree from before for microseconds more; a
  /// snapshot is not waited for.
  private func waitForReads(of epoch: UInt64) {
    let bases = punching.withLock { $0.bases }
    var waited: UInt64 = 0
    readers.collect()
    while waited < Engine.patienceMilliseconds, let oldest = bases.oldest, oldest < epoch {
      Monitor.sleep(milliseconds: 1)
      readers.collect()
      waited += 1
    }
  }

  private func punchLoose() throws(Fault) {
    let blockLength = log.device.blockLength
    var blocks = punching.withLock { state in
      state.ownership.free(in: state.loose.takeBlocks(of: blockLength) { log.isPadding($0) }, of: blockLength)
    }
    let all = blocks.reduce(0) { $0 + $1.count }
    var outcome = PunchOutcome.busy
    defer {
      let rest = blocks.map { DeadRange(start: $0.lowerBound, end: $0.upperBound, endsInNode: false) }
      punching.withLock { state in
        state.punchedBytes += UInt64(all - blocks.reduce(0) { $0 + $1.count })
        state.loose.insert(rest)
        if outcome == .unsupported { state.end() }
      }
    }
    while !blocks.isEmpty, !isHeld {
      // Of a long block a part may have been given back.
      let before = blocks.last
      punchingNow.lock()
      let start = MonotonicClock.nanoseconds
      do throws(Fault) {
        outcome = try log.punch(&blocks) {
          isHeld || MonotonicClock.nanoseconds - start >= Engine.punchNanoseconds
        }
        punchingNow.unlock()
      } catch {
        punchingNow.unlock()
        throw error
      }
      if outcome != .busy || blocks.last == before { return }
      Monitor.sleep(milliseconds: Engine.pauseMilliseconds)
    }
  }

  // MARK: Checkpoints of the past

  /// Holds the base tree of a checkpoint; nil if parts of it may be gone.
  func hold(checkpoint offset: UInt64) -> BaseHold? {
    punching.withLock { state in
      guard offset >= state.oldestWhole else { return nil }
      let epoch = state.whole.first { $0.checkpoint == offset }?.epoch ?? 0
      return BaseHold(epoch: epoch, registry: state.bases)
    }
  }
}
