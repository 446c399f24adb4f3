import Latewood
import LatewoodDocuments

extension Replicator {
  /// Returns the databases with which a collection has been replicated, by their identities: the
  /// URL of a CouchDB database without credentials, or the identity of a collection.
  ///
  /// For each of them, compactions keep some old content, so that a later conflict can be merged:
  /// if a document has edits that the other side lacks, the last revision that the other side is
  /// known to have. ``forget(_:of:)`` releases that content.
  ///
  /// - Throws: `DatabaseError` like every read.
  public static func remotes(of collection: DocumentCollection) async throws -> [String] {
    try await collection.database.documents.perform {
      try collection.database.documents.reads(collection.handle).remotes().map(\.remote)
    }
  }

  /// Forgets what another database has, such as a server that no longer exists. The next
  /// compaction removes the old content that was kept for it. Checkpoints stay: if the collection
  /// is replicated with that database again, the replication continues.
  ///
  /// - Parameters:
  ///   - remote: one of ``remotes(of:)``.
  ///   - collection: the collection.
  /// - Returns: whether anything was known of that database.
  /// - Throws: `DatabaseError` like every change.
  @discardableResult
  public static func forget(_ remote: String, of collection: DocumentCollection) async throws -> Bool {
    let handle = collection.handle
    return try await collection.database.documents.write(durability: .relaxed) { writer in
      try writer.forget(remote, in: handle)
    }
  }
}
