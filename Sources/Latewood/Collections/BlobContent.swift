import LatewoodDocuments

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The content of a blob. Thread safety: all calls from any thread.
public final class BlobContent: Sendable {
  let handle: BlobHandle

  init(_ handle: BlobHandle) { self.handle = handle }

  /// The length in bytes.
  public var length: UInt64 { handle.length }

  /// Returns the entire content.
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
    Data(try handle.read(range))
  }

  /// Calls a closure with pieces of up to a mebibyte, in order, until it returns false. In async
  /// functions, use ``pieces``, which does not block the thread.
  ///
  /// - Throws: errors of the closure; ``DatabaseError`` `corruptData` after the last piece if the
  ///   content does not match the digest; `notFound` if the batch that saved it has failed;
  ///   `notOpen`, `inputOutput`.
  public func forEachPiece(_ body: (Data) throws -> Bool) throws {
    try handle.forEachVerifiedCopy { try body(Data($0)) }
  }
}
