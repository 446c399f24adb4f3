import LatewoodBytes
import LatewoodConcurrency
import LatewoodFile
import LatewoodTree
import Synchronization

/// The dead parts of a store's file: their ranges, the epoch since which they are dead, and the
/// checkpoints that are still complete.
///
/// ```
/// merge      leaves dead ranges, which are collected once the slot of its checkpoint is written
/// waiting    until no older base tree is held, and enough checkpoints are whole without them
/// loose      joined with their neighbours; whole blocks are given back, the rest stays
/// ```
///
/// An epoch is the number of a base tree: the one a store was opened with is 0, and each checkpoint
/// installs the next. Ranges left behind by the merge to epoch `n` are needed only by base trees
/// before `n`.
///
/// Invariants:
/// 1. For every range in here there is a checkpoint that does not need it, and a slot that names
///    this checkpoint. Both are made durable before the range is given back, and by then both slots
///    name such a checkpoint. Nodes of a checkpoint that was given up before any slot named it are
///    the exception: nothing has ever led to them.
/// 2. No part of a checkpoint in `whole` has been given back, or will be before it is removed from
///    there.
/// 3. A block is given back only if nothing else refers to it: see `Ownership`.
///
/// None of this is in the file: ranges that wait when the store is closed stay until the file is
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

  /// Space left behind by merges whose checkpoint could not be written, but whose trees were built
  /// upon.
  var unconcluded = DeadSpace()
  var ownership = Ownership.unknown
  /// The readers of this file's base trees. Each file has its own registry: snapshots of an old
  /// file hold nothing in the new one.
  let bases = BaseRegistry()
  /// The replay position of the newest checkpoint.
  var replay = ReplayPosition.start
  var newest: AppendedCheckpoint?
  var epoch: UInt64 = 0
  var waiting: [Dead] = []
  var loose = DeadRanges()
  var whole: [Whole] = []
  /// The offset of the oldest checkpoint that can be read; 0 if all can be.
  var oldestWhole: UInt64 = 0
  var punchedBytes: UInt64 = 0
  /// Whether no more space is given back, because the file system cannot do it or failed.
  var isOver = false
  var failure: Fault?

  /// Stops collecting dead ranges and giving them back.
  mutating func end() {
    isOver = true
    unconcluded = DeadSpace()
    waiting = []
    loose = DeadRanges()
    ownership = .unknown
  }

  /// The dead ranges that nobody needs any more: their greatest epoch, and their length in bytes.
  func eligible(keeping checkpoints: Int, oldestHeld: UInt64?) -> (epoch: UInt64, length: UInt64)? {
    guard let first = whole.suffix(checkpoints).first else { return nil }
    let limit = min(first.epoch, oldestHeld ?? .max)
    let dead = waiting.prefix { $0.epoch <= limit }
    guard let last = dead.last else { return nil }
    return (last.epoch, dead.reduce(0) { $0 &+ $1.length })
  }
}

extension Engine {
  /// The longest time for which readers are kept out at once, and the pause after it.
  private static let punchNanoseconds: UInt64 = 10_000_000
  private static let pauseMilliseconds: UInt64 = 3
  /// The longest wait for short reads of an older tree to end.
  private static let patienceMilliseconds: UInt64 = 20

  /// Whether dead ranges are collected.
  var collectsDead: Bool { options.punchesHoles && !isReadOnly && !punching.withLock { $0.isOver } }

  /// Starts with the file that `log` refers to now, and forgets everything about the previous one.
  ///
  /// - Parameters:
  ///   - checkpoint: offset of its newest checkpoint; 0 if there is none.
  ///   - replay: the replay position of that checkpoint.
  ///   - isOwn: whether this process wrote the whole file.
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

  /// Begins the next epoch, and returns the hold of its base tree. Under `checkpointing`.
  func holdOfNextBase() -> BaseHold {
    punching.withLock { state in
      state.epoch += 1
      return BaseHold(epoch: state.epoch, registry: state.bases)
    }
  }

  // MARK: Collecting dead space

  /// Keeps the dead space of a merge whose tree is built upon although its checkpoint was not
  /// written. The previous checkpoint still needs it.
  func keepDead(_ dead: DeadSpace) {
    if collectsDead { punching.withLock { $0.unconcluded.append(dead) } }
  }

  /// Collects the dead space of a checkpoint once its slot is written. Neither the next base tree
  /// nor a later one needs it, nor the log before its replay offset. Under `checkpointing`, before
  /// the tree is installed.
  func release(_ dead: DeadSpace, by checkpoint: AppendedCheckpoint) {
    let replay = checkpoint.record.replay
    var frames: [DeadRange] = []
    let collects = collectsDead
    if collects {
      // Frames that cannot be read are not given back.
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
      // If no space is given back, all checkpoints stay complete, and only some need to be listed.
      if !collects { state.whole.removeFirst(max(0, state.whole.count - options.wholeCheckpoints)) }
      if collects {
        state.waiting.append(.init(epoch: state.epoch + 1, ranges: all.ranges, length: all.length))
      }
    }
  }

  // MARK: Giving space back

  /// Prevents giving space back until the matching `releasePunching`, and waits until none is being
  /// given back.
  func holdPunching() {
    punchingHolds.add(1, ordering: .acquiringAndReleasing)
    punchingNow.withLock {}
  }

  func releasePunching() { punchingHolds.subtract(1, ordering: .acquiringAndReleasing) }

  private var isHeld: Bool { punchingHolds.load(ordering: .acquiring) > 0 }

  /// Gives dead blocks back to the file system. Under `checkpointing`, without any other lock.
  ///
  /// - Parameter least: the smallest number of dead bytes for which this is worthwhile; nil for the
  ///   default.
  ///
  /// Throws only if the store can no longer write, because a slot could not be made durable.
  func punchDead(least: UInt64? = nil) throws(Fault) {
    guard collectsDead, !isHeld else { return }
    do throws(Fault) {
      try joinDead(least: least ?? options.punchingThreshold)
      try punchLoose()
    } catch {
      if log.isPoisoned { throw error }
      // If there was no space for the slot, the next checkpoint tries again. No other failure is
      // worth another try.
      if error.kind == .outOfSpace { return }
      punching.withLock { state in
        state.failure = error
        state.end()
      }
    }
  }

  /// Moves ranges that nobody needs any more to `loose`, after making sure that neither slot leads
  /// to them.
  private func joinDead(least: UInt64) throws(Fault) {
    let limit = punching.withLock { state in
      state.eligible(keeping: options.wholeCheckpoints, oldestHeld: nil)
    }
    guard let limit, limit.length >= least, try !log.hasReaders(),
      try knowsOwners(dead: limit.length)
    else { return }
    waitForReads(of: limit.epoch)
    // From here on no older checkpoint can be opened, so that no new reader can pin these ranges.
    let decided = punching.withLock { state -> (checkpoint: AppendedCheckpoint, epoch: UInt64)? in
      guard
        let eligible = state.eligible(keeping: options.wholeCheckpoints, oldestHeld: state.bases.oldest),
        eligible.length >= least, let newest = state.newest
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

  /// Waits briefly for transactions and short reads, which hold an older base tree for microseconds
  /// only. Does not wait for snapshots.
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

  func punchLoose() throws(Fault) {
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
      // A part of a long range may have been given back.
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

  /// Holds the base tree of a checkpoint; nil if parts of it may have been given back.
  func hold(checkpoint offset: UInt64) -> BaseHold? {
    punching.withLock { state in
      guard offset >= state.oldestWhole else { return nil }
      let epoch = state.whole.first { $0.checkpoint == offset }?.epoch ?? 0
      return BaseHold(epoch: epoch, registry: state.bases)
    }
  }
}
