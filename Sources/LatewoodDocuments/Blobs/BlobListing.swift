import LatewoodStore

/// The properties of a blob that are known without reading its bytes.
package struct BlobInfo: Sendable, Equatable {
  package var digest: BlobDigest
  /// The length in bytes; nil if the content is not in this database.
  package var length: UInt64?
  /// The number of bodies that refer to it, in all collections. Superseded bodies count until a
  /// sweep removes them.
  package var references: Int
}

extension DocumentSnapshot {
  /// Calls a closure with each blob, by digest, until it returns false; also with blobs whose
  /// content is not in this database. O(blobs × collections × log n); reads no chunks.
  package func forEachBlob(_ body: (BlobInfo) throws -> Bool) throws {
    let shared = core.shared
    var uses: [Keyspace] = []
    for name in try collectionNames() {
      if let keyspace = try snapshot.existingKeyspace("uses/\(name)") { uses.append(keyspace) }
    }
    try snapshot.forEach(in: shared.blobs) { key, value in
      guard let digest = key.withUnsafeBytes({ BlobDigest($0) }) else {
        throw DatabaseError(.corruptData, "a blob has a name of \(key.byteCount) bytes")
      }
      let record = try value.reading { (bytes) throws(DatabaseError) in try BlobRecord(stored: bytes) }
      var references = 0
      for keyspace in uses { references += try snapshot.count(in: keyspace, .prefix(digest.bytes)) }
      return try body(BlobInfo(digest: digest, length: record?.length, references: references))
    }
  }
}
