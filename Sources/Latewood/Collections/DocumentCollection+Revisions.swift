import LatewoodDocuments

/// Revisions and conflicts.
extension DocumentCollection {
  /// Returns all kept revisions of a document, the newest generation first; empty if the document
  /// does not exist.
  ///
  /// - Throws: ``DatabaseError`` like every read.
  public func revisions(of id: String) throws -> [Revision] {
    guard let record = try record(of: id) else { return [] }
    return record.tree.nodes.sorted { $0.id > $1.id }.map { node in
      Revision(
        id: node.id.description, parentID: record.tree.parent(of: node.id)?.id.description,
        isLeaf: node.isLeaf, isDeleted: node.isDeleted)
    }
  }

  /// Returns a given revision; nil if it is no longer kept, or its content was removed. A
  /// compaction removes the content of revisions that are not current.
  ///
  /// - Throws: ``DatabaseError`` `badRevisionID` if the text is not a revision id, whether or not
  ///   the document exists; otherwise like every read.
  public func document(_ id: String, revision: String) throws -> Document? {
    let revision = try RevisionID(revision)
    guard let record = try record(of: id) else { return nil }
    return try document(id, revision, record)
  }

  /// Returns the parent revision of a document; nil if it is no longer kept.
  ///
  /// - Throws: ``DatabaseError`` `badRevisionID` if a document has no revisions, like a local
  ///   document; otherwise like every read.
  public func parent(of document: Document) throws -> Document? {
    let revision = try document.parsedRevision
    guard let record = try record(of: document.id), let parent = record.tree.parent(of: revision)
    else { return nil }
    return try self.document(document.id, parent.id, record)
  }

  /// Returns the newest common ancestor of two revisions of a document, the base of a three-way
  /// merge; nil if it is no longer kept.
  ///
  /// - Throws: ``DatabaseError`` `badRevisionID` if a document has no revisions, like a local
  ///   document; otherwise like every read.
  public func commonAncestor(_ a: Document, _ b: Document) throws -> Document? {
    let (first, second) = (try a.parsedRevision, try b.parsedRevision)
    guard let record = try record(of: a.id), let ancestor = record.tree.commonAncestor(first, second)
    else { return nil }
    return try document(a.id, ancestor.id, record)
  }

  /// Returns the conflicting revisions of a document other than the current one; empty if there is
  /// no conflict.
  ///
  /// - Throws: ``DatabaseError`` like every read.
  public func conflicts(of id: String) throws -> [Document] {
    guard let record = try record(of: id) else { return [] }
    var list: [Document] = []
    for node in record.tree.conflicts {
      if let document = try document(id, node.id, record) { list.append(document) }
    }
    return list
  }

  /// Resolves a conflict in one transaction: the merged document becomes the current revision, and
  /// all other conflicting revisions are deleted.
  ///
  /// - Parameter merged: a changed copy of the revision to continue from, usually the current one.
  /// - Throws: ``DatabaseError`` `conflict` if that revision is deleted or no longer a leaf;
  ///   `notFound`; `invalidParameter` if the merged document is marked as deleted.
  @discardableResult
  public func resolveConflicts(with merged: MutableDocument) throws -> Document {
    guard !merged.isDeleted else {
      throw DatabaseError(
        .invalidParameter, "a conflict of \(merged.id) cannot be resolved by a deletion",
        advice: "Resolve the conflict by choosing one of the revisions, and delete the document then.")
    }
    let body = try merged.encodedBody(isStrict: database.configuration.isStrict)
    let tombstone = try MutableDocument(id: merged.id).encodedBody()
    let blobs = BlobReferences.places(in: body)
    let saved = try write { writer in
      try writer.resolveConflicts(
        of: merged.id, in: handle, keeping: merged.revision, merged: body, blobs: blobs.map(\.digest),
        tombstone: tombstone)
    }
    database.release(blobs, saved.addedBlobs)
    return Document(merged.id, saved, body)
  }

  /// Resolves a conflict by choosing one of the revisions.
  ///
  /// - Throws: ``DatabaseError`` `conflict` if that revision is deleted or no longer a leaf;
  ///   `notFound` if the document does not exist; otherwise like every change.
  public func resolveConflicts(choosing document: Document) throws {
    let kept = try document.parsedRevision
    let tombstone = try MutableDocument(id: document.id).encodedBody()
    try write { writer in
      _ = try writer.resolveConflicts(
        of: document.id, in: handle, keeping: kept, merged: nil, tombstone: tombstone)
    }
  }

  /// Saves a change of a revision even if another save has replaced that revision: the new one is
  /// then a branch, and the document is in conflict, as if another replica had saved it. For tests
  /// of how a program treats conflicts, and for tools.
  ///
  /// ```swift
  /// let first = try notes.save(MutableDocument(id: "plan", ["text": "one"]))
  /// var (mine, theirs) = (first.toMutable(), first.toMutable())
  /// mine["text"] = "mine"
  /// theirs["text"] = "theirs"
  /// try notes.save(mine)
  /// try notes.saveAllowingConflict(theirs)
  /// print(try notes.conflicts(of: "plan").count)                 // 1
  /// ```
  ///
  /// - Parameter document: the changed copy of a revision that is kept. A new document is saved as
  ///   `save` does.
  /// - Returns: the saved revision, which need not be the current one; the existing one if the same
  ///   change of the same revision has been saved before.
  /// - Throws: ``DatabaseError`` `conflict` if that revision is no longer kept, or the document is
  ///   new and its id is taken; `notFound` if there is no such document; otherwise as saving a
  ///   document does.
  @discardableResult
  public func saveAllowingConflict(_ document: MutableDocument) throws -> Document {
    try saveBranch(prepare(document, .failOnConflict))
  }

  /// Saves a change of a revision even if another save has replaced that revision, without blocking
  /// the caller's thread. Otherwise like the blocking form.
  ///
  /// - Throws: like every async change; see ``DatabaseError``.
  @discardableResult
  public func saveAllowingConflict(_ document: MutableDocument) async throws -> Document {
    let edit = try prepare(document, .failOnConflict)
    return try await database.inBatch { [self] in try saveBranch(edit) }
  }

  private func saveBranch(_ edit: PreparedEdit) throws(DatabaseError) -> Document {
    guard let parent = edit.parent else { return try save(edit) }
    let saved = try write { writer in
      try writer.saveBranch(
        edit.id, in: handle, body: edit.body, parent: parent, isDeleted: edit.isDeleted,
        blobs: edit.blobs.map(\.digest))
    }
    database.release(edit.blobs, saved.addedBlobs)
    return Document(edit.id, saved, edit.body, isDeleted: edit.isDeleted)
  }

  // MARK: Other replicas

  /// Inserts a revision from another replica with its history. Never throws `conflict`: a revision
  /// that does not descend from a current one becomes a conflict to be merged.
  ///
  /// - Parameters:
  ///   - document: the content of the revision.
  ///   - history: the ids of the revision, its parent and so on, newest first; at least its own.
  ///   - isDeleted: whether the revision is a deletion. A document that is marked as deleted always
  ///     is one.
  /// - Returns: whether any of the revisions was new.
  /// - Throws: ``DatabaseError`` `badRevisionID` if the ids are not a valid history.
  @discardableResult
  public func insert(
    _ document: MutableDocument, history: [String], isDeleted: Bool = false
  ) throws -> Bool {
    let body = try document.encodedBody(isStrict: database.configuration.isStrict)
    var ids: [RevisionID] = []
    for text in history { ids.append(try RevisionID(text)) }
    let blobs = BlobReferences.places(in: body)
    let inserted = try write { [ids] writer in
      try writer.insert(
        document.id, in: handle, history: ids, body: body, isDeleted: isDeleted || document.isDeleted,
        blobs: blobs.map(\.digest))
    }
    if inserted.isNew { database.release(blobs, blobs.map(\.digest)) }
    return inserted.isNew
  }

  /// Returns which of some revisions of a document are not in this database, and the existing ones
  /// from which they may descend.
  ///
  /// - Throws: ``DatabaseError`` `badRevisionID` if a text is not a revision id; otherwise like
  ///   every read.
  public func missingRevisions(
    of id: String, among revisions: [String]
  ) throws -> (missing: [String], possibleAncestors: [String]) {
    var asked: [RevisionID] = []
    for text in revisions { asked.append(try RevisionID(text)) }
    let tree = try record(of: id)?.tree ?? RevisionTree()
    let missing = tree.missing(of: asked)
    return (missing.map(\.description), tree.possibleAncestors(of: missing).map(\.description))
  }

  /// Removes individual branches of a document, each from a leaf back to where another branch forks
  /// off. Other replicas are not notified.
  ///
  /// - Returns: the leaves that were removed.
  /// - Throws: ``DatabaseError`` `badRevisionID` if a text is not a revision id; otherwise like
  ///   every change.
  @discardableResult
  public func purge(_ id: String, leaves: [String]) throws -> [String] {
    var ids: [RevisionID] = []
    for text in leaves { ids.append(try RevisionID(text)) }
    return try write { [ids] writer in
      try writer.purge(id, in: handle, leaves: ids)
    }.map(\.description)
  }

  // MARK: Reading

  private func record(of id: String) throws -> DocumentRecord? {
    let reads = try reads()
    return try reads.record(of: id)
  }

  private func document(
    _ id: String, _ revision: RevisionID, _ record: DocumentRecord
  ) throws -> Document? {
    guard let node = record.tree[revision] else { return nil }
    let reads = try reads()
    let body = try reads.body(at: node.body)
    guard let body else { return nil }
    var flags: DocumentFlags = node.isDeleted ? .deleted : []
    if !record.tree.conflicts.isEmpty { flags.insert(.conflicted) }
    return Document(
      id: id, revision: revision, sequence: node.body, flags: flags, body: body)
  }
}
