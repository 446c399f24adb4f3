import LatewoodStore

/// Who wins when a revision is saved that does not follow from a current one.
package enum SavePolicy: Sendable, Equatable {
  /// The one that is there: saving throws `conflict`.
  case refuseConflicts
  /// The new one: it follows from the winner, whatever that is.
  case lastWriteWins
}

/// A revision that is there after a save.
package struct SavedRevision: Sendable, Equatable {
  package var revision: RevisionID
  /// Of the document's last change.
  package var sequence: UInt64
  /// False: exactly this edit had been made before, by this caller or another, and nothing was changed. Whoever counts edits must take
  /// that for a conflict: two that both count from 5 to 6 make the same edit.
  package var isNew: Bool

  package init(revision: RevisionID, sequence: UInt64, isNew: Bool) {
    self.revision = revision
    self.sequence = sequence
    self.isNew = isNew
  }
}

extension DocumentWriter {
  /// Saves an edit of a document.
  ///
  /// A parent of nil creates the document, or continues one that is deleted. The same edit made twice is one revision.
  ///
  /// - Parameters:
  ///   - id: of the document; its form is for the caller to check.
  ///   - body: canonical: equal content has equal bytes.
  ///   - parent: the revision that was edited; must be a leaf.
  ///   - isDeleted: whether the edit deletes the document; the body then is what the tombstone keeps.
  ///   - blobs: digests of all blobs that the body refers to.
  /// - Throws: ``DocumentError`` `conflict`; `notFound` if a document is to be deleted that is not there; `missingBlob`.
  @discardableResult
  package func save(
    _ id: String, in collection: DocumentCollection, body: [UInt8], parent: RevisionID?,
    isDeleted: Bool = false,
    blobs: [BlobDigest] = [], policy: SavePolicy = .refuseConflicts
  ) throws(DocumentError) -> SavedRevision {
    let work = try work(collection)
    let edit = Edit(id: id, body: NewBody(bytes: body, blobs: blobs), isDeleted: isDeleted)
    guard let old = try record(id, work), let winner = old.tree.winner else {
      if isDeleted { throw DocumentError(.notFound, "there is no document \(id) to delete") }
      guard parent == nil || policy == .lastWriteWins else {
        throw DocumentError(.conflict, "the document \(id) is not there any more")
      }
      return try append(edit, work, nil, after: nil, as: edit.revision(after: nil))
    }
    if isDeleted, winner.isDeleted, parent == nil || parent == winner.id {
      throw DocumentError(.notFound, "the document \(id) is deleted already")
    }
    let revision = edit.revision(after: parent)
    // A retry, unless others have gone on from there: then it is a conflict like any other.
    if let same = old.tree[revision], same.isLeaf, policy == .refuseConflicts || revision == winner.id {
      return SavedRevision(revision: revision, sequence: old.sequence, isNew: false)
    }
    if let parent, let place = old.tree.index(of: parent), old.tree.nodes[place].isLeaf {
      return try append(edit, work, old, after: place, as: revision)
    }
    guard policy == .lastWriteWins || (parent == nil && winner.isDeleted) else {
      let base = parent.map { "\($0)" } ?? "nothing"
      throw DocumentError(.conflict, "the document \(id) is at \(winner.id), and this follows from \(base)")
    }
    return try append(edit, work, old, after: old.tree.winnerIndex, as: edit.revision(after: winner.id))
  }

  /// - Parameter place: of the leaf that it follows from; nil: the document is new.
  private func append(
    _ edit: Edit, _ work: CollectionWork, _ old: DocumentRecord?, after place: Int?, as revision: RevisionID
  ) throws(DocumentError) -> SavedRevision {
    guard revision.generation <= RevisionID.maximumGeneration else {
      throw DocumentError(.badRevision, "the document \(edit.id) has been edited too often")
    }
    try check(edit.body.blobs)
    var tree = old?.tree ?? RevisionTree()
    let sequence = work.takeSequence()
    tree.append(revision, after: place, isDeleted: edit.isDeleted, body: sequence)
    tree.prune(to: core.depth.withLock { $0 })
    try store(edit.id, work, old, tree, sequence: sequence, body: edit.body)
    return SavedRevision(revision: revision, sequence: sequence, isNew: true)
  }

  /// The record of a document as this batch has it.
  func record(_ id: String, _ work: CollectionWork) throws(DocumentError) -> DocumentRecord? {
    try DocumentError.typed {
      try transaction.withValue(id, in: work.spaces.documents) { value in
        try value.reading { (bytes) throws(DocumentError) in try DocumentRecord(bytes) }
      }
    }
  }
}

/// What is to become a revision.
private struct Edit {
  var id: String
  var body: NewBody
  var isDeleted: Bool

  func revision(after parent: RevisionID?) -> RevisionID {
    body.bytes.withUnsafeBytes { RevisionID(editing: parent, isDeleted: isDeleted, body: $0) }
  }
}
