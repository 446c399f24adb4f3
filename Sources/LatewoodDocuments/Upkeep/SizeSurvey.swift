import LatewoodStore

/// The lengths of the data of one document.
package struct DocumentSize: Sendable, Equatable {
  package var id = ""
  /// The bytes of its record: the revision tree and the position in the feed, without the id and
  /// the body.
  package var recordBytes: UInt64 = 0
  /// The number of revisions in the tree.
  package var revisions = 0
  /// The generation of the newest revision: the number of saves, including saves by other replicas.
  package var generation: UInt64 = 0
  /// The bytes of the bodies of leaves: of the current revision and of conflicts.
  package var bodyBytes: UInt64 = 0
  /// The bytes of the current body if it is in the record.
  package var bodyBytesInRecord: UInt64 = 0
  /// The bytes of the bodies of older revisions, which a sweep removes.
  package var supersededBytes: UInt64 = 0
  /// Whether it has expired and was not purged yet.
  package var isExpired = false
  /// The bytes that its record would lose by pruning to each of the given depths.
  package var prunable: [UInt64] = []

  package init() {}
}

/// Blobs that the next sweep removes.
package struct UnneededBlobs: Sendable, Equatable {
  /// The number of blobs whose content is in this database.
  package var blobs = 0
  package var blobBytes: UInt64 = 0
  /// The number and bytes of the blobs without a reference from a current body or local document.
  package var unneeded = 0
  package var unneededBytes: UInt64 = 0

  package init() {}
}

/// Reads for a survey of the space used by a database. Bodies are not decoded; only their lengths
/// are counted.
extension DocumentSnapshot {
  /// The state of the store below.
  package var stored: Snapshot { snapshot }

  /// Calls a closure with each document of a collection, by id and including expired ones, until it
  /// returns false. O(documents × log n + revisions).
  ///
  /// - Parameter depths: the depths to try pruning with, each at least 1.
  /// - Throws: ``DatabaseError``; errors of `body`.
  package func forEachSize(
    in collection: String, depths: [Int], _ body: (DocumentSize) throws -> Bool
  ) throws {
    let spaces = try CollectionSpaces(collection, in: snapshot)
    let now = core.now
    try snapshot.forEach(in: spaces.documents) { key, value in
      let record = try value.reading { (bytes) throws(DatabaseError) in try DocumentRecord(bytes) }
      var size = DocumentSize()
      size.id = key.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
      size.bodyBytesInRecord = UInt64(record.body?.count ?? 0)
      size.recordBytes = UInt64(value.byteCount) - size.bodyBytesInRecord
      size.revisions = record.tree.nodes.count
      size.generation = record.tree.nodes.reduce(0) { max($0, $1.id.generation) }
      size.isExpired = record.isExpired(at: now)
      size.bodyBytes = size.bodyBytesInRecord
      for node in record.tree.nodes
      where node.body != 0 && !(node.body == record.sequence && record.body != nil) {
        let length = try snapshot.withValue(SequenceEntry.Key(node.body), in: spaces.bodies) { $0.byteCount }
        if node.isLeaf {
          size.bodyBytes &+= UInt64(length ?? 0)
        } else {
          size.supersededBytes &+= UInt64(length ?? 0)
        }
      }
      size.prunable = depths.map { depth in
        var pruned = record
        guard pruned.tree.prune(to: max(1, depth)) else { return 0 }
        let length = UInt64(value.byteCount)
        return length - min(length, UInt64(pruned.encoded().count))
      }
      return try body(size)
    }
  }

  /// Counts blobs, and blobs that are not needed after a sweep, because they have no references or
  /// only references from superseded bodies. O(blobs × collections × log n + references).
  package func unneededBlobs() throws -> UnneededBlobs {
    let shared = core.shared
    var spaces: [CollectionSpaces] = []
    for name in try collectionNames() { spaces.append(try CollectionSpaces(name, in: snapshot)) }
    var result = UnneededBlobs()
    try snapshot.forEach(in: shared.blobs) { key, value in
      guard let record = try value.reading({ (bytes) throws(DatabaseError) in try BlobRecord(stored: bytes) })
      else { return true }
      result.blobs += 1
      result.blobBytes &+= record.length
      let digest = key.withUnsafeBytes { Array($0) }
      for collection in spaces where try isNeeded(digest, collection) { return true }
      result.unneeded += 1
      result.unneededBytes &+= record.length
      return true
    }
    return result
  }

  private func isNeeded(_ digest: [UInt8], _ spaces: CollectionSpaces) throws -> Bool {
    var isNeeded = false
    try snapshot.forEach(in: spaces.uses, .prefix(digest)) { key, _ in
      let sequence = key.withUnsafeBytes { Array($0.dropFirst(digest.count).prefix(8)) }
      // A local document has the sequence 0, which is never superseded.
      isNeeded = try !snapshot.contains(sequence, in: spaces.superseded)
      return !isNeeded
    }
    return isNeeded
  }
}
