import LatewoodBytes
import LatewoodTree

/// Sizes and counters of an open store at one moment.
public struct Statistics: Sendable, Equatable {
  /// The size of the file, in bytes.
  public var fileSize: UInt64 = 0
  /// The number of bytes that the file occupies on the disk, including `reservedBytes`; less than
  /// `fileSize` if it has holes.
  public var allocatedSize: UInt64 = 0
  /// The number of bytes allocated after the end of the log, so that deletes can free a full disk;
  /// see ``Store/Options/punchesHoles``.
  public var reservedBytes: UInt64 = 0
  /// The number of bytes of the nodes and large values that the newest checkpoint refers to.
  public var liveBytes: UInt64 = 0
  /// The number of bytes of log that are not in the newest checkpoint.
  public var logBytes: UInt64 = 0
  /// The offset of the end of the log. It grows with every commit, and starts again only in the new
  /// file of a compaction.
  public var logEnd: UInt64 = 0
  /// The number of bytes that neither the newest checkpoint nor the log after it needs.
  public var deadBytes: UInt64 = 0
  /// The number of bytes returned to the file system since the store was opened.
  public var punchedBytes: UInt64 = 0
  /// The error after which the store stopped returning space; nil if there was no error. It has no
  /// other effect.
  public var punchingFailure: StoreError?
  /// The number of entries in the newest checkpoint, including the catalog.
  public var entries: UInt64 = 0
  /// The number of levels of the tree; 0 if it is empty.
  public var treeHeight = 0
  /// The number of keys in the write buffers.
  public var pendingEntries = 0
  /// The number of deleted ranges in the write buffers.
  public var pendingRanges = 0
  /// The number of the newest transaction.
  public var transaction: UInt64 = 0
  /// The number of the newest transaction in the newest checkpoint.
  public var checkpointTransaction: UInt64 = 0
  /// Whether a checkpoint is running.
  public var isCheckpointing = false
  /// The error of the first failed background checkpoint; nil once one has succeeded.
  public var checkpointFailure: StoreError?
  /// The error of the last automatic compaction; nil once any compaction has succeeded. The next
  /// attempt waits for more commits, each time for twice as many.
  public var compactionFailure: StoreError?
  /// The number of automatic compactions that have failed in a row; 0 once any compaction has
  /// succeeded. See also ``Store/Options/onEvent``.
  public var failedCompactions = 0
  /// The number of snapshots that are open.
  public var openSnapshots = 0
  /// The transaction of the oldest open snapshot.
  public var oldestSnapshot: UInt64?
  /// Everything in the file before this offset survives a power cut.
  public var durableThrough: UInt64 = 0
  /// The number of bytes of memory for the write buffers and the log's chunks.
  public var memoryBytes: UInt64 = 0
  /// Whether the file is mapped; if not, it is read through a cache (see ``Store/Reading``).
  public var isMapped = true
  /// The number of bytes of the file that are in memory if it is not mapped: its cache, and the
  /// commits that no checkpoint has merged. 0 if the file is mapped.
  public var cachedBytes: UInt64 = 0
  /// The paths of files that interrupted compactions, backups and replacements left next to the
  /// database, which only take space. The next open for writing removes them. Empty if the store is
  /// open for writing, and while another process has the database open for writing.
  public var leftovers: [String] = []
  /// The file id, as 32 hexadecimal digits.
  public var fileID = ""
  /// The version of the file format.
  public var formatVersion: UInt32 = 0
  /// The time at which the file was created, in microseconds since 1970-01-01 00:00 UTC.
  public var created: UInt64 = 0
}

extension Store {
  /// Returns sizes and counters of the store. O(pending ranges).
  ///
  /// - Throws: ``StoreError`` `closed`; `inputOutput` if the sizes of the file cannot be read.
  public func statistics() throws -> Statistics {
    do { return try engine.statistics() } catch { throw StoreError(error, path: engine.path) }
  }

  /// Returns the checkpoints that are still complete in the file, newest first: the newest
  /// ``Store/Options/wholeCheckpoints``, and older ones that are still untouched by reclaiming.
  /// O(checkpoints).
  ///
  /// If one before the newest is damaged or lost, the list ends with its successor, whose
  /// ``Checkpoint/isOlderLost`` is set.
  ///
  /// - Throws: ``StoreError`` `closed`; `damaged` if the newest one cannot be read.
  public func history() throws -> [Checkpoint] {
    do { return try engine.history() } catch { throw StoreError(error, path: engine.path) }
  }

  /// Opens an earlier checkpoint as a snapshot. While it is open, its space is not reclaimed.
  ///
  /// - Parameter checkpoint: a checkpoint from ``history()``.
  ///
  /// - Throws: ``StoreError`` `notFound` if a part of it has been reclaimed since; `damaged` if its
  ///   offset does not hold a checkpoint.
  public func snapshot(asOf checkpoint: Checkpoint) throws -> Snapshot {
    do {
      return Snapshot(engine, try engine.version(asOf: checkpoint))
    } catch { throw StoreError(error, path: engine.path) }
  }
}

/// The result of recovery when a file was opened.
public struct RecoveryReport: Sendable, Equatable {
  /// The number of the newest transaction.
  public var transaction: UInt64 = 0
  /// The newest transaction of the checkpoint that recovery started from; 0 if there was none.
  public var checkpointTransaction: UInt64 = 0
  /// The number of transactions applied from the log after that checkpoint.
  public var replayedTransactions = 0
  /// The number of bytes of log that were read to apply them.
  public var replayedBytes: UInt64 = 0
  /// The skipped range of the file with the remains of writes that were never acknowledged; nil
  /// after a clean close.
  public var tornTail: Range<UInt64>?
}
