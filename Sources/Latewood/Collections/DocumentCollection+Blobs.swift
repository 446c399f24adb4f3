import LatewoodDocuments
import LatewoodFleece

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Binary content outside the documents, stored once regardless of how many documents refer to it.
extension Database {
  /// Saves binary content, and returns the blob to put into a document.
  ///
  /// The content is kept as long as a document refers to it, even a local or deleted one. Until
  /// then it is kept as long as this database is open: each call of `saveBlob` covers one place in
  /// a document. In a batch it is part of the batch, and can be read there.
  ///
  /// - Throws: ``DatabaseError`` `notWritable` if the database was opened read-only, its disk is
  ///   full or its file is gone; `notOpen` once it is closed; `corruptData` or `inputOutput` if the
  ///   file cannot be read or written.
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
    let writer = try translating { () throws(DocumentError) in try documents.makeBlobWriter() }
    return BlobOutput(writer, contentType: contentType, of: self)
  }

  /// Opens the content of a blob, which is kept as long as it is open. In a batch, it may be
  /// content that the batch has saved; reading it throws `notFound` if the batch fails.
  ///
  /// - Throws: ``DatabaseError`` `notFound` if the content is not in this database. The content for
  ///   a document from another replica may never have been saved here; once it is, all documents
  ///   that refer to the blob have it. Content that nothing refers to is removed by a compaction.
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
  /// - Throws: ``DatabaseError`` `notOpen` once the database is closed; `corruptData` or
  ///   `inputOutput` if the file cannot be read.
  public func hasContent(of blob: Blob) throws -> Bool {
    guard let digest = blob.sum.flatMap({ BlobDigest($0) }) else { return false }
    return try handle(of: digest) != nil
  }

  private func handle(of digest: BlobDigest) throws(DatabaseError) -> BlobHandle? {
    try translating { () throws(DocumentError) in try documents.blob(digest) }
  }

  func hold(_ handle: BlobHandle) {
    documents.atEndOfBatch { [self] isCommitted in
      if isCommitted { heldBlobs.withLock { $0[handle.digest, default: []].append(handle) } }
    }
  }

  /// Releases saved blobs, once for each new reference in a document, when the change is committed.
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

/// Writes a blob in pieces. Use it from one thread at a time. An unfinished blob is discarded. If a
/// batch fails in which part of it was written, every further call throws `notFound`: write it
/// again from the start.
public final class BlobOutput {
  private let writer: BlobWriter
  private let contentType: String?
  let database: Database

  init(_ writer: BlobWriter, contentType: String?, of database: Database) {
    self.writer = writer
    self.contentType = contentType
    self.database = database
  }

  /// Appends bytes. Uses at most a mebibyte of memory.
  ///
  /// - Throws: ``DatabaseError`` `notFound` if a batch has failed in which part of the blob was
  ///   written; `notWritable` if the database was opened read-only, its disk is full or its file is
  ///   gone; `notOpen` once it is closed; `corruptData` or `inputOutput` if the file cannot be read
  ///   or written.
  public func write(_ bytes: Data) throws {
    // A closure passed to Foundation cannot have a typed error.
    let result = bytes.withUnsafeBytes { bytes in
      Result { () throws(DocumentError) in try writer.write(bytes) }
    }
    do { try result.get() } catch { throw DatabaseError(error) }
  }

  /// Finishes the blob and returns it, to be put into a document.
  ///
  /// - Throws: ``DatabaseError`` `notFound` if a batch has failed in which part of the blob was
  ///   written; `notWritable` if the database was opened read-only, its disk is full or its file is
  ///   gone; `notOpen` once it is closed; `corruptData` or `inputOutput` if the file cannot be read
  ///   or written.
  public func finish() throws -> Blob {
    let handle = try translating { () throws(DocumentError) in try writer.finish() }
    database.hold(handle)
    return Blob(contentType: contentType, sum: handle.digest.bytes, length: handle.length)
  }
}

/// The content of a blob. Thread safety: all calls from any thread.
public final class BlobContent: Sendable {
  let handle: BlobHandle

  init(_ handle: BlobHandle) { self.handle = handle }

  /// The length in bytes.
  public var length: UInt64 { handle.length }

  /// Returns the entire content. Throws `corruptData` if it does not match the digest.
  ///
  /// - Throws: ``DatabaseError`` `corruptData` if the content does not match the digest; `notFound`
  ///   if the batch that saved it has failed; `notOpen`, `inputOutput`.
  public func data() throws -> Data { try data(in: 0..<length) }

  /// Returns the bytes of a range, or as much of it as exists. They are checked against the digest
  /// only if the range covers all of the content.
  ///
  /// - Throws: ``DatabaseError`` `corruptData` if the file is damaged, or all of the content does
  ///   not match the digest; `notFound` if the batch that saved it has failed; `notOpen`,
  ///   `inputOutput`.
  public func data(in range: Range<UInt64>) throws -> Data {
    Data(try translating { () throws(DocumentError) in try handle.read(range) })
  }

  /// Calls a closure with pieces of up to a mebibyte, in order, until it returns false. In async
  /// functions use ``pieces``, which does not block the thread.
  ///
  /// - Throws: errors of the closure; ``DatabaseError`` `corruptData` after the last piece if the
  ///   content does not match the digest; `notFound` if the batch that saved it has failed;
  ///   `notOpen`, `inputOutput`.
  public func forEachPiece(_ body: (Data) throws -> Bool) throws {
    do {
      try handle.forEachVerifiedCopy { try body(Data($0)) }
    } catch { throw DatabaseError.translated(error) }
  }
}
