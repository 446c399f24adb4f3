extension DocumentWriter {
  /// Saves an edit of any revision that is kept. If the revision is not a leaf, the edit becomes a
  /// branch: the document is then in conflict, as if another replica had made it.
  ///
  /// - Parameters:
  ///   - parent: the edited revision.
  ///   - isDeleted: whether the edit deletes the branch; `body` is then the body of the tombstone.
  ///   - blobs: digests of all blobs that the body refers to.
  /// - Returns: the saved revision; `isNew` is false if the same edit of the revision was there.
  /// - Throws: ``DocumentError`` `conflict` if the revision is not kept; `notFound` if there is no
  ///   document; `notUnique` if the branch becomes the winner.
  package func saveBranch(
    _ id: String, in collection: CollectionHandle, body: [UInt8], parent: RevisionID, isDeleted: Bool = false,
    blobs: [BlobDigest] = []
  ) throws(DocumentError) -> SavedRevision {
    let work = try work(collection)
    guard let old = try record(id, work) else {
      throw DocumentError(.notFound, "there is no document \(id)")
    }
    guard let node = old.tree[parent] else {
      throw DocumentError(
        .conflict, "the revision \(parent) of the document \(id) is no longer kept",
        advice: "Edit a revision that `revisions(of:)` lists.")
    }
    let revision = body.withUnsafeBytes { RevisionID(editing: parent, isDeleted: isDeleted, body: $0) }
    guard revision.generation <= RevisionID.maximumGeneration else {
      throw DocumentError(.badRevision, "the document \(id) has been edited too often")
    }
    if old.tree[revision]?.body ?? 0 != 0 {
      return SavedRevision(
        revision: revision, sequence: old.sequence, isNew: false,
        hasConflicts: old.head?.hasConflicts ?? false)
    }
    var tree = old.tree
    let added = try Bodies(self, work).blobs(blobs, without: node.body)
    let next = work.state.lastSequence + 1
    _ = try tree.insert(history: [revision, parent], isDeleted: isDeleted, body: next)
    tree.prune(to: try depth())
    let sequence = work.takeSequence()
    let kept = tree.nodes.contains { $0.body == sequence }
    let head = try store(
      id, work, old, tree, sequence: sequence, body: kept ? NewBody(bytes: body, blobs: blobs) : nil,
      added: revision, isLocal: true)
    var saved = SavedRevision(
      revision: revision, sequence: sequence, isNew: true, hasConflicts: head.hasConflicts)
    saved.addedBlobs = added
    return saved
  }
}
