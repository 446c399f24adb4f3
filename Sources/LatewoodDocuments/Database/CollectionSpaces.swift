import LatewoodStore

/// The keyspaces of one collection.
///
/// ```
/// documents   id                    -> DocumentRecord
/// sequences   sequence              -> SequenceEntry; one for each document, at its latest change
/// bodies      sequence of revision  -> body; written once
/// superseded  sequence of revision  -> nothing; bodies of non-leaf revisions, which a sweep removes
/// marks       mark, id              -> nothing; an index of tombstones and of documents in
///                                      conflict: Mark
/// local       name                  -> body of a local document
/// expiry      seconds, id           -> nothing
/// references  sequence, digest      -> nothing; the blobs that a body refers to
///             0, name, digest       -> nothing; the same of a local document
/// uses        digest, sequence      -> nothing; the bodies that refer to a blob
///             digest, 0, name       -> nothing; the same of a local document
/// ```
///
/// Sequences and seconds are 8 bytes big-endian, digests 32 bytes. Dropping a collection drops all
/// of these keyspaces.
final class CollectionSpaces: Sendable {
  /// On disk: never renumbered.
  enum Mark {
    static let tombstone: UInt8 = 1
    static let conflict: UInt8 = 2
  }

  let documents, sequences, bodies, superseded, marks, local, expiry, references, uses: Keyspace
  /// The keyspace with the state of this collection; all collections share it.
  let database: Keyspace

  static let names = [
    "documents", "sequences", "bodies", "superseded", "marks", "local", "expiry", "references", "uses",
  ]

  /// - Parameter find: returns the keyspace of a name.
  init<E: Error>(_ collection: String, _ find: (String) throws(E) -> Keyspace) throws(E) {
    documents = try find("documents/\(collection)")
    sequences = try find("sequences/\(collection)")
    bodies = try find("bodies/\(collection)")
    superseded = try find("superseded/\(collection)")
    marks = try find("marks/\(collection)")
    local = try find("local/\(collection)")
    expiry = try find("expiry/\(collection)")
    references = try find("references/\(collection)")
    uses = try find("uses/\(collection)")
    database = try find("database")
  }

  /// The keyspaces of a collection that exists in `source`.
  convenience init(_ collection: String, in source: some Readable) throws(DatabaseError) {
    try self.init(collection) { (name) throws(DatabaseError) in
      guard let keyspace = try source.keyspace(named: name) else {
        throw DatabaseError(.corruptData, "the keyspace \(name) of the collection \(collection) is missing")
      }
      return keyspace
    }
  }

  /// The keyspaces that belong to this collection alone.
  var all: [Keyspace] {
    [documents, sequences, bodies, superseded, marks, local, expiry, references, uses]
  }

  static func key(_ mark: UInt8, _ id: String) -> [UInt8] { [mark] + id.utf8 }

  static func expiryKey(_ seconds: UInt64, _ id: String) -> [UInt8] {
    SequenceEntry.key(seconds) + id.utf8
  }
}

/// The keyspaces that all collections share.
struct DatabaseSpaces: Sendable {
  /// `format`, `identity`, `depth`, the states of collections, and `upload/` with the number of
  /// each blob that is being written.
  let database: Keyspace
  /// Digest of a blob -> number, length: 8 bytes big-endian each; empty if bodies refer to the blob
  /// and its content is not in this database.
  let blobs: Keyspace
  /// Number of a blob 8 bytes big-endian, number of the chunk 4 bytes big-endian -> up to a
  /// mebibyte.
  let chunks: Keyspace

  init(_ find: (String) throws -> Keyspace) throws {
    database = try find("database")
    blobs = try find("blobs")
    chunks = try find("chunks")
  }
}
