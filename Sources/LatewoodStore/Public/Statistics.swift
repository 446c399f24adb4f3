import LatewoodBytes
import LatewoodTree

/// Sizes and counters of an open store, all of one moment.
public struct Statistics: Sendable, Equatable {
  /// Bytes of the file.
  public var fileSize: UInt64 = 0
  /// Bytes that the file takes on the disk; less than `fileSize` where it has holes.
  public var allocatedSize: UInt64 = 0
  /// Bytes of the nodes and large values that the newest checkpoint refers to.
  public var liveBytes: UInt64 = 0
  /// Bytes of log that the newest checkpoint does not hold.
  public var logBytes: UInt64 = 0
  /// Offset where the log ends. It grows with every commit, and starts anew only in the file that a
  /// compaction makes.
  public var logEnd: UInt64 = 0
  /// Bytes that neither the newest checkpoint nor the log after it needs.
  public var deadBytes: UInt64 = 0
  /// Bytes given back to the file system since the store was opened.
  public var punchedBytes: UInt64 = 0
  /// Why no more is given back, if that failed; nothing else follows from it.
  public var punchingFailure: StoreError?
  /// Entries of the newest checkpoint, the catalog's own among them.
  public var entries: UInt64 = 0
  /// Levels of the tree; 0 if it is empty.
  public var treeHeight = 0
  /// Keys that wait in the write buffers.
  public var pendingEntries = 0
  /// Ranges that were deleted and wait in the write buffers.
  public var pendingRanges = 0
  /// The newest transaction.
  public var transaction: UInt64 = 0
  /// The newest transaction that the newest checkpoint holds.
  public var checkpointTransaction: UInt64 = 0
  /// Whether a checkpoint is running.
  public var isCheckpointing = false
  /// Why the last checkpoint in the background failed; nil once one has succeeded.
  public var checkpointFailure: StoreError?
  /// Why the last automatic compaction failed or was refused; nil once one has succeeded, also one
  /// that was asked for. The next attempt waits for more commits, each time for twice as many.
  public var compactionFailure: StoreError?
  public var openSnapshots = 0
  /// The transaction of the oldest open snapshot.
  public var oldestSnapshot: UInt64?
  /// Everything in the file before this offset survives a power cut.
  public var durableThrough: UInt64 = 0
  /// Bytes of memory that the write buffers and the log's chunks take.
  public var memoryBytes: UInt64 = 0
  /// 32 hexadecimal digits.
  public var fileID = ""
  public var formatVersion: UInt32 = 0
  /// Microseconds since 1970-01-01 00:00 UTC.
  public var created: UInt64 = 0
}

extension Store {
  /// Sizes and counters. O(pending ranges).
  public func statistics() throws(StoreError) -> Statistics {
    do { return try engine.statistics() } catch { throw StoreError(error, path: engine.path) }
  }

  /// The checkpoints that are still whole in the file, newest first: as many as
  /// ``Store/Options/wholeCheckpoints`` says, and older ones of which nothing was given back yet.
  /// O(checkpoints).
  ///
  /// Where one before the newest is damaged or gone, the list ends with the one after it, whose
  /// ``Checkpoint/isOlderLost`` is set.
  ///
  /// - Throws: ``StoreError`` `closed`; `damaged` if the newest one cannot be read.
  public func history() throws(StoreError) -> [Checkpoint] {
    do { return try engine.history() } catch { throw StoreError(error, path: engine.path) }
  }

  /// Opens a checkpoint of the past as a snapshot.
  ///
  /// - Parameter checkpoint: one that ``history()`` gave.
  /// While the snapshot is open, nothing that it shows is given back to the file system.
  ///
  /// - Throws: ``StoreError`` `notFound` if part of it was given back since; `damaged` if there is
  ///   no checkpoint at its offset.
  public func snapshot(asOf checkpoint: Checkpoint) throws(StoreError) -> Snapshot {
    do {
      return Snapshot(engine, try engine.version(asOf: checkpoint))
    } catch { throw StoreError(error, path: engine.path) }
  }
}
