import LatewoodStore

/// The rule for saving a document that someone else has saved since it was read.
public enum ConcurrencyControl: Sendable, Equatable {
  /// Saving throws `conflict`.
  case failOnConflict
  /// The last save wins.
  case lastWriteWins
}

/// The result of a save.
package struct SavedRevision: Sendable, Equatable {
  package var revision: RevisionID
  /// The sequence of the document's last change.
  package var sequence: UInt64
  /// Whether the revision is new; false if a conflict was resolved by keeping it unchanged.
  package var isNew: Bool
  /// Whether the document is in conflict.
  package var hasConflicts: Bool
  /// Whether the save replaced an undeleted document.
  package var isReplacement = false
  /// The blobs that the revision refers to and its parent does not.
  package var addedBlobs: [BlobDigest] = []

  package init(revision: RevisionID, sequence: UInt64, isNew: Bool, hasConflicts: Bool = false) {
    self.revision = revision
    self.sequence = sequence
    self.isNew = isNew
    self.hasConflicts = hasConflicts
  }
}

extension DocumentWriter {
  /// Saves an edit of a document.
  ///
  /// With a parent of nil, creates the document or continues a deleted one. Whether an edit
  /// conflicts depends only on its parent, never on its content: the second of two equal edits of
  /// one revision is a conflict. Only equal edits from different replicas are the same revision.
  ///
  /// - Parameters:
  ///   - id: the id of the document; the caller checks its form.
  ///   - body: the canonical body: equal content has equal bytes.
  ///   - parent: the edited revision; must be a leaf.
  ///   - isDeleted: whether the edit deletes the document; `body` is then the body of the
  ///     tombstone.
  ///   - blobs: digests of all blobs that the body refers to. Missing content may be added later,
  ///     and then stays as long as the body does.
  /// - Throws: ``DatabaseError`` `conflict`; `notFound` if the document to delete does not exist or
  ///   is already deleted; `notUnique`, which names the other document.
  @discardableResult
  package func save(
    _ id: String, in collection: CollectionHandle, body: [UInt8], parent: RevisionID?,
    isDeleted: Bool = false,
    blobs: [BlobDigest] = [], policy: ConcurrencyControl = .failOnConflict
  ) throws -> SavedRevision {
    let part = try batch.part(for: collection)
    let edit = Edit(id: id, body: NewBody(bytes: body, blobs: blobs), isDeleted: isDeleted)
    if let saved = try saveUnbranched(edit, parent, part, policy) { return saved }
    let old = try record(id, part)
    let tree = old?.tree ?? RevisionTree()
    let winner = tree.winner
    let leaf = parent.flatMap { tree.index(of: $0) }.flatMap { tree.nodes[$0].isLeaf ? $0 : nil }
    switch edit.admission(
      isParentLeaf: parent.map { _ in leaf != nil }, isWinnerDeleted: winner?.isDeleted, policy)
    {
    case .first: return try append(edit, to: RevisionTree(), after: nil, nil, part, policy)
    case .afterParent: return try append(edit, to: tree, after: leaf, old, part, policy)
    case .afterWinner: return try append(edit, to: tree, after: tree.winnerIndex, old, part, policy)
    case .refused(let reason): throw reason.error(saving: id, after: parent, winner: winner?.id)
    }
  }

  /// Saves a new document, or an edit of the winner of a document with a single branch.
  ///
  /// - Returns: nil if it is neither. Nothing has been changed then, and the caller decodes the
  ///   record to save the edit or to find out why it cannot be saved.
  private func saveUnbranched(
    _ edit: Edit, _ parent: RevisionID?, _ part: CollectionBatch, _ policy: ConcurrencyControl
  ) throws -> SavedRevision? {
    let (depth, sequence) = (try batch.depth(), part.state.lastSequence + 1)
    var old: DocumentRecord.Head?
    var oldBody: [UInt8]?
    var head: DocumentRecord.Head?
    batch.record.removeAll(keepingCapacity: true)
    let found: Void? = try batch.transaction.withValue(edit.id, in: part.spaces.documents) { value in
      try value.reading { (bytes) throws(DatabaseError) in
        guard let record = try UnbranchedRecord(bytes) else { return }
        let winner = record.head
        if winner.isExpired(at: batch.now) || winner.winner.generation >= RevisionID.maximumGeneration {
          return
        }
        let isParent = parent.map { $0 == winner.winner }
        if case .refused = edit.admission(
          isParentLeaf: isParent, isWinnerDeleted: winner.isDeleted, policy)
        {
          return
        }
        let change = try edit.change(
          after: winner, by: batch.algorithm, sequence: sequence, depth: depth)
        guard try record.append(change, to: &batch.record) else { return }
        (old, oldBody, head) = (winner, record.body, change.head)
      }
    }
    if found == nil,
      case .first = edit.admission(
        isParentLeaf: parent.map { _ in false }, isWinnerDeleted: nil, policy)
    {
      let change = try edit.change(after: nil, by: batch.algorithm, sequence: sequence, depth: depth)
      UnbranchedRecord.append(change, to: &batch.record)
      head = change.head
    }
    guard let head else { return nil }
    let added = try Bodies(batch, part).blobs(edit.body.blobs, without: old?.body ?? 0)
    _ = part.takeSequence()
    try batch.apply(RevisionChange(edit.id, from: old, oldBody, to: head, body: edit.body), part)
    var saved = SavedRevision(revision: head.winner, sequence: sequence, isNew: true)
    saved.isReplacement = old?.isDeleted == false
    saved.addedBlobs = added
    return saved
  }

  /// - Parameter place: the index of the parent leaf; nil if the document is new.
  private func append(
    _ edit: Edit, to known: RevisionTree, after place: Int?, _ old: DocumentRecord?, _ part: CollectionBatch,
    _ policy: ConcurrencyControl
  ) throws -> SavedRevision {
    var (tree, place) = (known, place)
    var revision = try edit.revision(after: place.map { tree.nodes[$0].id }, by: batch.algorithm)
    while let leaf = place, tree.contains(revision) {
      // Another replica sent the same edit without its history, so the edit is a root of the tree:
      // make it a child of the leaf. If its latest descendant is deleted, continue from there.
      let next = try tree.adopt(revision, asChildOf: leaf)
      guard policy == .lastWriteWins || tree.nodes[next].isDeleted else {
        throw DatabaseError(
          .conflict,
          "the document \(edit.id) is at \(tree.nodes[next].id), and this follows from \(tree.nodes[leaf].id)"
        )
      }
      place = next
      revision = try edit.revision(after: tree.nodes[next].id, by: batch.algorithm)
    }
    guard revision.generation <= RevisionID.maximumGeneration else {
      throw DatabaseError(.badRevisionID, "the document \(edit.id) has been edited too often")
    }
    let added = try Bodies(batch, part).blobs(
      edit.body.blobs, without: place.map { tree.nodes[$0].body } ?? 0)
    let sequence = part.takeSequence()
    tree.append(revision, after: place, isDeleted: edit.isDeleted, body: sequence)
    tree.prune(to: try batch.depth())
    let head = try store(
      edit.id, part, old, tree, sequence: sequence, body: edit.body, added: revision, isLocal: true)
    var saved = SavedRevision(
      revision: revision, sequence: sequence, isNew: true, hasConflicts: head.hasConflicts)
    saved.isReplacement = old?.tree.winner?.isDeleted == false
    saved.addedBlobs = added
    return saved
  }

  /// Saves an edit of any revision that is kept. If the revision is not a leaf, the edit becomes a
  /// branch: the document is then in conflict, as if another replica had made it.
  ///
  /// - Parameters:
  ///   - parent: the edited revision.
  ///   - isDeleted: whether the edit deletes the branch; `body` is then the body of the tombstone.
  ///   - blobs: digests of all blobs that the body refers to.
  /// - Returns: the saved revision; `isNew` is false if the same edit of the revision was there.
  /// - Throws: ``DatabaseError`` `conflict` if the revision is not kept; `notFound` if there is no
  ///   document; `notUnique` if the branch becomes the winner.
  package func saveBranch(
    _ id: String, in collection: CollectionHandle, body: [UInt8], parent: RevisionID, isDeleted: Bool = false,
    blobs: [BlobDigest] = []
  ) throws -> SavedRevision {
    let part = try batch.part(for: collection)
    guard let old = try record(id, part) else {
      throw DatabaseError(.notFound, "there is no document \(id)")
    }
    guard let node = old.tree[parent] else {
      throw DatabaseError(
        .conflict, "the revision \(parent) of the document \(id) is no longer kept",
        advice: "Edit a revision that `revisions(of:)` lists.")
    }
    let edit = Edit(id: id, body: NewBody(bytes: body, blobs: blobs), isDeleted: isDeleted)
    let revision = try edit.revision(after: parent, by: batch.algorithm)
    guard revision.generation <= RevisionID.maximumGeneration else {
      throw DatabaseError(.badRevisionID, "the document \(id) has been edited too often")
    }
    if old.tree[revision]?.body ?? 0 != 0 {
      return SavedRevision(
        revision: revision, sequence: old.sequence, isNew: false,
        hasConflicts: old.head?.hasConflicts ?? false)
    }
    var tree = old.tree
    let added = try Bodies(batch, part).blobs(blobs, without: node.body)
    let next = part.state.lastSequence + 1
    _ = try tree.insert(history: [revision, parent], isDeleted: isDeleted, body: next)
    tree.prune(to: try batch.depth())
    let sequence = part.takeSequence()
    let kept = tree.nodes.contains { $0.body == sequence }
    let head = try store(
      id, part, old, tree, sequence: sequence, body: kept ? NewBody(bytes: body, blobs: blobs) : nil,
      added: revision, isLocal: true)
    var saved = SavedRevision(
      revision: revision, sequence: sequence, isNew: true, hasConflicts: head.hasConflicts)
    saved.addedBlobs = added
    return saved
  }
}

/// An edit that is about to become a revision.
private struct Edit {
  var id: String
  var body: NewBody
  var isDeleted: Bool

  /// Decides whether this edit may be saved, and which revision it then follows.
  ///
  /// - Parameters:
  ///   - isParentLeaf: whether the parent that the edit names is a leaf of the document; nil if it
  ///     names none.
  ///   - isWinnerDeleted: whether the winner of the document is deleted; nil if there is no
  ///     document.
  func admission(
    isParentLeaf: Bool?, isWinnerDeleted: Bool?, _ policy: ConcurrencyControl
  ) -> Admission {
    guard let isWinnerDeleted else {
      if isDeleted { return .refused(.missing) }
      return isParentLeaf == nil || policy == .lastWriteWins ? .first : .refused(.purged)
    }
    if isDeleted, isWinnerDeleted { return .refused(.deleted) }
    if isParentLeaf == true { return .afterParent }
    let continuesDeleted = isParentLeaf == nil && isWinnerDeleted
    return continuesDeleted || policy == .lastWriteWins ? .afterWinner : .refused(.conflict)
  }

  func revision(
    after parent: RevisionID?, by algorithm: RevisionDigest.Algorithm
  ) throws(DatabaseError) -> RevisionID {
    try body.bytes.withContents { (body) throws(DatabaseError) -> RevisionID in
      try RevisionID(editing: parent, isDeleted: isDeleted, body: body, by: algorithm)
    }
  }

  /// Returns this edit of the winner of a document, or of a new one.
  func change(
    after winner: DocumentRecord.Head?, by algorithm: RevisionDigest.Algorithm, sequence: UInt64, depth: Int
  ) throws(DatabaseError) -> UnbranchedRecord.NewWinner {
    UnbranchedRecord.NewWinner(
      revision: try revision(after: winner?.winner, by: algorithm), isDeleted: isDeleted, body: body.bytes,
      sequence: sequence,
      expiry: winner?.expiry, depth: depth)
  }
}

/// Whether an edit may be saved, and the revision that it then follows.
private enum Admission {
  /// The edit is the first revision of the document.
  case first
  /// The edit follows the parent that it names.
  case afterParent
  /// The edit follows the winner, which it may not have seen.
  case afterWinner
  case refused(Refusal)

  enum Refusal {
    /// The document to delete does not exist.
    case missing
    /// The edited document no longer exists.
    case purged
    /// The document to delete is already deleted.
    case deleted
    /// The edit does not follow a leaf.
    case conflict

    func error(saving id: String, after parent: RevisionID?, winner: RevisionID?) -> DatabaseError {
      switch self {
      case .missing:
        return DatabaseError(.notFound, "the document \(id) does not exist, so it cannot be deleted")
      case .purged: return DatabaseError(.conflict, "the document \(id) no longer exists")
      case .deleted: return DatabaseError(.notFound, "the document \(id) is already deleted")
      case .conflict:
        let (at, base) = (winner.map { "\($0)" } ?? "nothing", parent.map { "\($0)" } ?? "nothing")
        return DatabaseError(.conflict, "the document \(id) is at \(at), and this follows from \(base)")
      }
    }
  }
}
