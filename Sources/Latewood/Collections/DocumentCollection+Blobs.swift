import LatewoodDocuments
import LatewoodFleece

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Binary content outside the documents, stored once however many documents refer to it.
extension Database {
  /// Saves binary content, and returns the blob to put into a document.
  ///
  /// The content is kept as long as a document refers to it, even a local or deleted one. Until
  /// then it is kept as long as this database is open; each call of `saveBlob` covers one reference
  /// from a document. In a batch it is part of the batch, and can be read there.
  ///
  /// - Throws: ``DatabaseError`` like every change.
  public func saveBlob(_ content: Data, contentType: String? = nil) throws -> Blob {
    let writer = try makeBlobWriter(contentType: contentType)
    try writer.write(content)
    return try writer.finish()
  }

  /// Begins a blob of any length, to be written in pieces.
  ///
  /// - Throws: ``DatabaseError`` `notWritable` if the database was opened read-only; `notOpen` once
  ///   it is closed.
  public func makeBlobWriter(contentType: String? = nil) throws -> BlobOutput {
    let writer = try documents.makeBlobWriter()
    return BlobOutput(writer, contentType: contentType, of: self)
  }

  /// Opens the content of a blob, which is kept as long as it is open. In a batch, it may be
  /// content that the batch has saved; reading it throws `notFound` if the batch fails.
  ///
  /// - Throws: ``DatabaseError`` `notFound` if the content is not in this database. The content for
  ///   a document from another replica may never have been saved here; once it is saved, it is
  ///   available to all documents that refer to the blob. A compaction removes content without
  ///   references.
  public func content(of blob: Blob) throws -> BlobContent {
    guard let sum = blob.sum, let digest = BlobDigest(sum) else {
      throw DatabaseError(
        .notFound, "content is found by its SHA-256 here, and the blob is named “\(blob.digest)”",
        advice: "Save the content with `saveBlob`, and put the blob that it gives into the document.")
    }
    guard let handle = try handle(of: digest) else {
      throw DatabaseError(
        .notFound, "the content of the blob “\(blob.digest)” is not in this database",
        advice: "Save the content with `saveBlob`: documents that refer to it then have it.")
    }
    return BlobContent(handle)
  }

  /// Returns whether the content of a blob is in this database. O(log n).
  ///
  /// - Throws: ``DatabaseError`` like every read.
  public func hasContent(of blob: Blob) throws -> Bool {
    guard let digest = blob.sum.flatMap({ BlobDigest($0) }) else { return false }
    return try handle(of: digest) != nil
  }

  private func handle(of digest: BlobDigest) throws(DatabaseError) -> BlobHandle? {
    try documents.blob(digest)
  }

  func hold(_ handle: BlobHandle) {
    documents.atEndOfBatch { [self] isCommitted in
      if isCommitted { heldBlobs.withLock { $0[handle.digest, default: []].append(handle) } }
    }
  }

  /// Releases saved blobs when a change is committed, once for each new reference in a document.
  ///
  /// - Parameter added: the blobs that the previous revision did not refer to.
  func release(_ places: [(digest: BlobDigest, count: Int)], _ added: [BlobDigest]) {
    if added.isEmpty { return }
    documents.atEndOfBatch { [self] isCommitted in
      guard isCommitted else { return }
      var released: [BlobHandle] = []
      heldBlobs.withLock { held in
        for (digest, count) in places where added.contains(digest) {
          guard let handles = held.removeValue(forKey: digest) else { continue }
          released += handles.suffix(count)
          if handles.count > count { held[digest] = handles.dropLast(count) }
        }
      }
      // Handles are released outside the lock.
      withExtendedLifetime(released) {}
    }
  }
}
