import LatewoodConcurrency
import LatewoodDocuments
import LatewoodFleece
import LatewoodQuery
import Testing

@testable import Latewood

/// Queries whose task is cancelled. How soon they end is counted in steps, not in time.
@Suite struct QueryCancellationTests {
  private static let count = 20_000

  private func filled() async throws -> DocumentCollection {
    let database = try Database.inMemory()
    let collection = try database.defaultCollection
    try await database.inBatch { [collection] in
      for number in 0..<QueryCancellationTests.count {
        try collection.save(
          MutableDocument(
            id: "d\(number)",
            json: #"{"n":\#(number * 7919 % QueryCancellationTests.count),"s":"aaaaaaaaaaaaaaaaaaaa"}"#))
      }
    }
    return collection
  }

  private struct Cancelled: Error {}

  /// Runs a query that is cancelled at one of its checks, and expects that it ends soon after it.
  ///
  /// - Returns: the number of all steps.
  @discardableResult
  private func expectEnds(_ body: () throws -> Void) throws -> Int {
    let whole = QuerySteps {}
    try whole.run(body)
    // A report of several steps counts as one check.
    let checks = whole.count / QuerySteps.interval * 9 / 10
    for last in Set([1, checks / 2, checks]) where last > 0 {
      let made = Guarded(0)
      let steps = QuerySteps {
        let number = made.withLock { made in
          made += 1
          return made
        }
        if number >= last { throw Cancelled() }
      }
      #expect(throws: Cancelled.self) { try steps.run(body) }
      // A report of steps may be late by a few thousand.
      #expect(steps.count <= (last + 1) * 2 * QuerySteps.interval, "\(last) of \(checks)")
      #expect(made.withLock { $0 } == last)
    }
    return whole.count
  }

  @Test func `every part of a query asks at least every 10,000 steps`() async throws {
    try expectCheckedParts(of: await filled())
  }

  private func expectCheckedParts(of collection: DocumentCollection) throws {
    let count = QueryCancellationTests.count
    // A scan, a matcher, a sort, and all of them.
    #expect(try expectEnds { _ = try collection.query().where { $0["n"] < 0 }.count() } >= count)
    #expect(
      try expectEnds { _ = try collection.query().where { $0["s"].matches("(a+)+b") }.count() } >= 20 * count)
    #expect(
      try expectEnds { _ = try collection.query().sorted { $0["n"] }.documentIDs() } >= 10 * count)
    try expectEnds {
      _ = try collection.query().where { $0["n"] > 5 }.sorted { $0["n"] }.limit(10).documentIDs()
    }
    try collection.createIndex("n", on: ["n"])
    try expectEnds { _ = try collection.query().sorted { $0["n"] }.documentIDs() }
    try expectEnds { _ = try collection.query().where { $0["n"] > 5 }.documentIDs() }
    try expectEnds { _ = try collection.query().where { $0["n"] > 5 && $0["s"] == "b" }.count() }
    // These statements check for cancellation separately, but their search and their sort use the
    // same check as above.
    let database = collection.database
    try expectEnds { _ = try database.query("SELECT n FROM _default ORDER BY ABS(n)").rows() }
    try expectEnds { _ = try database.query("SELECT n FROM _default GROUP BY n").rows() }
  }

  @Test func `a statement asks at least every 10,000 steps of one document`() throws {
    let collection = try Database.inMemory().defaultCollection
    let text = String(repeating: "a", count: 30_000)
    try collection.save(
      MutableDocument(json: #"{"s":"\#(text)","t":[\#((0..<5000).map { "\($0)" }.joined(separator: ","))]}"#))
    for statement in [
      "SELECT s FROM _default WHERE s LIKE '%a%b'",
      "SELECT ANY x IN t SATISFIES x = -1 END FROM _default",
      "SELECT COUNT(*) FROM _default UNNEST t AS x WHERE x + 1 = 0",
    ] {
      var query = try collection.database.query(statement)
      let made = Guarded(0)
      query.limits.check = { made.withLock { $0 += 1 } }
      _ = try query.rows()
      #expect(made.withLock { $0 } >= 3, "\(statement)")
      query.limits.check = { throw Cancelled() }
      #expect(throws: Cancelled.self) { try query.rows() }
    }
  }

  /// Counts how often it is decoded, and cancels the task at the first.
  private struct Counted: Decodable, Sendable {
    static let state = Guarded<(count: Int, task: Task<Int, any Error>?)>((0, nil))

    init(from decoder: any Decoder) throws {
      Counted.state.withLock { state in
        state.count += 1
        state.task?.cancel()
      }
    }
  }

  @Test func `a query ends when its task is cancelled`() async throws {
    let collection = try await filled()
    let (gate, opened) = AsyncStream<Void>.makeStream()
    let task = Task {
      for await _ in gate { break }
      return try await collection.query(Counted.self).all().count
    }
    Counted.state.withLock { $0 = (0, task) }
    opened.yield()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(Counted.state.withLock { $0.count } <= QuerySteps.interval + 1)
    Counted.state.withLock { $0.task = nil }
  }
}
