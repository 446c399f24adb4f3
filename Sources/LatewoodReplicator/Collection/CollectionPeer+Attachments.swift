import LatewoodDocuments
import LatewoodFleece

/// Reading attachments from a collection, and storing received ones.
extension CollectionPeer {
  /// Returns a stored revision with its attachments.
  func peerRevision(
    _ revision: StoredRevision, _ request: RevisionRequest, _ reads: DocumentReads
  ) throws -> PeerRevision {
    let parts = try BodyAttachments(revision.body)
    var result = PeerRevision(
      id: request.id, history: revision.history, isDeleted: revision.isDeleted, body: parts.body)
    if parts.attachments.isEmpty { return result }
    let known = try attachments(ofAncestors: request.ancestors, of: revision, request.id, reads)
    for attachment in parts.attachments {
      let old = known.first {
        $0.attachment.blob == attachment.blob && TextKey($0.attachment.name) == TextKey(attachment.name)
      }
      let isHere = try store.blob(attachment.blob) != nil
      // If the content of a blob has never arrived, it is also missing on the other side.
      if !isHere, attachment.isInBody { continue }
      let content = isHere && old == nil ? BlobAttachment(digest: attachment.blob, store: store) : nil
      result.attachments.append(
        PeerAttachment(
          name: attachment.name, contentType: attachment.contentType,
          digest: attachment.sourceDigest ?? attachment.blob.text, length: attachment.length,
          revisionPosition: attachment.revisionPosition ?? old?.generation ?? revision.revision.generation,
          encoding: attachment.encoding, content: content, blob: attachment.isInBody ? attachment.blob : nil))
    }
    return result
  }

  /// Returns the attachments of those ancestors whose bodies are kept.
  private func attachments(
    ofAncestors ancestors: [RevisionID], of revision: StoredRevision, _ id: String, _ reads: DocumentReads
  ) throws -> [(attachment: BodyAttachments.Attachment, generation: UInt64)] {
    var found: [(attachment: BodyAttachments.Attachment, generation: UInt64)] = []
    let own = ancestors.filter { revision.history.dropFirst().contains($0) }
    if own.isEmpty { return [] }
    for ancestor in try reads.revisions(own, of: id, isLatest: false) {
      let generation = ancestor.revision.generation
      found += try BodyAttachments(ancestor.body).attachments.map { ($0, generation) }
    }
    return found
  }

  enum Received {
    case revision(ForeignRevision)
    case outcome(InsertOutcome)
  }

  /// Prepares a revision for its insertion: stores the contents of its attachments that are not in
  /// the database.
  ///
  /// - Parameter blobs: receives handles of all its blobs, which keep them in the database.
  func received(_ revision: PeerRevision, _ blobs: inout [BlobHandle]) async throws -> Received {
    if revision.attachments.isEmpty {
      return .revision(
        ForeignRevision(
          revision.id, history: revision.history, isDeleted: revision.isDeleted, body: revision.body,
          blobs: BlobReferences.find(in: revision.body)))
    }
    do {
      var parts = try BodyAttachments(revision.body)
      let inBody = parts.attachments.filter(\.isInBody)
      let namedBlobs = Dictionary(inBody.map { (TextKey($0.name), $0.blob) }) { first, _ in first }
      var known: [BodyAttachments.Attachment]?
      for attachment in revision.attachments {
        // An attachment that names a blob of the body has the bytes of that blob.
        let expected = attachment.blob ?? namedBlobs[TextKey(attachment.name)]
        if let expected, let handle = try await performing({ try store.blob(expected) }) {
          blobs.append(handle)
          continue
        }
        if expected == nil, known == nil { known = try await knownAttachments(of: revision) }
        let handle: BlobHandle
        if expected == nil, let same = known?.first(where: { $0.isSame(as: attachment) }),
          let stored = try await performing({ try store.blob(same.blob) })
        {
          handle = stored
        } else if let content = attachment.content {
          handle = try await store(content)
        } else {
          return .outcome(.lacksAttachment)
        }
        blobs.append(handle)
        if let expected, handle.digest != expected {
          return .outcome(
            .refused(.init(.unacceptable, "the attachment \(attachment.name) has other bytes than its blob")))
        }
        if expected != nil, namedBlobs[TextKey(attachment.name)] != nil || attachment.blob != nil { continue }
        parts.attachments.append(
          BodyAttachments.Attachment(
            name: attachment.name, contentType: attachment.contentType, blob: handle.digest,
            sourceDigest: attachment.digest, length: handle.length,
            revisionPosition: attachment.revisionPosition, encoding: attachment.encoding, isInBody: false))
      }
      let body = try parts.joined()
      return .revision(
        ForeignRevision(
          revision.id, history: revision.history, isDeleted: revision.isDeleted, body: body,
          blobs: BlobReferences.find(in: body)))
    } catch let error as FleeceError {
      return .outcome(.refused(.init(.unacceptable, error.reason)))
    }
  }

  /// Returns the named attachments of all stored revisions of a document.
  private func knownAttachments(of revision: PeerRevision) async throws -> [BodyAttachments.Attachment] {
    try await reading { reads in
      guard let record = try reads.record(of: revision.id) else { return [] }
      let stored = try reads.revisions(record.tree.nodes.map(\.id), of: revision.id, isLatest: false)
      return try stored.flatMap { try BodyAttachments($0.body).attachments }.filter { !$0.isInBody }
    }
  }

  /// Stores the bytes of an attachment as a blob, a piece at a time.
  private func store(_ content: any AttachmentContent) async throws -> BlobHandle {
    let reader = try await content.open()
    defer { reader.close() }
    let writer = Handover(try await performing { Handover(try store.makeBlobWriter()) }.value)
    while let piece = try await reader.next() {
      try await performing {
        try piece.withUnsafeBytes { bytes in
          Result { () throws(DatabaseError) in try writer.value.write(bytes) }
        }.get()
      }
    }
    return try await performing { try writer.value.finish() }
  }
}

extension BodyAttachments.Attachment {
  /// Whether an attachment from another peer has the same bytes, by its name and digest.
  fileprivate func isSame(as other: PeerAttachment) -> Bool {
    guard TextKey(name) == TextKey(other.name) else { return false }
    guard let digest = other.digest else { return other.content == nil }
    return sourceDigest == digest
  }
}

/// A blob of a database as the content of an attachment.
private struct BlobAttachment: AttachmentContent {
  let digest: BlobDigest
  let store: DocumentStore

  func open() async throws -> any AttachmentReader {
    do {
      guard let handle = try await store.perform({ try store.blob(digest) }) else {
        throw DatabaseError(.notFound, "the content of the blob \(digest) is not in the database")
      }
      return BlobAttachmentReader(handle, store)
    } catch { throw CollectionPeer.translated(error) }
  }
}

private actor BlobAttachmentReader: AttachmentReader {
  private let store: DocumentStore
  private var pieces: BlobReader

  init(_ handle: BlobHandle, _ store: DocumentStore) {
    self.store = store
    pieces = BlobReader(handle)
  }

  func next() async throws -> [UInt8]? {
    do {
      let (piece, rest) = try await store.perform { [pieces] in
        var pieces = pieces
        return (try pieces.next(), pieces)
      }
      pieces = rest
      return piece
    } catch { throw CollectionPeer.translated(error) }
  }

  nonisolated func close() {}
}

/// A value handed from one thread to another. Its creator waits until the other thread is done, so
/// no two threads use it at the same time.
private struct Handover<Value>: @unchecked Sendable {
  let value: Value
  init(_ value: Value) { self.value = value }
}
