import LatewoodDocuments
import LatewoodFleece
import LatewoodReplicator

/// Saves documents that clients send: as edits of the revision that they name, or as revisions of
/// another replica with their histories.
///
/// `prepare` stores the contents of attachments before the batch begins, so that other writers do
/// not wait for it. `edit` and `insert` run in the batch.
struct DocumentEditor {
  let store: DocumentStore
  let collection: CollectionHandle
  /// Only administrators edit design documents.
  let user: RequestUser

  /// A document whose attachments are stored as blobs.
  struct Prepared {
    let id: String
    var document: IncomingDocument
    /// The blobs of the attachments that came with their content, by name. The handles keep them
    /// until the document refers to them.
    fileprivate var contents: [ExactName: Content] = [:]
    /// Attachments that are in the database, with their metadata.
    fileprivate var kept: [BodyAttachments.Attachment] = []

    fileprivate init(id: String, document: IncomingDocument) {
      self.id = id
      self.document = document
    }
  }

  fileprivate struct Content {
    var blob: BlobHandle
    var digest: String
    var encoding: PeerAttachment.Encoding?
  }

  /// Stores the contents of the attachments of a document.
  ///
  /// - Parameter parts: the contents of attachments that follow the document in a message, by name.
  func prepare(
    _ document: IncomingDocument, id: String, parts: [ExactName: IncomingDocument.Part] = [:]
  ) throws -> Prepared {
    try check(id)
    var prepared = Prepared(id: id, document: document)
    for attachment in document.attachments {
      let found: IncomingDocument.Part
      switch attachment.content {
      case .stub: continue
      case .data(let data): found = try IncomingDocument.Part(data, isGzip: false)
      case .follows:
        guard let part = parts[ExactName(attachment.name)] else {
          throw APIError.badRequest("Invalid attachment data for \(attachment.name)")
        }
        found = part
      }
      prepared.contents[ExactName(attachment.name)] = Content(
        blob: try store.putBlob(found.bytes), digest: found.digest, encoding: found.encoding)
    }
    return prepared
  }

  /// Throws if the user may not edit a document.
  private func check(_ id: String) throws(APIError) {
    guard id.begins(withBytes: NameRules.designPrefix) else { return }
    if let objection = AccessRules.designObjection(to: user) { throw objection }
  }

  // MARK: - In a batch

  /// Saves an edit of the revision that the document names.
  ///
  /// - Throws: `APIError` 409 if the revision is not a leaf, 412 if a stub names an attachment that
  ///   it does not have.
  func edit(_ prepared: Prepared, _ writer: DocumentWriter) throws -> RevisionID {
    let (id, document) = (prepared.id, prepared.document)
    let reads = try writer.reads(collection)
    let record = try reads.record(of: id)
    let parent = document.revision ?? document.history?.first
    if let record, let parent, record.tree[parent]?.isLeaf != true { throw APIError.conflict }
    if record != nil, parent == nil, record?.tree.winner?.isDeleted == false { throw APIError.conflict }
    let stored = try record.flatMap { record in
      try (parent ?? record.tree.winner?.id).flatMap { record.tree[$0] }.flatMap {
        try reads.body(of: $0, in: record)
      }
    }
    let known = Dictionary(
      try stored.map { try BodyAttachments($0).attachments.map { (ExactName($0.name), $0) } } ?? [],
      uniquingKeysWith: { first, _ in first })
    let generation = (parent ?? record?.tree.winner?.id)?.generation ?? 0
    let body = try joined(prepared, generation: generation + 1) { attachment in
      known[ExactName(attachment.name)]
    }
    let blobs = BlobReferences.find(in: body)
    if record == nil, parent != nil || document.isDeleted {
      // As in CouchDB, such an edit is not an error: the parent may be on another replica.
      let revision = try body.withUnsafeBytes { (bytes) throws(DatabaseError) in
        try RevisionID(
          editing: parent, isDeleted: document.isDeleted, body: bytes, by: writer.batch.algorithm)
      }
      try writer.insert(
        id, in: collection, history: [revision] + (parent.map { [$0] } ?? []), body: body,
        isDeleted: document.isDeleted, blobs: blobs)
      return revision
    }
    return try writer.save(
      id, in: collection, body: body, parent: parent, isDeleted: document.isDeleted, blobs: blobs
    ).revision
  }

  /// Inserts the document as a revision of another replica.
  func insert(_ prepared: Prepared, _ writer: DocumentWriter) throws -> RevisionID {
    let history = try prepared.document.foreignHistory()
    let reads = try writer.reads(collection)
    let hasStubs = prepared.document.attachments.contains { prepared.contents[ExactName($0.name)] == nil }
    let known = hasStubs ? try attachments(of: prepared.id, reads) : [:]
    let body = try joined(prepared, generation: history[0].generation) { attachment in
      known[ExactName(attachment.name)]?.first { known in
        attachment.digest == nil || attachment.digest == known.sourceDigest
          || attachment.digest == known.blob.text
      }
    }
    try writer.insert(
      prepared.id, in: collection, history: history, body: body, isDeleted: prepared.document.isDeleted,
      blobs: BlobReferences.find(in: body))
    return history[0]
  }

  /// Saves the stored body of another document.
  func copy(
    _ body: [UInt8], to id: String, parent: RevisionID?, _ writer: DocumentWriter
  ) throws -> RevisionID {
    try check(id)
    let parts = try BodyAttachments(body)
    var document = IncomingDocument(body: parts.body)
    document.revision = parent
    // All attachments are in the database, and the batch keeps them.
    var prepared = Prepared(id: id, document: document)
    prepared.kept = parts.attachments.filter { !$0.isInBody }
    return try edit(prepared, writer)
  }

  /// Returns the attachments of all stored revisions of a document, by name, each content once.
  private func attachments(
    of id: String, _ reads: DocumentReads
  ) throws -> [ExactName: [BodyAttachments.Attachment]] {
    guard let record = try reads.record(of: id) else { return [:] }
    var found: [ExactName: [BodyAttachments.Attachment]] = [:]
    for node in record.tree.nodes {
      guard let body = try reads.body(of: node, in: record) else { continue }
      for attachment in try BodyAttachments(body).attachments {
        let known = found[ExactName(attachment.name)]?.contains { $0.blob == attachment.blob }
        if known != true { found[ExactName(attachment.name), default: []].append(attachment) }
      }
    }
    return found
  }

  /// Returns the body with the metadata of the attachments.
  ///
  /// - Parameters:
  ///   - generation: the generation of the revision, the position of new attachments.
  ///   - known: returns the stored attachment that a stub stands for.
  private func joined(
    _ prepared: Prepared, generation: UInt64,
    _ known: (IncomingDocument.Attachment) throws -> BodyAttachments.Attachment?
  ) throws -> [UInt8] {
    let document = prepared.document
    if document.attachments.isEmpty, prepared.kept.isEmpty { return document.body }
    var parts = try BodyAttachments(document.body)
    for attachment in prepared.kept {
      var attachment = attachment
      attachment.revisionPosition = generation
      parts.attachments.append(attachment)
    }
    // A blob in the body has an entry of its own only on the wire.
    let blobsInBody = Dictionary(
      parts.attachments.filter(\.isInBody).map { (ExactName($0.name), $0) },
      uniquingKeysWith: { first, _ in first })
    for attachment in document.attachments {
      let inBody = blobsInBody[ExactName(attachment.name)]
      guard let content = prepared.contents[ExactName(attachment.name)] else {
        if inBody != nil { continue }
        guard let same = try known(attachment) else {
          throw APIError(
            412, "missing_stub", "Invalid attachment stub in \(prepared.id) for \(attachment.name)")
        }
        if !same.isInBody { parts.attachments.append(same) }
        continue
      }
      if let inBody {
        guard inBody.blob == content.blob.digest else {
          throw APIError.badRequest("The attachment \(attachment.name) has other bytes than its blob")
        }
        continue
      }
      parts.attachments.append(
        BodyAttachments.Attachment(
          name: attachment.name, contentType: attachment.contentType ?? BodyAttachments.usualType,
          blob: content.blob.digest, sourceDigest: content.digest, length: content.blob.length,
          revisionPosition: attachment.revisionPosition.map { min($0, generation) } ?? generation,
          encoding: content.encoding))
    }
    return try parts.joined()
  }
}
