import LatewoodDocuments
import LatewoodStore

/// The result of `Database.verify`.
public struct DatabaseVerification: Sendable {
  /// The faults; empty if there are none.
  public var faults: [DatabaseFault]
  /// The number of documents that are not deleted.
  public var documents: Int
  /// The number of bodies, which are the contents of revisions.
  public var bodies: Int
  /// The number of blobs whose content is in this database.
  public var blobs: Int
  /// The number of blobs that documents refer to and whose content is not in this database. A
  /// missing blob is not a fault: its content may never have been saved here. See
  /// ``Database/content(of:)-810bu``.
  public var missingBlobs: Int
  /// The bytes that a crash left after the last commit. By themselves they are not a fault.
  public var tornTail: TornTail?

  /// Whether the verification found no faults.
  public var isSound: Bool { faults.isEmpty }
}

extension Database {
  /// Compacts the file: rewrites it without dead data, while reads and writes continue. This also
  /// happens automatically: see ``Configuration/compaction``.
  ///
  /// This removes unreferenced blobs, and the content of revisions that are not current, except for
  /// unresolved conflicts.
  ///
  /// - Parameters:
  ///   - bytesPerSecond: the maximum number of bytes to write per second; nil for no limit.
  ///   - progress: called periodically, on the thread that compacts. If it throws, the compaction
  ///     is cancelled and leaves no unfinished file; only old content may have been removed by
  ///     then. An error thrown by the last call, with the fraction 1, is too late to cancel the
  ///     compaction.
  /// - Throws: any error of `progress`, unchanged; ``DatabaseError`` `notWritable` if the disk is
  ///   too full for a copy and no space of the file could be freed in place, if the file was moved
  ///   or has a second name, or if this process cannot create a file with the same owner;
  ///   `corruptData` if the file is damaged; `invalidParameter` inside a batch, or if the
  ///   compaction is cancelled because the database is closed; `inputOutput`, `notOpen`. The file
  ///   is then unchanged.
  @discardableResult
  public func compact(
    bytesPerSecond: UInt64? = nil, progress: ((CompactionProgress) throws -> Void)? = nil
  ) throws -> CompactionReport {
    try documents.compact(bytesPerSecond: bytesPerSecond, progress: progress)
  }

  /// Creates a backup, or updates an existing one with the changes since. The backup is a database
  /// that can be opened.
  ///
  /// The first backup after a compaction is a full one. Compactions also happen automatically: see
  /// ``Configuration/compaction``.
  ///
  /// - Throws: ``DatabaseError`` `conflict` if the existing file is not a backup of this database.
  @discardableResult
  public func backup(
    to path: String, bytesPerSecond: UInt64? = nil, progress: ((BackupProgress) -> Void)? = nil
  ) throws -> BackupReport {
    do {
      return try documents.store.backup(to: path, bytesPerSecond: bytesPerSecond, progress: progress)
    } catch {
      throw DatabaseError.translated(error)
    }
  }

  /// Verifies the entire file: that the checksum of every byte that can be read is correct, that
  /// every document can be decoded, and that documents, feed, indexes and blobs agree. O(size of
  /// the live data).
  ///
  /// - Throws: ``DatabaseError`` `notOpen`, `inputOutput`. Faults of the file are in the result,
  ///   not thrown.
  public func verify(progress: ((VerifyProgress) -> Void)? = nil) throws
    -> DatabaseVerification
  {
    let report = try documents.verify(deep: true, progress: progress)
    let damage = report.store?.faults.map { DatabaseFault($0.what, at: $0.offset) } ?? []
    return DatabaseVerification(
      faults: report.faults + damage, documents: report.documents,
      bodies: report.bodies, blobs: report.blobs, missingBlobs: report.missingBlobs,
      tornTail: report.store?.tornTail)
  }

  /// Returns sizes and counts of the file.
  ///
  /// - Throws: ``DatabaseError`` `notOpen`; `inputOutput` if the system does not report the sizes
  ///   of the file.
  public func statistics() throws -> Statistics {
    do { return try documents.store.statistics() } catch { throw DatabaseError.translated(error) }
  }
}
