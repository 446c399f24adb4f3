import LatewoodDocuments

/// What a database of documents should hold, in plain dictionaries.
struct DocumentModel: Equatable {
  struct Document: Equatable {
    /// Bodies of all leaves that are not deleted, by their revision.
    var live: [RevisionID: [UInt8]] = [:]
    var deleted: Set<RevisionID> = []
    var sequence: UInt64 = 0
    var expiry: UInt64?
    var blobs: [RevisionID: BlobDigest] = [:]

    /// Highest generation, then greatest digest; tombstones only if there is nothing else.
    var winner: RevisionID? { live.keys.max() ?? deleted.max() }
    var isDeleted: Bool { live.isEmpty }
  }

  var documents: [String: Document] = [:]
  var local: [String: [UInt8]] = [:]
  var lastSequence: UInt64 = 0

  mutating func next() -> UInt64 {
    lastSequence += 1
    return lastSequence
  }

  /// A leaf continues another one.
  mutating func replace(
    _ id: String, _ old: RevisionID?, _ new: RevisionID, _ body: [UInt8], isDeleted: Bool, blob: BlobDigest?
  ) {
    var document = documents[id] ?? Document()
    if let old {
      document.live[old] = nil
      document.deleted.remove(old)
      document.blobs[old] = nil
    }
    if isDeleted { document.deleted.insert(new) } else { document.live[new] = body }
    document.blobs[new] = blob
    document.sequence = next()
    documents[id] = document
  }

  mutating func purge(_ id: String) { documents[id] = nil }

  mutating func expire(through now: UInt64) {
    for (id, document) in documents { if let expiry = document.expiry, expiry <= now { documents[id] = nil } }
  }
}
