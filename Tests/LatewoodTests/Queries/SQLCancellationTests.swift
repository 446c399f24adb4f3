import LatewoodConcurrency
import Testing

@testable import Latewood

/// Statements in tasks that are cancelled.
@Suite struct SQLCancellationTests {
  @Test func `cancelling a task ends a sort that keeps rereading its input`() async throws {
    let database = try Database.inMemory()
    let collection = try await database.createCollection("c")
    try await database.inBatch { [collection] in
      for number in 0..<3000 { try collection.save(MutableDocument(json: #"{"n":\#(number)}"#)) }
    }
    // One row at a time: 3000 reads of all documents.
    var query = try database.query("SELECT n FROM c ORDER BY ABS(n)")
    query.limits.memory = 1
    let task = Task { [query] in try await query.rows() }
    try await Task.sleep(for: .milliseconds(100))
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }

    query.limits.memory = 500_000
    #expect(try await query.rows().map { $0["n"].int } == Array(0..<3000))
  }
}
