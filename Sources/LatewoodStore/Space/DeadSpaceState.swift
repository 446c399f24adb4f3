import LatewoodBytes
import LatewoodFile
import LatewoodTree

/// The dead parts of a store's file: their ranges, the epochs in which they died, and the
/// checkpoints that are still complete.
///
/// ```
/// merge      makes ranges dead, which are collected once the slot of its checkpoint is written
/// waiting    until no older base tree is pinned, and enough checkpoints are complete without them
/// punchable  joined with their neighbours; complete blocks are punched, the rest stays
/// ```
///
/// An epoch is the number of a base tree: 0 when the store is opened, and one more after each
/// checkpoint. Ranges that the merge to epoch `n` made dead are needed only by base trees before
/// `n`.
///
/// Invariants:
/// 1. For every range in this state there is a checkpoint that does not need it, and a slot that
///    refers to this checkpoint. Before the range is punched, both are durable, and both slots
///    refer to such a checkpoint. Nodes of a checkpoint that failed before any slot referred to it
///    are the exception: nothing ever referred to them.
/// 2. No part of a checkpoint in `complete` is reclaimed before the checkpoint is removed from it.
/// 3. A block is punched only if nothing else refers to it: see `Ownership`.
///
/// This state is not stored in the file: ranges that are waiting when the store is closed stay
/// until a sweep finds them (`SpaceReclaimer.sweep`), or the file is compacted.
struct DeadSpaceState {
  struct Dead {
    var epoch: UInt64
    var ranges: [DeadRange]
    var length: UInt64
  }
  struct Complete {
    var checkpoint: UInt64
    var epoch: UInt64
  }

  /// Dead space of merges whose checkpoint could not be written, but whose trees are in use.
  var unconcluded = DeadSpace()
  var ownership = Ownership.unknown
  /// The pins of this file's base trees. Each file has its own registry: snapshots of an old file
  /// do not pin anything in the new one.
  let bases = BasePinRegistry()
  /// The replay position of the newest checkpoint.
  var replay = ReplayPosition.start
  var newest: AppendedCheckpoint?
  var epoch: UInt64 = 0
  var waiting: [Dead] = []
  var punchable = DeadRanges()
  var complete: [Complete] = []
  /// The offset of the oldest readable checkpoint; 0 if all are readable.
  var oldestWhole: UInt64 = 0
  var reclaimedBytes: UInt64 = 0
  /// Whether all dead blocks of earlier sessions have been found; see `SpaceReclaimer.sweep`.
  var isSwept = false
  /// Whether reclaiming has ended, because the file system does not support it or failed.
  var isOver = false
  var failure: StorageError?

  /// Stops collecting and reclaiming dead ranges.
  mutating func end() {
    isOver = true
    unconcluded = DeadSpace()
    waiting = []
    punchable = DeadRanges()
    ownership = .unknown
  }

  /// Returns the greatest epoch, and the total length, of the dead ranges that are no longer
  /// needed.
  func eligible(keeping checkpoints: Int, oldestPinned: UInt64?) -> (epoch: UInt64, length: UInt64)? {
    guard let first = complete.suffix(checkpoints).first else { return nil }
    let limit = min(first.epoch, oldestPinned ?? .max)
    let dead = waiting.prefix { $0.epoch <= limit }
    guard let last = dead.last else { return nil }
    return (last.epoch, dead.reduce(0) { $0 &+ $1.length })
  }
}
