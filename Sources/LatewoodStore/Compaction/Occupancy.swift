/// The sizes on which the decisions of the compaction policy are based.
struct Occupancy {
  /// The number of bytes that the file occupies on the disk, without holes.
  var size: UInt64
  /// The size of the file in bytes, including holes.
  var apparent: UInt64
  var live: UInt64
  /// The number of bytes of log that are not in a checkpoint yet.
  var log: UInt64
  /// The number of bytes appended since the newest checkpoint: log that is not in a checkpoint yet,
  /// and the part of the next tree that has been written. The next checkpoint makes as many bytes
  /// dead.
  var recent: UInt64

  /// The fraction of bytes that are dead now.
  var deadShare: Double { share(of: live + recent) }
  /// The fraction of bytes that a compaction would remove.
  var removableShare: Double { share(of: live) }

  private func share(of needed: UInt64) -> Double {
    size > needed ? Double(size - needed) / Double(size) : 0
  }

  /// Whether the file is about to exceed its bounds.
  ///
  /// Until the end of a compaction, a checkpoint may add a tree to the file, writers may add as
  /// much log as `Engine.measureSpare` and `Engine.beginLag` allow, and the new file is another
  /// copy. On the disk, the tree and the log of a checkpoint are reclaimed before the copy is
  /// written.
  ///
  /// - Parameter isGivingBack: whether the dead blocks of a checkpoint are still being reclaimed.
  func isTooLarge(_ bounds: SpaceBounds, isGivingBack: Bool) -> Bool {
    let tree = apparent - min(apparent, log)
    if tree + live / 2 * 7 + 36 << 20 >= bounds.apparent { return true }
    if isGivingBack { return false }
    return size - min(size, recent) + live / 5 * 7 + 8 << 20 >= bounds.allocated
  }

  /// Returns the number of bytes that may still be allocated for log, besides the current file and
  /// the next tree or compacted file.
  func spare(within bounds: SpaceBounds) -> UInt64 { bounds.allocated - min(bounds.allocated, size + live) }
}

/// The bounds that `CompactionPolicy` promises for all files of a store, in bytes, less a margin
/// for preallocated space.
struct SpaceBounds {
  let allocated: UInt64
  let apparent: UInt64

  /// - Parameters:
  ///   - live: number of live bytes.
  ///   - wholeCheckpoints: number of checkpoints that stay complete.
  init(live: UInt64, wholeCheckpoints: Int) {
    let past = UInt64(min(wholeCheckpoints - 1, 1000)) * live
    allocated = 3 * live + past + 24 << 20
    apparent = 8 * live + past + 56 << 20
  }
}
