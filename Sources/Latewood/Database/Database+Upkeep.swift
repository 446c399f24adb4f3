import LatewoodDocuments
import LatewoodStore

/// What ``Database/verify(progress:)`` found.
public struct DatabaseVerification: Sendable {
  /// A sentence for each fault; empty if there is none.
  public var faults: [String]
  public var documents: Int
  public var bodies: Int
  /// Blobs whose content is here.
  public var blobs: Int
  /// Blobs that documents refer to and whose content is not here, which is no fault: it may never
  /// have been saved in this database. See ``Database/content(of:)``.
  public var missingBlobs: Int
  /// What a crash has left behind the last commit. That alone is no fault either.
  public var tornTail: TornTail?

  public var isSound: Bool { faults.isEmpty }
}

extension Database {
  /// Writes the file anew without what is dead, while reads and writes go on. It happens by itself
  /// too: see ``Configuration/compaction``.
  ///
  /// Afterwards the content of revisions that are not current is gone, that of unresolved conflicts
  /// excepted, and blobs that nothing refers to are as well.
  @discardableResult
  public func compact(
    bytesPerSecond: UInt64? = nil, progress: ((CompactionProgress) -> Void)? = nil
  ) throws(DatabaseError) -> CompactionReport {
    try translating { () throws(DocumentError) in
      try documents.compact(bytesPerSecond: bytesPerSecond, progress: progress)
    }
  }

  /// Makes a backup, or brings one up to date with what has changed since. The backup is a database
  /// that opens by itself.
  ///
  /// After a compaction the next backup is a full one, and compactions come by themselves: see
  /// ``Configuration/compaction``.
  ///
  /// - Throws: ``DatabaseError`` `conflict` if the file there is no backup of this database.
  @discardableResult
  public func backup(
    to path: String, bytesPerSecond: UInt64? = nil, progress: ((BackupProgress) -> Void)? = nil
  ) throws(DatabaseError) -> BackupReport {
    do {
      return try documents.store.backup(to: path, bytesPerSecond: bytesPerSecond, progress: progress)
    } catch {
      throw DatabaseError(error)
    }
  }

  /// Checks everything: every byte that is read by checksum, that every document can be decoded,
  /// and that documents, feed, indexes and blobs agree. O(size of the live data).
  public func verify(progress: ((VerifyProgress) -> Void)? = nil) throws(DatabaseError)
    -> DatabaseVerification
  {
    let report = try translating { () throws(DocumentError) in
      try documents.verify(deep: true, progress: progress)
    }
    let bytes = report.store?.faults.map { "at \($0.offset): \($0.what)" } ?? []
    return DatabaseVerification(
      faults: report.faults.map(\.description) + bytes, documents: report.documents, bodies: report.bodies,
      blobs: report.blobs, missingBlobs: report.missingBlobs, tornTail: report.store?.tornTail)
  }

  /// Sizes and counts of the file.
  public func statistics() throws(DatabaseError) -> Statistics {
    do { return try documents.store.statistics() } catch { throw DatabaseError(error) }
  }
}
