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
  /// It stays as long as a document refers to it. Until one does it stays as long as this database is open.
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

  /// Opens the content of a blob; nil if it is not in this database. While it is open it stays.
  public func content(of blob: Blob) throws(DatabaseError) -> BlobContent? {
    guard let digest = BlobDigest(blob.sum) else { return nil }
    return try translating { () throws(DocumentError) in try documents.blob(digest).map { BlobContent($0) } }
  }

  func hold(_ handle: BlobHandle) { heldBlobs.withLock { $0[handle.digest] = handle } }

  /// A document refers to them now.
  func release(_ blobs: [BlobDigest]) {
    if blobs.isEmpty { return }
    // Handles go outside of the lock.
    let old = heldBlobs.withLock { held in blobs.compactMap { held.removeValue(forKey: $0) } }
    withExtendedLifetime(old) {}
  }
}

/// A blob on its way in. Not for more than one thread at a time. If it is not finished, nothing of it stays.
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

  /// All of it.
  public func data() throws(DatabaseError) -> Data { try data(in: 0..<length) }

  /// The bytes of a range, as many of them as there are.
  public func data(in range: Range<UInt64>) throws(DatabaseError) -> Data {
    Data(try translating { () throws(DocumentError) in try handle.read(range) })
  }

  /// Calls a closure with pieces of up to a mebibyte, in order, until it returns false.
  public func forEachPiece(_ body: (Data) throws -> Bool) throws {
    do {
      try handle.forEachPiece(of: 0..<length) { piece in
        try body(piece.withUnsafeBytes { Data($0) })
      }
    } catch { throw DatabaseError.translated(error) }
  }
}
