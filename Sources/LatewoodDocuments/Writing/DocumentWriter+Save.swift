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
    let old = try record(id, work)
    func edit(of parent: RevisionID?) -> RevisionID {
      body.withUnsafeBytes { RevisionID(editing: parent, isDeleted: isDeleted, body: $0) }
    }
    guard let old, let winner = old.tree.winner else {
      if isDeleted { throw DocumentError(.notFound, "there is no document \(id) to delete") }
      guard parent == nil || policy == .lastWriteWins else {
        throw DocumentError(.conflict, "the document \(id) is not there any more")
      }
      var tree = RevisionTree()
      let edited = edit(of: nil)
      try check(blobs)
      let sequence = work.takeSequence()
      tree.append(edited, after: nil, isDeleted: false, body: sequence)
      try store(id, work, nil, tree, sequence: sequence, body: NewBody(bytes: body, blobs: blobs))
      return SavedRevision(revision: edited, sequence: sequence, isNew: true)
    }
    if isDeleted, winner.isDeleted, parent == nil || parent == winner.id {
      throw DocumentError(.notFound, "the document \(id) is deleted already")
    }
    let edited = edit(of: parent)
    // A retry, unless others have gone on from there: then it is a conflict like any other.
    if let same = old.tree[edited], same.isLeaf, policy == .refuseConflicts || edited == winner.id {
      return SavedRevision(revision: edited, sequence: old.sequence, isNew: false)
    }
    var place = parent.flatMap { old.tree.index(of: $0) }
    if parent == nil, winner.isDeleted { place = old.tree.winnerIndex }
    if place.map({ !old.tree.nodes[$0].isLeaf }) ?? true {
      guard policy == .lastWriteWins else {
        throw DocumentError(
          .conflict,
          "the document \(id) is at \(winner.id), and what was to be saved follows from \(parent.map { "\($0)" } ?? "nothing")"
        )
      }
      place = old.tree.winnerIndex
    }
    guard let place else { throw DocumentError(.corruptRevisions, "the document \(id) has no revisions") }
    return try append(id, work, old, place, body: body, isDeleted: isDeleted, blobs: blobs)
  }

  private func append(
    _ id: String, _ work: CollectionWork, _ old: DocumentRecord, _ place: Int, body: [UInt8], isDeleted: Bool,
    blobs: [BlobDigest]
  ) throws(DocumentError) -> SavedRevision {
    let parent = old.tree.nodes[place].id
    guard parent.generation < RevisionID.maximumGeneration else {
      throw DocumentError(.badRevision, "nothing can follow from \(parent)")
    }
    let edited = body.withUnsafeBytes { RevisionID(editing: parent, isDeleted: isDeleted, body: $0) }
    if old.tree.contains(edited) {
      return SavedRevision(revision: edited, sequence: old.sequence, isNew: false)
    }
    try check(blobs)
    var tree = old.tree
    let sequence = work.takeSequence()
    tree.append(edited, after: place, isDeleted: isDeleted, body: sequence)
    tree.prune(to: core.depth.withLock { $0 })
    try store(id, work, old, tree, sequence: sequence, body: NewBody(bytes: body, blobs: blobs))
    return SavedRevision(revision: edited, sequence: sequence, isNew: true)
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
