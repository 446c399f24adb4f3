/// The sizes from which the compaction policy decides.
struct Occupancy {
  /// The number of bytes that the file takes on the disk, without holes.
  var size: UInt64
  /// The size of the file in bytes, including holes.
  var apparent: UInt64
  var live: UInt64
  /// The number of bytes of log that are not in a checkpoint yet.
  var log: UInt64
  /// The number of bytes appended since the newest checkpoint: log that is not in a checkpoint yet,
  /// and the part of the next tree that is already written. As many bytes will be dead after the
  /// next checkpoint.
  var recent: UInt64

  /// The fraction of bytes that are dead now.
  var deadShare: Double { share(of: live + recent) }
  /// The fraction of bytes that a compaction would give back.
  var removableShare: Double { share(of: live) }

  private func share(of needed: UInt64) -> Double {
    size > needed ? Double(size - needed) / Double(size) : 0
  }

  /// Whether the file is about to exceed its bounds.
  ///
  /// Until a compaction has ended, a checkpoint may add a tree to the file, writers as much log as
  /// `Engine.measureSpare` and `Engine.beginLag` let them, and the new file is another copy. On the
  /// disk, the tree and the log of a checkpoint are given back before the copy is made.
  ///
  /// - Parameter isGivingBack: whether the dead blocks of a checkpoint are still being given back.
  func isTooLarge(_ bounds: SpaceBounds, isGivingBack: Bool) -> Bool {
    let tree = apparent - min(apparent, log)
    if tree + live / 2 * 7 + 36 << 20 >= bounds.apparent { return true }
    if isGivingBack { return false }
    return size - min(size, recent) + live / 5 * 7 + 8 << 20 >= bounds.allocated
  }

  /// The number of bytes that may still be allocated for log, beside the present file and the next
  /// tree or compacted file.
  func spare(within bounds: SpaceBounds) -> UInt64 { bounds.allocated - min(bounds.allocated, size + live) }
}

/// The bounds that `CompactionPolicy` promises for the whole of a store, in bytes, less a margin
/// for what its files preallocate.
struct SpaceBounds {
  let allocated: UInt64
  let apparent: UInt64

  /// - Parameters:
  ///   - live: number of live bytes.
  ///   - wholeCheckpoints: number of checkpoints that stay readable.
  init(live: UInt64, wholeCheckpoints: Int) {
    let past = UInt64(min(wholeCheckpoints - 1, 1000)) * live
    allocated = 3 * live + past + 24 << 20
    apparent = 8 * live + past + 56 << 20
  }
}
