import LatewoodStore

/// A revision from another replica, with its history.
package struct ForeignRevision: Sendable {
  package var id: String
  /// The revision and its ancestors, newest first, each followed by its parent.
  package var history: [RevisionID]
  package var isDeleted: Bool
  /// The canonical body.
  package var body: [UInt8]
  /// The digests of all blobs that the body refers to.
  package var blobs: [BlobDigest]

  package init(
    _ id: String, history: [RevisionID], isDeleted: Bool = false, body: [UInt8], blobs: [BlobDigest] = []
  ) {
    self.id = id
    self.history = history
    self.isDeleted = isDeleted
    self.body = body
    self.blobs = blobs
  }
}

extension DocumentWriter {
  /// Inserts many revisions from other replicas, as ``insert(_:in:history:body:isDeleted:blobs:)``
  /// inserts one. A revision that cannot be inserted does not prevent the others.
  ///
  /// - Returns: the outcome of each revision, in their order; `badRevisionID` for an impossible
  ///   history, `badDocumentID` for an id that no document can have.
  /// - Throws: ``DatabaseError``: all other errors, which make the batch fail.
  package func insert(
    contentsOf revisions: [ForeignRevision], in collection: CollectionHandle
  ) throws -> [Result<InsertedRevision, DatabaseError>] {
    var outcomes: [Result<InsertedRevision, DatabaseError>] = []
    outcomes.reserveCapacity(revisions.count)
    for revision in revisions {
      if let objection = NameRules.objection(toID: revision.id) {
        outcomes.append(
          .failure(DatabaseError(.badDocumentID, "the id \"\(revision.id.prefix(80))\" \(objection)")))
        continue
      }
      do {
        outcomes.append(
          .success(
            try insert(
              revision.id, in: collection, history: revision.history, body: revision.body,
              isDeleted: revision.isDeleted, blobs: revision.blobs)))
      } catch let error as DatabaseError where error.code == .badRevisionID {
        outcomes.append(.failure(error))
      }
    }
    return outcomes
  }
}
