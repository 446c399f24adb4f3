import LatewoodBytes
import LatewoodFile
import LatewoodTree

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
struct DeadSpaceState {
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
  var givenBack: UInt64 = 0
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
