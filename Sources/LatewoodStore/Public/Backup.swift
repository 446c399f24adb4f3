import LatewoodBytes
import LatewoodDevice

/// How far a backup is.
public struct BackupProgress: Sendable, Equatable {
  /// Of the whole work, 0 to 1: half of it is writing, half is reading that back.
  public var fraction = 0.0
  /// Bytes to copy.
  public var bytesTotal: UInt64 = 0
}

/// What a backup did.
public struct BackupReport: Sendable, Equatable {
  /// Whether it went on with an earlier backup.
  public var isIncremental = false
  /// Bytes copied now; holes of the file are counted, and take no room.
  public var bytesCopied: UInt64 = 0
  /// Bytes of the backup.
  public var fileSize: UInt64 = 0
  /// The newest transaction in it.
  public var transaction: UInt64 = 0
  /// Time it took, in microseconds.
  public var duration: UInt64 = 0

  public init() {}
}

extension Store {
  /// Makes a backup, or brings one up to date: then only what was appended to the file since is
  /// copied. Reads, writes and checkpoints go on all the while.
  ///
  /// **After a compaction the next backup is a full one**, and takes the place of the old one: the
  /// file was written anew, and has nothing in common with what was backed up. Compactions come by
  /// themselves, unless ``CompactionPolicy/isAutomatic`` is false; ``BackupReport/isIncremental``
  /// says which of the two a backup was. Who wants small backups compacts by hand, right before a
  /// backup that may take long.
  ///
  /// The backup is a database that opens by itself; it shows the state of the moment when this was
  /// called or a little later. What is copied is verified first, and read back from the disk. After
  /// a crash at any moment the backup is the earlier one or the new one, whole, and the next call
  /// goes on from there. Open it read-only, or work with a copy of it: once it has been written to,
  /// it is no backup any more, and this refuses to touch it. It belongs to this process's user, who
  /// can write to it; otherwise its permissions are those of this file, without access control list
  /// and extended attributes. For a smaller file that is a database of its own see
  /// ``copy(to:bytesPerSecond:progress:)``.
  ///
  /// It waits for a compaction that is running; ``pauseCompaction()`` and ``cancelCompaction()``
  /// are heard. While it runs nothing is given back to the file system. O(bytes appended since);
  /// after a compaction O(bytes of the file).
  ///
  /// - Parameters:
  ///   - path: where no file is yet, or an earlier backup of this database. On any file system.
  ///   - bytesPerSecond: written at most; nil for as many as the disk takes.
  ///   - progress: called now and then, on the thread that works.
  /// - Throws: ``StoreError`` `alreadyExists` if there is a file that is no backup of this
  ///   database, or has been written to; `lockedByOtherProcess` if somebody has it open for
  ///   writing; `damaged` if this file is; `outOfSpace`, `inputOutput`; `cancelled`; `readOnly`,
  ///   `fileMoved`, `closed`; `invalidRange` inside the closure of a transaction or of a
  ///   compaction.
  @discardableResult
  public func backup(
    to path: String, bytesPerSecond: UInt64? = nil, progress: ((BackupProgress) -> Void)? = nil
  ) throws(StoreError) -> BackupReport {
    do throws(Fault) {
      return try engine.backup(to: path, bytesPerSecond: bytesPerSecond, progress)
    } catch { throw StoreError(error, path: error.path ?? engine.path) }
  }
}
