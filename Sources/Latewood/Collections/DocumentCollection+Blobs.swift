import LatewoodDocuments
import LatewoodFleece

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Binary content, kept beside the documents: once, however many documents refer to it.
extension Database {
  /// Keeps binary content, and gives the blob to put into a document.
  ///
  /// It stays as long as a document refers to it, which may be a local or a deleted one. Until one
  /// does it stays as long as this database is open: each time that it was saved is good for one
  /// place in a document. In a batch it is part of the batch, and can be read in it.
  public func saveBlob(_ content: Data, contentType: String? = nil) throws(DatabaseError) -> Blob {
    let writer = try makeBlobWriter(contentType: contentType)
    try writer.write(content)
    return try writer.finish()
  }

  /// Starts a blob whose content comes in pieces, however long it is.
  public func makeBlobWriter(contentType: String? = nil) throws(DatabaseError) -> BlobOutput {
    let writer = try translating { () throws(DocumentError) in try documents.makeBlobWriter() }
    return BlobOutput(writer, contentType: contentType, of: self)
  }

  /// Opens the content of a blob. While it is open it stays. In a batch it may be one that the
  /// batch has saved; if that fails, reading it throws `notFound`.
  ///
  /// - Throws: ``DatabaseError`` `notFound` if the content is not in this database. That of a
  ///   document from elsewhere may never have been saved here; when it is, all documents that
  ///   refer to the blob have it. And what nothing refers to goes with a compaction.
  public func content(of blob: Blob) throws(DatabaseError) -> BlobContent {
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

  /// Whether the content of a blob is in this database. O(log n).
  public func hasContent(of blob: Blob) throws(DatabaseError) -> Bool {
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

  /// Lets go of blobs that a document refers to now, once for each new place, if that is committed.
  ///
  /// - Parameter added: those that the revision before did not refer to.
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
      // Handles go outside of the lock.
      withExtendedLifetime(released) {}
    }
  }
}

/// A blob on its way in. Not for more than one thread at a time. If it is not finished, nothing of
/// it stays. If a batch fails in which part of it was written, every further call throws
/// `notFound`: write it again from the start.
public final class BlobOutput {
  private let writer: BlobWriter
  private let contentType: String?
  private let database: Database

  init(_ writer: BlobWriter, contentType: String?, of database: Database) {
    self.writer = writer
    self.contentType = contentType
    self.database = database
  }

  /// Takes the next bytes. Holds a mebibyte in memory at most.
  public func write(_ bytes: Data) throws(DatabaseError) {
    // A closure of Foundation's cannot say what it throws.
    let result = bytes.withUnsafeBytes { bytes in
      Result { () throws(DocumentError) in try writer.write(bytes) }
    }
    do { try result.get() } catch { throw DatabaseError(error) }
  }

  /// Ends it, and gives the blob to put into a document.
  public func finish() throws(DatabaseError) -> Blob {
    let handle = try translating { () throws(DocumentError) in try writer.finish() }
    database.hold(handle)
    return Blob(contentType: contentType, sum: handle.digest.bytes, length: handle.length)
  }
}

/// The content of a blob. Thread safety: all calls from any thread.
public final class BlobContent: Sendable {
  private let handle: BlobHandle

  init(_ handle: BlobHandle) { self.handle = handle }

  /// Bytes.
  public var length: UInt64 { handle.length }

  /// All of it. Throws `corruptData` if it is not what its digest says.
  public func data() throws(DatabaseError) -> Data { try data(in: 0..<length) }

  /// The bytes of a range, as many of them as there are. Only if that is all of them they are
  /// compared with the digest.
  public func data(in range: Range<UInt64>) throws(DatabaseError) -> Data {
    Data(try translating { () throws(DocumentError) in try handle.read(range) })
  }

  /// Calls a closure with pieces of up to a mebibyte, in order, until it returns false. After the
  /// last one it throws `corruptData` if together they are not what the digest says.
  public func forEachPiece(_ body: (Data) throws -> Bool) throws {
    do {
      try handle.forEachVerifiedCopy { try body(Data($0)) }
    } catch { throw DatabaseError.translated(error) }
  }
}
