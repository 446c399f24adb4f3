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

/// Finds the blobs that a document refers to.
enum BlobReferences {
  private static let mark = Array("sha256-".utf8)

  /// - Parameter bytes: the same content, encoded.
  static func find(in value: DocumentValue, _ bytes: [UInt8]) -> [BlobDigest] {
    // Nearly all documents have none, and a look at their bytes says so.
    guard contains(bytes, mark) else { return [] }
    var found: [BlobDigest] = []
    collect(value, &found)
    return found
  }

  private static func collect(_ value: DocumentValue, _ found: inout [BlobDigest]) {
    switch value.kind {
    case .dictionary:
      if let blob = value.blob, let digest = BlobDigest(blob.sum) {
        if !found.contains(digest) { found.append(digest) }
        return
      }
      for (_, member) in value.members { collect(member, &found) }
    case .array:
      for element in value.array ?? [] { collect(element, &found) }
    default: break
    }
  }

  private static func contains(_ bytes: [UInt8], _ pattern: [UInt8]) -> Bool {
    guard bytes.count >= pattern.count, let first = pattern.first else { return false }
    var place = bytes.startIndex
    while let next = bytes[place...].firstIndex(of: first) {
      if bytes[next...].starts(with: pattern) { return true }
      place = next + 1
    }
    return false
  }
}
