import LatewoodBytes
import LatewoodFile

/// Closing a store without leaving a file that grows from session to session.
///
/// A session cannot reclaim the space that becomes dead in its last checkpoint. A closing session
/// therefore looks at the size of the file. Usually that is all: two system calls. If much is dead,
/// it sweeps (``SpaceReclaimer/sweep(upTo:)``), which writes nothing but root slots. Only if the
/// file would still exceed the bounds of `CompactionPolicy`, by its length or by dead parts of
/// blocks, it is compacted. Between two sweeps half of the live data and 16 MiB become dead, and
/// between two compactions the live data several times, so their cost for each session does not
/// grow with it.
extension Engine {
  /// The maximum number of live bytes that a closing session compacts: of the files for which the
  /// bounds are promised.
  private static let greatestCompacted: UInt64 = 128 << 20
  /// The maximum number of live bytes that a closing session sweeps.
  private static let greatestSwept: UInt64 = 256 << 20
  /// The maximum on a full disk, where every session does, and also before a commit is refused.
  static let greatestSweptWhenTight: UInt64 = 64 << 20
  /// The number of dead bytes for which a file on a full disk is compacted, if they are also half
  /// as many as the live ones.
  private static let leastRelief: UInt64 = 256 << 10
  /// The number of dead bytes that are always tolerated.
  private static let toleratedDead: UInt64 = 16 << 20

  /// Compacts a file that exceeds its bounds, before the store is closed. Returns nil if that was
  /// not necessary or not possible. After a failure the file stays as it was.
  func compactBeforeClosing() -> StoreEvent? {
    let mayCompact = options.compaction.isAutomatic && options.checkpointsInBackground
    guard mayCompact || options.keepsBoundsWhenClosed, !isReadOnly, !isClosed, !file.isPoisoned,
      !compaction.isPaused
    else { return nil }
    do throws(StorageError) {
      guard try needsCompaction() else { return nil }
      try checkpoint(isForced: false)
      try sweepBeforeClosing()
      guard try needsCompaction(), pacer.liveBytes <= Engine.greatestCompacted else { return nil }
      return .compactionFinished(try compact(bytesPerSecond: nil, isAutomatic: true, nil))
    } catch {
      // Closing continues, and throws if the store can no longer write.
      guard var failure = recordFailure(error) else { return nil }
      failure.bytesUntilRetry = nil
      return .compactionFailed(failure)
    }
  }

  /// Whether the file exceeds its bounds or, on a full disk, a compaction can free what no other
  /// step does: parts of blocks, and entries that a layer above keeps until then.
  private func needsCompaction() throws(StorageError) -> Bool {
    let occupancy = try occupancy()
    let bounds = SpaceBounds(live: occupancy.live, wholeCheckpoints: options.wholeCheckpoints)
    if occupancy.size > bounds.allocated || occupancy.apparent > bounds.apparent { return true }
    guard disk.isTight else { return false }
    let file = file
    let reserved = head.withMaintenance { file.writer.reservedLength }
    let used = occupancy.live + occupancy.recent + reserved
    let allocated = try file.device.allocatedSize()
    let dead = allocated - min(allocated, used)
    // It must find the space for the new file.
    return dead >= max(occupancy.live / 2, Engine.leastRelief)
      && occupancy.live / 8 * 9 + Engine.leastRelief <= reserved + (file.device.freeSpace() ?? 0)
  }

  /// Reclaims what earlier sessions have left, if that is much, or if the disk is full. After the
  /// last checkpoint.
  func sweepBeforeClosing() throws(StorageError) {
    guard reclaimer.isCollecting else { return }
    let (file, live) = (file, pacer.liveBytes)
    let isTight = disk.isTight
    let allocated = try file.device.allocatedSize()
    let reserved = head.withMaintenance { file.writer.reservedLength }
    guard isTight || allocated > live / 2 * 5 + reserved + Engine.toleratedDead else { return }
    try checkpointer.withoutCheckpoints { () throws(StorageError) in
      try reclaimer.sweep(upTo: isTight ? Engine.greatestSweptWhenTight : Engine.greatestSwept)
    }
    // No other program gets the space that the next session needs for deletes.
    if isTight { head.withMaintenance { file.writer.refillReserve() } }
  }
}
