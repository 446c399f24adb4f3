import LatewoodFleece
import LatewoodSimulation
import Testing

@testable import LatewoodQuery

/// Sorting and grouping in parts that fit into memory, compared with sorting and grouping
/// everything in one part.
@Suite struct SQLPartTests {
  private struct Item {
    let a: Int
    let b: Int
    let tags: [Int]

    var json: String { #"{"a":\#(a),"b":\#(b),"tags":\#(tags)}"# }
  }

  private static func items(_ random: inout SeededRandom) -> [Item] {
    (0..<random.below(40)).map { _ in
      Item(
        a: random.below(4), b: random.below(6) - 3, tags: (0..<random.below(4)).map { _ in random.below(3) })
    }
  }

  /// The members of a row to sort by, and whether in descending order.
  private typealias Term = (name: String, isDescending: Bool)

  private static func terms(_ names: [String], _ random: inout SeededRandom) -> [Term] {
    names.shuffled(using: &random).prefix(1 + random.below(2)).map { ($0, random.oneIn(2)) }
  }

  /// Returns an ORDER BY with an expression that a search of documents cannot sort by.
  private static func clause(_ terms: [Term]) -> String {
    " ORDER BY 0, " + terms.map { $0.name + ($0.isDescending ? " DESC" : "") }.joined(separator: ", ")
  }

  @Test func `a sort returns the same rows with any memory, and keeps equal keys in order`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    for _ in 0..<Effort.count(150, low: 50) {
      let items = Self.items(&random)
      let isFlat = random.oneIn(2)
      var rows: [[String: Int]] = []
      for (number, item) in items.enumerated() {
        for tag in isFlat ? item.tags : [0] {
          rows.append(["a": item.a, "b": item.b, "n": number, "t": tag])
        }
      }
      let terms = Self.terms(isFlat ? ["a", "b", "t"] : ["a", "b"], &random)
      let sorted = rows.enumerated().sorted { left, right in
        for term in terms {
          let (x, y) = (left.element[term.name] ?? 0, right.element[term.name] ?? 0)
          if x != y { return (x < y) != term.isDescending }
        }
        return left.offset < right.offset
      }
      let skip = random.oneIn(2) ? random.below(50) : 0
      let limit = random.oneIn(2) ? random.below(50) : .max
      let expected = sorted.dropFirst(skip).prefix(limit).map { row -> String in
        let members = (isFlat ? ["a", "b", "n", "t"] : ["a", "b", "n"]).map { name in
          #""\#(name)":\#(row.element[name] ?? 0)"#
        }
        return "{" + members.joined(separator: ",") + "}"
      }
      var text = "SELECT a, b, n" + (isFlat ? ", t FROM c UNNEST tags AS t" : " FROM c") + Self.clause(terms)
      if limit != .max { text += " LIMIT \(limit)" }
      if skip > 0 { text += " OFFSET \(skip)" }
      let documents = items.enumerated().map { #"{"n":\#($0.offset),"# + $0.element.json.dropFirst() }
      var bench = try SQLBench(documents)
      for memory in [1, 1500, bench.limits.memory] {
        bench.limits.memory = memory
        #expect(try bench.rows(text) == expected, "\(text) in \(memory): \(random.replay)")
      }
    }
  }

  @Test func `groups and distinct rows are the same with any memory`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    for _ in 0..<Effort.count(150, low: 50) {
      var bench = try SQLBench(Self.items(&random).map(\.json))
      let usual = bench.limits.memory
      var text = random.pick([
        "SELECT a, b, COUNT(*) AS n, SUM(t) AS s, MIN(t) AS l FROM c UNNEST tags AS t GROUP BY a, b",
        "SELECT a, b, COUNT(*) AS n, MAX(tags) AS s FROM c GROUP BY a, b HAVING COUNT(*) < 3",
        "SELECT DISTINCT a, b FROM c", "SELECT DISTINCT a, b, t FROM c LEFT UNNEST tags AS t",
        "SELECT DISTINCT a, MAX(b) AS b FROM c GROUP BY a, tags", "SELECT COUNT(*) AS a, SUM(b) AS b FROM c",
      ])
      if text.contains("DISTINCT") || text.contains("GROUP") && random.oneIn(2) {
        text += Self.clause(Self.terms(["a", "b"], &random))
      }
      if random.oneIn(2) { text += " LIMIT \(random.below(20))" }
      if random.oneIn(2) { text += " OFFSET \(random.below(20))" }
      let expected = try bench.rows(text)
      #expect(Set(expected).count == expected.count || !text.contains("DISTINCT"), "\(text)")
      for memory in [1, 1500, 5000] {
        bench.limits.memory = memory
        #expect(try bench.rows(text) == expected, "\(text) in \(memory): \(random.replay)")
      }
      bench.limits.memory = usual
    }
  }

  @Test func `ordered distinct rows are the ordered rows without repetitions`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    for _ in 0..<Effort.count(50, low: 20) {
      var bench = try SQLBench(Self.items(&random).map(\.json))
      let all = try bench.rows("SELECT a, b FROM c ORDER BY b DESC, a")
      var distinct: [String] = []
      for row in all where distinct.last != row { distinct.append(row) }
      for memory in [1, 1500, bench.limits.memory] {
        bench.limits.memory = memory
        #expect(try bench.rows("SELECT DISTINCT a, b FROM c ORDER BY b DESC") == distinct, "\(random.replay)")
      }
    }
  }

  @Test func `distinct rows without an order are the same in any memory`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    for _ in 0..<Effort.count(150, low: 50) {
      var bench = try SQLBench(Self.items(&random).map(\.json))
      let text = random.pick([
        "SELECT DISTINCT a, b FROM c", "SELECT DISTINCT b, t FROM c UNNEST tags AS t",
        "SELECT DISTINCT c.* FROM c",
        "SELECT DISTINCT RAW tags FROM c", "SELECT DISTINCT MAX(b) AS b FROM c GROUP BY a, tags",
      ])
      let expected = try bench.rows(text)
      #expect(Set(expected).count == expected.count)
      for memory in [1, 300, 1000, 3000] {
        bench.limits.memory = memory
        let (parts, _) = try bench.parts(text)
        let rows = parts.flatMap { $0 }
        #expect(rows.count == expected.count, "\(text) in \(memory): \(random.replay)")
        #expect(Set(rows) == Set(expected), "\(text) in \(memory): \(random.replay)")
        if parts.count == 1 { #expect(rows == expected) }
        let limit = random.below(10)
        let some = try bench.rows(text + " LIMIT \(limit) OFFSET 2")
        #expect(some == Array(rows.dropFirst(2).prefix(limit)), "\(text) in \(memory): \(random.replay)")
      }
    }
  }

  @Test func `aggregates of distinct values are the same in any memory`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    for _ in 0..<Effort.count(150, low: 50) {
      var bench = try SQLBench(Self.items(&random).map(\.json))
      var text =
        "SELECT COUNT(DISTINCT b) AS n, SUM(DISTINCT b / 2) AS s, AVG(DISTINCT a) AS v, COUNT(*) AS k, "
        + "MIN(DISTINCT b) AS l, COUNT(DISTINCT tags) AS t FROM c"
      if random.oneIn(2) { text = text.replacing("FROM c", with: "FROM c GROUP BY a") }
      if random.oneIn(2) { text += " HAVING COUNT(DISTINCT b) > 1" }
      let expected = try bench.rows(text)
      for memory in [1, 400, 1000, 3000] {
        bench.limits.memory = memory
        #expect(try bench.rows(text) == expected, "\(text) in \(memory): \(random.replay)")
      }
    }
  }

  // MARK: Memory

  /// A thousand documents with texts of about 1000 bytes.
  private static func large() throws -> SQLBench {
    let text = String(repeating: "x", count: 1000)
    return try SQLBench((0..<1000).map { #"{"n":\#(($0 * 7) % 1000),"text":"\#(text)"}"# })
  }

  @Test func `a sort stays within its memory`() throws {
    var bench = try Self.large()
    for memory in [20_000, 150_000, 400_000] {
      bench.limits.memory = memory
      let (parts, mostKept) = try bench.parts("SELECT n, text FROM c ORDER BY 0, n")
      #expect(mostKept <= memory)
      #expect(parts.flatMap { $0 }.count == 1000)
      for part in parts { #expect(part.reduce(0) { $0 + $1.utf8.count } <= memory) }
      // At least half of the memory is used, with up to 300 bytes in addition to the text of a row.
      #expect(parts.count <= 1000 * 1300 * 2 / memory + 1)
    }
  }

  @Test func `grouping stays within its memory`() throws {
    var bench = try Self.large()
    bench.limits.memory = 400_000
    for text in [
      "SELECT n, MIN(text) AS t FROM c GROUP BY n",
      "SELECT n, MIN(text) AS t FROM c GROUP BY n ORDER BY n DESC",
      "SELECT DISTINCT n, text AS t FROM c ORDER BY n",
    ] {
      let (parts, mostKept) = try bench.parts(text)
      #expect(mostKept <= 400_000 && parts.flatMap { $0 }.count == 1000, "\(text)")
      for part in parts { #expect(part.reduce(0) { $0 + $1.utf8.count } <= 400_000, "\(text)") }
    }
  }

  @Test func `distinct values take no more than their memory`() throws {
    var bench = try Self.large()
    bench.limits.memory = 100_000
    for text in ["SELECT DISTINCT text, n FROM c", "SELECT COUNT(DISTINCT text || TOSTRING(n)) AS n FROM c"] {
      let (parts, mostKept) = try bench.parts(text)
      #expect(mostKept <= 102_000, "\(text)")
      #expect(parts.count >= 10 && parts.count <= 30, "\(text)")
      let rows = parts.flatMap { $0 }
      #expect(rows.count == 1000 || rows == [#"{"n":1000}"#], "\(text)")
    }
  }

  @Test func `few distinct rows are kept once, however many are added`() throws {
    var bench = try SQLBench((0..<5000).map { "{\"age\":\($0 % 91)}" })
    let expected = (0..<91).map { "{\"age\":\($0)}" }
    for order in ["", " ORDER BY age"] {
      bench.limits.memory = 200_000
      let (parts, mostKept) = try bench.parts("SELECT DISTINCT age FROM c" + order)
      #expect(parts == [expected], "\(order)")
      // Before, the rows of a sort filled the memory again and again.
      #expect(mostKept < 40_000, "\(order)")
    }
  }

  @Test func `groups that fit are sorted in one part, and groups in order are not sorted`() throws {
    var bench = try SQLBench((0..<3000).map { "{\"n\":\($0 * 7 % 1000)}" })
    bench.limits.memory = 400_000
    for (order, most) in [("n DESC", 1), ("COUNT(*), n", 1), ("k, n DESC", 1)] {
      let (parts, mostKept) = try bench.parts("SELECT n, COUNT(*) AS k FROM c GROUP BY n ORDER BY " + order)
      #expect(parts.count <= most && mostKept <= 400_000, "\(order)")
      #expect(parts.flatMap { $0 }.count == 1000, "\(order)")
    }
    // Sorted groups need as many parts as the groups alone.
    bench.limits.memory = 120_000
    let alone = try bench.parts("SELECT n, COUNT(*) AS k FROM c GROUP BY n").parts.count
    let sorted = try bench.parts("SELECT n, COUNT(*) AS k FROM c GROUP BY n ORDER BY n DESC").parts
    #expect(sorted.count == alone)
    #expect(sorted.flatMap { $0 } == (0..<1000).reversed().map { "{\"k\":3,\"n\":\($0)}" })
  }

  @Test(arguments: [
    ("LIMIT 10", 1), ("LIMIT 10 OFFSET 10", 1), ("LIMIT 100", 1), ("LIMIT 0", 1), ("LIMIT 10 OFFSET 900", 2),
    ("OFFSET 995", 2), ("OFFSET 1000", 1), ("OFFSET 5000", 1),
  ])
  func `a limit and an offset read again no more than they need`(tail: String, parts: Int) throws {
    var bench = try Self.large()
    bench.limits.memory = 300_000
    let found = try bench.parts("SELECT n, text FROM c ORDER BY 0, n " + tail)
    #expect(found.parts.count == parts && found.mostKept <= 300_000)
    bench.limits = SQLLimits()
    #expect(try found.parts.flatMap { $0 } == bench.rows("SELECT n, text FROM c ORDER BY 0, n " + tail))
  }

  @Test func `a row larger than the memory is returned alone`() throws {
    var bench = try Self.large()
    bench.limits.memory = 500
    let (parts, _) = try bench.parts("SELECT n, text FROM c WHERE n < 20 ORDER BY 0, n DESC")
    #expect(parts.map(\.count) == Array(repeating: 1, count: 20))
  }

  @Test func `a run can be stopped in any part`() throws {
    var bench = try Self.large()
    bench.limits.memory = 20_000
    for text in ["SELECT n, text FROM c ORDER BY 0, n", "SELECT text, n FROM c GROUP BY n, text"] {
      for count in [1, 5, 40] {
        var taken = 0
        _ = try bench.parts(text) { _ in
          taken += 1
          return taken < count
        }
        #expect(taken == count)
      }
    }
  }
}
