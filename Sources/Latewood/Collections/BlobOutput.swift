import LatewoodDocuments

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Writes a blob in pieces. Use it from one thread at a time. An unfinished blob is discarded. If
/// part of the blob was written in a batch that fails, every further call throws `notFound`: write
/// the blob again from the start.
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
  /// - Throws: ``DatabaseError`` `notFound` if part of the blob was written in a batch that failed;
  ///   otherwise like every change.
  public func write(_ bytes: Data) throws {
    // A closure passed to Foundation cannot have a typed error.
    let result = bytes.withUnsafeBytes { bytes in
      Result { () throws(DatabaseError) in try writer.write(bytes) }
    }
    try result.get()
  }

  /// Finishes the blob and returns it, for use in a document.
  ///
  /// - Throws: ``DatabaseError`` `notFound` if part of the blob was written in a batch that failed;
  ///   otherwise like every change.
  public func finish() throws -> Blob {
    let handle = try writer.finish()
    database.hold(handle)
    return Blob(contentType: contentType, sum: handle.digest.bytes, length: handle.length)
  }
}
