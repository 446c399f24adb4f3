import Foundation
import Latewood
import LatewoodTestSupport
import Testing

/// A blob is read in pieces without blocking a thread.
@Suite struct BlobPiecesTests {
  private let database: Database

  init() throws { database = try Database.inMemory() }

  @Test(arguments: [0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, (2 << 20) + 5])
  func `content is read in pieces of up to one mebibyte`(count: Int) async throws {
    let data = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 3) })
    let content = try await database.content(of: database.saveBlob(data))
    var pieces: [Data] = []
    for try await piece in content.pieces { pieces.append(piece) }
    #expect(pieces.reduce(Data(), +) == data)
    let lengths = pieces.map(\.count)
    #expect(lengths.dropLast().allSatisfy { $0 == 1 << 20 } && lengths.allSatisfy { 1...1 << 20 ~= $0 })
    var ended = content.pieces.makeAsyncIterator()
    while try await ended.next() != nil {}
    #expect(try await ended.next() == nil)
  }

  @Test func `reading throws once the database is closed or the task cancelled`() async throws {
    let content = try await database.content(of: database.saveBlob(Data(repeating: 1, count: 3 << 20)))
    let task = Task {
      var pieces = content.pieces.makeAsyncIterator()
      #expect(try await pieces.next()?.count == 1 << 20)
      withUnsafeCurrentTask { $0?.cancel() }
      await #expect(throws: CancellationError.self) { try await pieces.next() }
      return try await pieces.next()
    }
    #expect(try await task.value == nil, "nothing follows an error")
    var pieces = content.pieces.makeAsyncIterator()
    _ = try await pieces.next()
    try await database.close()
    do {
      _ = try await pieces.next()
      Issue.record("a closed database was read")
    } catch let error as DatabaseError { #expect(error.code == .notOpen) }
  }

  @Test func `a blob whose batch failed is not found`() async throws {
    let database = database
    let kept = Kept()
    await #expect(throws: OnPurpose.self) {
      try await database.inBatch {
        kept.content = try database.content(of: database.saveBlob(Data([1, 2, 3])))
        throw OnPurpose()
      }
    }
    let content = try #require(kept.content)
    do {
      for try await _ in content.pieces { Issue.record("a lost blob was read") }
      Issue.record("a lost blob ended without an error")
    } catch let error as DatabaseError { #expect(error.code == .notFound) }
  }

  /// Values that a batch leaves for the test that started it.
  private final class Kept: @unchecked Sendable {
    var content: BlobContent?
  }
}
