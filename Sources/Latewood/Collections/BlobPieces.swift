import Foundation
import LatewoodDocuments

/// The content of a blob in pieces: see ``BlobContent/pieces``.
public struct BlobPieces: AsyncSequence, Sendable {
  /// Up to a mebibyte of the content.
  public typealias Element = Data
  let content: BlobContent

  /// Starts at the first byte, which is not read before it is requested.
  public func makeAsyncIterator() -> Iterator { Iterator(BlobReader(content.handle)) }

  /// A position in the content.
  public struct Iterator: AsyncIteratorProtocol {
    /// Nil once an error was thrown.
    private var rest: BlobReader?

    init(_ pieces: BlobReader) { rest = pieces }

    /// Returns the next piece without blocking the caller's thread; nil after the last.
    ///
    /// - Throws: ``DatabaseError`` `corruptData` if the file is damaged, and after the last piece
    ///   if the content does not match the digest; `notFound` if the batch that saved it has
    ///   failed; `notOpen`, `inputOutput`; `CancellationError` if the task is cancelled.
    public mutating func next() async throws -> Data? {
      guard let known = rest else { return nil }
      rest = nil
      let (piece, rest) = try await Database.performing {
        var rest = known
        return (try rest.next().map { Data($0) }, rest)
      }
      if piece != nil { self.rest = rest }
      return piece
    }
  }
}

extension BlobContent {
  /// The content in pieces of up to a mebibyte, read one at a time, without blocking a thread: for
  /// content that does not fit in memory.
  ///
  /// ```swift
  /// for try await piece in content.pieces { try output.write(contentsOf: piece) }
  /// ```
  ///
  /// The loop throws `corruptData` after the last piece if the content does not match the digest,
  /// and `CancellationError` if its task is cancelled.
  public var pieces: BlobPieces { BlobPieces(content: self) }
}
