import LatewoodBytes
import LatewoodDevice

/// The progress of a backup.
public struct BackupProgress: Sendable, Equatable {
  /// The completed fraction of the work, 0 to 1. The first half is writing, the second half is
  /// reading back.
  public var fraction = 0.0
  /// The number of bytes to copy.
  public var bytesTotal: UInt64 = 0
}

/// The result of a backup.
public struct BackupReport: Sendable, Equatable {
  /// Whether it extended an earlier backup.
  public var isIncremental = false
  /// The number of bytes copied by this backup. Includes holes of the file, which take no space.
  public var bytesCopied: UInt64 = 0
  /// The size of the backup, in bytes.
  public var fileSize: UInt64 = 0
  /// The newest transaction in the backup.
  public var transaction: UInt64 = 0
  /// The duration of the backup, in microseconds.
  public var duration: UInt64 = 0

  /// Creates the report of a backup that did not copy anything.
  public init() {}
}

extension Store {
  /// Creates a backup, or updates an earlier one by copying only the bytes appended to the file
  /// since. Reads, writes and checkpoints continue during the backup.
  ///
  /// **After a compaction the next backup is a full one** and replaces the old one, because the
  /// compacted file has nothing in common with the backed-up one. Compactions are automatic unless
  /// ``CompactionPolicy/isAutomatic`` is false; ``BackupReport/isIncremental`` shows whether a
  /// backup was incremental or full. To keep backups small, compact manually, right before a backup
  /// that may take long.
  ///
  /// The backup is a complete database. It has the state at the time of this call or a little
  /// later. The bytes are verified before they are copied, and read back from the disk afterwards.
  /// After a crash at any moment the backup is the complete earlier one or the complete new one,
  /// and the next call continues from there. Open it read-only, or work with a copy of it: once it
  /// has been written to, it is no longer a backup, and this method refuses to touch it. It belongs
  /// to this process's user, who can write to it; otherwise its permissions are those of this file,
  /// without access control list and extended attributes. For a smaller file that is a separate
  /// database, see ``copy(to:bytesPerSecond:progress:)``.
  ///
  /// A backup waits for a running compaction, and obeys ``pauseCompaction()`` and
  /// ``cancelCompaction()``. While it runs, no space is reclaimed. O(bytes appended since); after a
  /// compaction O(bytes of the file).
  ///
  /// - Parameters:
  ///   - path: the path of a new file, or of an earlier backup of this database, on any file
  ///     system.
  ///   - bytesPerSecond: the maximum number of bytes to write per second; nil for no limit.
  ///   - progress: called regularly, on the calling thread.
  /// - Throws: ``StoreError`` `alreadyExists` if the file there is not a backup of this
  ///   database, or has been written to; `lockedByOtherProcess` if another process has it open for
  ///   writing; `damaged` if this store's file is damaged; `outOfSpace`, `inputOutput`;
  ///   `cancelled`; `readOnly`, `fileMoved`, `closed`; `invalidRange` inside a closure of a
  ///   transaction or of a compaction.
  @discardableResult
  public func backup(
    to path: String, bytesPerSecond: UInt64? = nil, progress: ((BackupProgress) -> Void)? = nil
  ) throws -> BackupReport {
    do throws(StorageError) {
      return try engine.backup(to: path, bytesPerSecond: bytesPerSecond, progress)
    } catch { throw StoreError(error, path: error.path ?? engine.path) }
  }
}
