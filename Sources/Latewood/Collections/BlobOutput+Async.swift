import LatewoodDocuments

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Calls for blobs that do not block the caller's thread: they run on a Dispatch queue.
extension Database {
  /// Saves binary content without blocking the caller's thread. Otherwise like the blocking form.
  ///
  /// - Throws: like every async change; see ``DatabaseError``.
  public func saveBlob(_ content: Data, contentType: String? = nil) async throws -> Blob {
    try await inBatch { try self.saveBlob(content, contentType: contentType) }
  }

  /// Begins a blob of any length, to be written in pieces, without blocking the caller's thread.
  ///
  /// - Throws: like every async call; see ``DatabaseError``.
  public nonisolated(nonsending) func makeBlobWriter(
    contentType: String? = nil
  ) async throws -> BlobOutput {
    try await performing { Handover(try self.makeBlobWriter(contentType: contentType)) }.value
  }

  /// Opens the content of a blob without blocking the caller's thread. Otherwise like the blocking
  /// form.
  ///
  /// - Throws: like every async read; see ``DatabaseError``.
  public func content(of blob: Blob) async throws -> BlobContent {
    try await performing { try self.content(of: blob) }
  }

  /// Returns whether the content of a blob is in this database, without blocking the caller's
  /// thread.
  ///
  /// - Throws: like every async read; see ``DatabaseError``.
  public func hasContent(of blob: Blob) async throws -> Bool {
    try await performing { try self.hasContent(of: blob) }
  }
}

extension BlobOutput {
  /// Appends bytes without blocking the caller's thread. Otherwise like the blocking form.
  ///
  /// - Throws: the errors of the blocking form; `CancellationError` if the task is cancelled before
  ///   it begins; the blob is then unchanged and can be continued.
  public nonisolated(nonsending) func write(_ bytes: Data) async throws {
    let output = Handover(self)
    try await database.performing { try output.value.write(bytes) }
  }

  /// Finishes the blob and returns it, without blocking the caller's thread. Otherwise like the
  /// blocking form.
  ///
  /// - Throws: the errors of the blocking form; `CancellationError` if the task is cancelled before
  ///   it begins; the blob is then unchanged and can be continued.
  public nonisolated(nonsending) func finish() async throws -> Blob {
    let output = Handover(self)
    return try await database.performing { try output.value.finish() }
  }
}

extension BlobContent {
  /// Returns the entire content without blocking the caller's thread.
  ///
  /// - Throws: like every async read; see ``DatabaseError``.
  public func data() async throws -> Data { try await data(in: 0..<length) }

  /// Returns the bytes of a range, or as much of it as exists, without blocking the caller's
  /// thread. Otherwise like the blocking form.
  ///
  /// - Throws: like every async read; see ``DatabaseError``.
  public func data(in range: Range<UInt64>) async throws -> Data {
    try await Database.performing { try self.data(in: range) }
  }
}

/// A value handed from one thread to another. Its creator waits until the other thread is done, or
/// does not use the value again, so no two threads use it at the same time.
private struct Handover<Value>: @unchecked Sendable {
  let value: Value
  init(_ value: Value) { self.value = value }
}
