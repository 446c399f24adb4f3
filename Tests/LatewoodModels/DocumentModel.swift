import LatewoodDocuments

/// The expected content of a database of documents, in plain dictionaries.
package struct DocumentModel: Equatable {
  package struct Document: Equatable {
    /// The bodies of all leaves that are not deleted, by revision.
    package var live: [RevisionID: [UInt8]] = [:]
    package var deleted: Set<RevisionID> = []
    package var sequence: UInt64 = 0
    package var expiry: UInt64?
    package var blobs: [RevisionID: BlobDigest] = [:]

    package init() {}

    /// The winning revision: the highest generation, then the greatest digest; a tombstone only if
    /// all leaves are deleted.
    package var winner: RevisionID? { live.keys.max() ?? deleted.max() }
    package var isDeleted: Bool { live.isEmpty }
  }

  package var documents: [String: Document] = [:]
  package var local: [String: [UInt8]] = [:]
  package var lastSequence: UInt64 = 0

  package init() {}

  package mutating func next() -> UInt64 {
    lastSequence += 1
    return lastSequence
  }

  /// Replaces a leaf with its next revision.
  package mutating func replace(
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
    if document.isDeleted { document.expiry = nil }
    documents[id] = document
  }

  package mutating func purge(_ id: String) { documents[id] = nil }

  package mutating func expire(through now: UInt64) {
    for (id, document) in documents { if let expiry = document.expiry, expiry <= now { documents[id] = nil } }
  }
}
