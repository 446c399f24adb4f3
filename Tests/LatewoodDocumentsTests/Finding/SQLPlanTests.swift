import LatewoodConcurrency
import LatewoodFleece
import LatewoodQuery
import LatewoodSimulation
import LatewoodStore
import Testing

@testable import LatewoodDocuments

/// Statements return the same rows with and without indexes.
@Suite struct SQLPlanTests {
  private let store: DocumentStore
  private let collection: CollectionHandle
  private let clock = TestClock()

  init() throws {
    store = try DocumentStore.inMemory(options: clock.options())
    collection = try store.createCollection("c")
  }

  private func rows(_ text: String, _ limits: SQLLimits = SQLLimits()) throws -> [String] {
    var rows: [String] = []
    try store.reads(collection).query(try program(text), limits: limits) { row in
      rows.append(String(decoding: try JSON.text(of: row.bytes), as: UTF8.self))
      return true
    }
    return rows
  }

  private func program(_ text: String) throws -> SQLProgram { try SQLProgram(SQLStatement(parsing: text)) }

  /// Returns the rows of the statement without a predicate, an order or a limit that the search
  /// could use.
  private func bruteForce(_ text: String) throws -> [String] {
    let program = try program(text)
    let reads = try store.reads(collection)
    var run = SQLRun(program)
    var rows: [String] = []
    let take = { (row: FleeceBody) throws -> Bool in
      rows.append(String(decoding: try JSON.text(of: row.bytes), as: UTF8.self))
      return true
    }
    var goesOn = true
    try reads.forEachDocument { id, _ in
      goesOn = try reads.withDocument(id) { document in try run.add(document, take) } ?? true
      return goesOn
    }
    #expect(try !run.finish(take))
    return rows
  }

  // MARK: Random statements

  private static let scalars = ["0", "1", "1.0", "2", "3", "null", "true", "''", "'x'", "'xy'", "-5"]

  private func value(_ random: inout SeededRandom) -> String {
    switch random.below(7) {
    case 0: "[" + (0..<random.below(4)).map { _ in random.pick(Self.scalars) }.joined(separator: ",") + "]"
    case 1: "{'x':\(random.pick(Self.scalars))}"
    default: random.pick(Self.scalars)
    }
  }

  private func json(_ random: inout SeededRandom) -> String {
    var members: [String] = []
    for name in ["a", "b", "d"] where !random.oneIn(6) { members.append("'\(name)':\(value(&random))") }
    return String(("{" + members.joined(separator: ",") + "}").map { $0 == "'" ? "\"" : $0 })
  }

  /// - Parameter elements: the names of the elements of UNNEST.
  private func condition(_ random: inout SeededRandom, _ elements: [String], _ depth: Int = 0) -> String {
    let name = random.pick(["a", "b", "d", "a.x", "meta().id"] + elements + elements)
    let other = name == "meta().id" ? "'doc \(random.below(200))'" : value(&random)
    switch random.below(depth > 1 ? 11 : 16) {
    case 0..<4: return "\(name) \(random.pick(["=", "<", "<=", ">", ">=", "!="])) \(other)"
    case 4: return "\(name) BETWEEN \(other) AND \(value(&random))"
    case 5: return "\(name) IN [\(other), \(value(&random))]"
    case 6: return "\(name) LIKE '\(random.pick(["x%", "x%y", "%", "x"]))'"
    case 7: return "\(name) IS \(random.pick(["NULL", "MISSING", "VALUED", "NOT NULL", "NOT MISSING"]))"
    case 8:
      return "\(random.pick(["ANY", "EVERY", "ANY AND EVERY"])) e IN \(name) SATISFIES "
        + "e >= \(other) \(random.oneIn(2) ? "" : "AND e LIKE 'x%'") END"
    case 9: return "LOWER(\(name)) = 'x'"
    case 10: return "\(other) IN \(name)"
    case 11, 12:
      return
        "(\(condition(&random, elements, depth + 1)) AND \(condition(&random, elements, depth + 1)))"
    case 13, 14:
      return "(\(condition(&random, elements, depth + 1)) OR \(condition(&random, elements, depth + 1)))"
    default: return "NOT (\(condition(&random, elements, depth + 1)))"
    }
  }

  private func statement(_ random: inout SeededRandom) -> (text: String, hidden: String) {
    let unnest = random.pick([
      "", "", "", " UNNEST c.d AS u", " LEFT UNNEST d AS u", " UNNEST a AS v UNNEST d AS u",
    ])
    let elements = unnest.isEmpty ? [] : unnest.contains(" v ") ? ["u", "v"] : ["u"]
    let condition = condition(&random, elements)
    var tail = ""
    var columns = "meta().id AS id, c AS body" + elements.map { ", \($0)" }.joined()
    switch random.below(8) {
    case 0: columns = "COUNT(*) AS n"
    case 1:
      columns = "COUNT(*) AS n, MIN(b) AS least, SUM(a) AS s, COUNT(DISTINCT b) AS k, a"
      tail += " GROUP BY a"
    case 2: columns = "DISTINCT a"
    case 3: (columns, tail) = ("DISTINCT a, b", " ORDER BY b")
    case 4: (columns, tail) = ("COUNT(*) AS n, a, b", " GROUP BY a, b" + random.pick(["", " ORDER BY n"]))
    default:
      let order = ["a", "b", "d"].shuffled(using: &random).prefix(random.below(3))
        .map { $0 + (random.oneIn(2) ? " DESC" : "") }
      if !order.isEmpty { tail += " ORDER BY " + order.joined(separator: ", ") }
    }
    if random.oneIn(2) { tail += " LIMIT \(random.below(40))" }
    if random.oneIn(2) { tail += " OFFSET \(random.oneIn(2) ? random.below(5) : random.below(150))" }
    let head = "SELECT \(columns) FROM c\(unnest) WHERE "
    return (head + condition + tail, head + "IFMISSINGORNULL((\(condition)), false)" + tail)
  }

  private func createIndexes() throws {
    for fields in [
      ["a"], ["b:desc"], ["a", "b"], ["d", "a:desc"], ["a[]"], ["b", "d[]:desc"], ["d[]"], ["a.x"],
    ] {
      let parts = try fields.map { try IndexDefinition.Part(parsing: $0) }
      try store.createIndex(fields.joined(separator: " "), IndexDefinition(parts), in: collection)
    }
  }

  @Test func `a statement returns the same rows with indexes as with a full computation`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    try createIndexes()
    let (collection, now) = (collection, clock.now)
    let bodies = try (0..<160).map { _ in try JSON.fleece(from: json(&random)) }
    try store.write { writer in
      for (number, body) in bodies.enumerated() {
        let id = "doc \(number)"
        _ = try writer.save(id, in: collection, body: body, parent: nil)
        if number % 20 == 4 { try writer.setExpiry(of: id, in: collection, now + 10) }
      }
    }
    var plans: [String: Int] = [:]
    for round in 0..<400 {
      // Some documents have expired by then but are not purged.
      if round == 200 { clock.advance(20) }
      let (text, hidden) = statement(&random)
      let explanation = try store.reads(collection).explain(program(text))
      plans[explanation.uses.map(\.index).joined(separator: "+"), default: 0] += 1
      var limits = SQLLimits()
      // Distinct values must fit into memory without an order, and in a group.
      let mustFit = text.contains("(DISTINCT") || text.contains("DISTINCT a FROM")
      if !mustFit { limits.memory = random.pick([8_000, 30_000, limits.memory, limits.memory]) }
      let found = try rows(text, limits)
      if try found != bruteForce(hidden) { Issue.record("\(text): \(explanation) \(random.replay)") }
    }
    // All kinds of plan have occurred.
    #expect(plans.count > 6, "\(plans)")
  }

  // MARK: Choices

  private func fill(_ count: Int) throws {
    let collection = collection
    try store.write { writer in
      for number in 0..<count {
        let body = #"{"year":\#(1900 + number % 100),"title":"t\#(number)","tags":["x","y\#(number % 7)"]}"#
        _ = try writer.save(
          "doc \(10_000 + number)", in: collection, body: JSON.fleece(from: body), parent: nil)
      }
    }
    for fields in [["year"], ["tags[]"], ["title"]] {
      let parts = try fields.map { try IndexDefinition.Part(parsing: $0) }
      try store.createIndex(fields[0], IndexDefinition(parts), in: collection)
    }
  }

  @Test func `a condition uses the same index as the equivalent selector`() throws {
    try fill(1000)
    for (condition, indexes, candidates) in [
      ("year = 1990", "year", 10), ("year = 1990 AND LENGTH(title) > 2", "year", 10),
      ("(year = 1990 AND LENGTH(title) > 2) OR year = 1991", "year", 20), ("title LIKE 't99%'", "title", 11),
      ("title LIKE 't99%9'", "title", 11), ("year IN [1990, 1991]", "year", 20),
      ("ANY t IN tags SATISFIES t = 'y3' AND LENGTH(t) = 2 END", "tags[]", 143),
      ("'y3' IN tags", "tags[]", 143), ("year = 1990 OR title = 't1'", "year+title", 11),
      ("year NOT BETWEEN 1901 AND 1998", "year+year", 20), ("LENGTH(title) = 2", "", 1000),
    ] {
      let plan = try store.reads(collection).explain(program("SELECT * FROM c WHERE \(condition)"))
      let used = plan.uses.map(\.index).joined(separator: "+")
      #expect(used == indexes && plan.candidates == candidates, "\(condition): \(plan)")
    }
  }

  @Test func `an element of UNNEST is found through the array's index`() throws {
    try fill(1000)
    let text = "SELECT title FROM c UNNEST tags AS t WHERE t = 'y3'"
    let plan = try store.reads(collection).explain(program(text))
    #expect(plan.uses.map(\.index) == ["tags[]"] && plan.candidates == 143 && plan.filters)
    #expect(try rows(text).count == 143)
  }

  @Test func `rows that an index returns in order are not held in memory`() throws {
    try fill(1000)
    var limits = SQLLimits()
    limits.memory = 1000
    for text in [
      "SELECT year FROM c ORDER BY year", "SELECT year FROM c WHERE LENGTH(title) > 2 ORDER BY year DESC",
      "SELECT title FROM c ORDER BY title OFFSET 3",
    ] {
      let program = try program(text)
      #expect(try store.reads(collection).explain(program).sorts == false)
      var count = 0
      try store.reads(collection).query(program, limits: limits) { _ in
        count += 1
        return true
      }
      #expect(count > 900)
      #expect(try rows(text) == bruteForce(text.replacing("ORDER BY ", with: "ORDER BY 0, ")))
    }
    // Sorting the few rows of a narrow range is cheaper than reading all of another index.
    let few = try store.reads(collection).explain(program("SELECT * FROM c WHERE year = 1990 ORDER BY title"))
    #expect(few.sorts && few.candidates == 10)
  }

  @Test func `a plan that ends at a small limit is explained with its number of entries`() throws {
    try fill(1000)
    for text in ["SELECT year FROM c ORDER BY year LIMIT 3", "SELECT title FROM c ORDER BY title LIMIT 3"] {
      let plan = try store.reads(collection).explain(program(text))
      #expect(!plan.sorts && plan.uses.map(\.entries) == [1000], "\(plan)")
    }
    let none = try store.reads(collection).explain(program("SELECT * FROM c WHERE year = 1 LIMIT 3"))
    #expect(none.candidates == 0)
  }

  @Test func `sorting in parts reads the documents for each part, until a check throws`() throws {
    try fill(1000)
    var limits = SQLLimits()
    limits.memory = 50_000
    let text = "SELECT title, year FROM c WHERE year >= 1910 ORDER BY LENGTH(title), year DESC"
    var taken: [String] = []
    let take = { (row: FleeceBody) throws -> Bool in
      taken.append(String(decoding: try JSON.text(of: row.bytes), as: UTF8.self))
      return true
    }
    let read = try store.reads(collection).query(program(text), limits: limits, take)
    #expect(read % 1000 == 0 && read >= 3 * 1000)
    let all = taken
    #expect(try all == rows(text))

    // Each part but the first begins after rows of the parts before.
    for last in [0, 1, all.count / 2] {
      let isCancelled = Guarded(false)
      limits.check = { if isCancelled.withLock({ $0 }) { throw CancellationError() } }
      taken = []
      #expect(throws: CancellationError.self) {
        try store.reads(collection).query(program(text), limits: limits) { row in
          if taken.count == last { isCancelled.withLock { $0 = true } }
          return try take(row)
        }
      }
      // The rest of the part is returned, and no more.
      #expect(taken.count > last && taken.count < all.count && taken == Array(all.prefix(taken.count)))
    }

    // In the middle of a part, whose remaining rows are not returned.
    let checks = Guarded(0)
    limits.check = {
      try checks.withLock { count in
        count += 1
        if count == 5 { throw CancellationError() }
      }
    }
    taken = []
    #expect(throws: CancellationError.self) {
      try store.reads(collection).query(program(text), limits: limits, take)
    }
    #expect(taken.isEmpty)
  }

  @Test func `documents that an index has counted are not read`() throws {
    try fill(1000)
    let collection = collection
    try store.write { [now = clock.now] writer in
      try writer.setExpiry(of: "doc 10090", in: collection, now + 10)
    }
    for (text, count, read) in [
      ("SELECT COUNT(*) AS n FROM c WHERE year = 1990", 10, 0),
      ("SELECT COUNT(*) AS n FROM c WHERE year = 1990 HAVING COUNT(*) > 5", 10, 0),
      ("SELECT COUNT(year) AS n FROM c WHERE year = 1990", 10, 10),
      ("SELECT COUNT(*) AS n FROM c WHERE year = 1990 AND LENGTH(title) > 0", 10, 10),
      ("SELECT COUNT(*) AS n FROM c WHERE year = 3000", 0, 0),
    ] {
      for isExpired in [false, true] {
        if isExpired { clock.advance(20) }
        var rows: [String] = []
        let looked = try store.reads(collection).query(program(text)) { row in
          rows.append(String(decoding: try JSON.text(of: row.bytes), as: UTF8.self))
          return true
        }
        let left = count > 0 && clock.now >= 1_700_000_020 ? count - 1 : count
        #expect(rows == [#"{"n":\#(left)}"#] && looked <= read, "\(text)")
      }
    }
  }
}
