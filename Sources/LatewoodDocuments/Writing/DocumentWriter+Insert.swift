import LatewoodStore

/// The effect of inserting a revision from another replica.
package struct InsertedRevision: Sendable, Equatable {
  package var outcome: RevisionTree.Outcome
  /// The sequence of the document's last change.
  package var sequence: UInt64
  /// Whether the revision changed anything.
  package var isNew: Bool
}

extension DocumentWriter {
  /// Inserts a revision from another replica. This never conflicts: a revision that does not follow
  /// from a leaf becomes a branch.
  ///
  /// - Parameters:
  ///   - history: the revision and its ancestors, each followed by its parent.
  ///   - body: the canonical body; nil if it is not known.
  /// - Throws: ``DatabaseError`` `badRevisionID` if the history is impossible.
  @discardableResult
  package func insert(
    _ id: String, in collection: CollectionHandle, history: [RevisionID], body: [UInt8]?,
    isDeleted: Bool = false, blobs: [BlobDigest] = []
  ) throws -> InsertedRevision {
    let part = try batch.part(for: collection)
    let old = try record(id, part)
    var tree = old?.tree ?? RevisionTree()
    let next = part.state.lastSequence + 1
    let outcome = try tree.insert(history: history, isDeleted: isDeleted, body: body == nil ? 0 : next)
    tree.prune(to: try batch.depth())
    if let old, old.tree == tree {
      return InsertedRevision(outcome: outcome, sequence: old.sequence, isNew: false)
    }
    let isKept = body != nil && tree.nodes.contains { $0.body == next }
    let sequence = part.takeSequence()
    let kept = isKept ? body.map { NewBody(bytes: $0, blobs: blobs) } : nil
    let added = history.first.flatMap { old?.tree.contains($0) == true ? nil : $0 }
    try store(id, part, old, tree, sequence: sequence, body: kept, added: added)
    return InsertedRevision(outcome: outcome, sequence: sequence, isNew: true)
  }

  /// Resolves a conflict: saves a merged body over one leaf, and a tombstone over every other
  /// undeleted leaf.
  ///
  /// - Parameters:
  ///   - keeping: the leaf that the merged body follows from; nil for the winner.
  ///   - merged: the new body, canonical; nil to leave the leaf unchanged.
  ///   - tombstone: the body of the tombstones, canonical.
  /// - Returns: the new winner.
  /// - Throws: ``DatabaseError`` `notFound`; `conflict` if `keeping` is not an undeleted leaf.
  @discardableResult
  package func resolveConflicts(
    of id: String, in collection: CollectionHandle, keeping: RevisionID? = nil, merged: [UInt8]?,
    blobs: [BlobDigest] = [], tombstone: [UInt8]
  ) throws -> SavedRevision {
    let part = try batch.part(for: collection)
    guard let old = try record(id, part), let winner = old.tree.winner else {
      throw DatabaseError(.notFound, "the document \(id) does not exist")
    }
    let kept = keeping ?? winner.id
    guard let leaf = old.tree[kept], leaf.isLeaf, !leaf.isDeleted else {
      throw DatabaseError(.conflict, "\(kept) is not a current revision of the document \(id)")
    }
    var result = SavedRevision(revision: kept, sequence: old.sequence, isNew: false)
    if let merged { result = try save(id, in: collection, body: merged, parent: kept, blobs: blobs) }
    for other in old.tree.leaves where other.id != kept && !other.isDeleted {
      let deletion = try save(id, in: collection, body: tombstone, parent: other.id, isDeleted: true)
      result.sequence = deletion.sequence
    }
    result.hasConflicts = false
    return result
  }
}
