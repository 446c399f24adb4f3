import LatewoodDocuments

/// An edit that is ready to be saved, encoded before the batch begins so that other writers do not
/// wait for the encoding.
struct PreparedEdit: Sendable {
  let id: String
  let body: [UInt8]
  let parent: RevisionID?
  let isDeleted: Bool
  let policy: ConcurrencyControl
  /// The blobs that the body refers to, and the number of references to each.
  let blobs: [(digest: BlobDigest, count: Int)]

  /// - Parameter parent: the revision to delete. For a save, the document itself specifies its
  ///   parent and whether it is deleted.
  init(
    _ document: MutableDocument, deleting parent: RevisionID? = nil, _ control: ConcurrencyControl,
    isStrict: Bool
  ) throws(DatabaseError) {
    // The steps that can fail come first, before there is an edit to copy or to destroy.
    let body = try document.encodedBody(isStrict: isStrict)
    id = document.id
    self.body = body
    self.parent = parent ?? document.revision
    isDeleted = parent != nil || document.isDeleted
    policy = control
    blobs = BlobReferences.places(in: body)
  }

  func save(_ writer: DocumentWriter, in collection: CollectionHandle) throws -> SavedRevision {
    try writer.save(
      id, in: collection, body: body, parent: parent, isDeleted: isDeleted, blobs: blobs.map(\.digest),
      policy: policy)
  }
}

extension DocumentCollection {
  func prepare(
    _ document: MutableDocument, _ control: ConcurrencyControl
  ) throws(DatabaseError) -> PreparedEdit {
    try PreparedEdit(document, control, isStrict: database.configuration.isStrict)
  }

  func prepareDeletion(
    of document: Document, keeping members: [String: DocumentValue], _ control: ConcurrencyControl
  ) throws -> PreparedEdit {
    try PreparedEdit(
      MutableDocument(id: document.id, members), deleting: document.parsedRevision, control,
      isStrict: database.configuration.isStrict)
  }

  /// Saves an edit, alone or as part of the batch that this thread is in.
  @discardableResult
  func save(_ edit: PreparedEdit) throws(DatabaseError) -> Document {
    let saved = try write { writer in try edit.save(writer, in: handle) }
    database.release(edit.blobs, saved.addedBlobs)
    return Document(edit.id, saved, edit.body, isDeleted: edit.isDeleted)
  }

  /// Saves an edit in the order of the calls, without blocking the caller's thread.
  @discardableResult
  func save(_ edit: PreparedEdit) async throws -> Document {
    try await database.inBatch { try self.save(edit) }
  }
}
