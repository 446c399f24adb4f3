import LatewoodFleece
import LatewoodQuery
import LatewoodSimulation
import LatewoodStore
import Testing

@testable import LatewoodDocuments

/// Every plan finds the same documents as a scan of all.
@Suite struct PlanTests {
  private let store: DocumentStore
  private let collection: CollectionHandle
  private let clock = TestClock()

  init() throws {
    store = try DocumentStore.inMemory(options: clock.options())
    collection = try store.createCollection("things")
  }

  // MARK: Random documents and requests

  private static let plain = ["0", "1", "1.0", "2", "3", "null", "true", "\"\"", "\"x\"", "\"xy\"", "-5"]

  private func value(_ random: inout SeededRandom) -> String {
    switch random.below(8) {
    case 0:
      return "[" + (0..<random.below(4)).map { _ in random.pick(Self.plain) }.joined(separator: ",") + "]"
    case 1: return "{\"x\":\(random.pick(Self.plain))}"
    // Lengths around the one at which keys are cut.
    case 2 where random.oneIn(3):
      return "\"" + String(repeating: "z", count: 1010 + random.below(16)) + random.pick(["a", "b", "c"])
        + "\""
    default: return random.pick(Self.plain)
    }
  }

  private func json(_ random: inout SeededRandom) -> String {
    var members: [String] = []
    for name in ["a", "b", "c"] where !random.oneIn(6) {
      members.append("\"\(name)\":\(value(&random))")
    }
    return "{" + members.joined(separator: ",") + "}"
  }

  private func condition(_ random: inout SeededRandom, _ depth: Int = 0) -> String {
    let name = random.pick(["a", "b", "c", "a.x", "_id"])
    let other = name == "_id" ? "\"doc \(random.below(200))\"" : value(&random)
    switch random.below(depth > 1 ? 12 : 16) {
    case 0..<4: return #"{"\#(name)":{"$eq":\#(other)}}"#
    case 4..<6: return #"{"\#(name)":{"$gte":\#(other)}}"#
    case 6: return #"{"\#(name)":{"$lt":\#(other)}}"#
    case 7: return #"{"\#(name)":{"$in":[\#(other),\#(value(&random))]}}"#
    case 8: return #"{"\#(name)":{"$ne":\#(other)}}"#
    case 9: return #"{"\#(name)":{"$elemMatch":{"$gte":\#(other)}}}"#
    case 10: return #"{"\#(name)":{"$all":[\#(other)]}}"#
    case 11:
      return random.pick([
        #"{"\#(name)":{"$exists":false}}"#, #"{"\#(name)":{"$type":"string"}}"#,
        #"{"\#(name)":{"$beginsWith":"x"}}"#, #"{"b":{"$gt":0}}"#, "{}",
      ])
    case 12, 13: return #"{"$and":[\#(condition(&random, depth + 1)),\#(condition(&random, depth + 1))]}"#
    case 14: return #"{"$or":[\#(condition(&random, depth + 1)),\#(condition(&random, depth + 1))]}"#
    default: return #"{"$nor":[\#(condition(&random, depth + 1))]}"#
    }
  }

  private func request(_ random: inout SeededRandom) throws -> (request: FindRequest, text: String) {
    var text = condition(&random)
    var request = FindRequest(try MangoParser.predicate(json: text))
    for name in ["a", "b", "c"].shuffled(using: &random).prefix(random.below(3)) {
      request.order.append(.init(FieldPath(name), isDescending: random.oneIn(2)))
    }
    if random.oneIn(2) { request.skip = random.oneIn(2) ? random.below(5) : random.below(150) }
    if random.oneIn(2) { request.limit = random.below(40) }
    request.sortMemory = random.pick([1, 1500, request.sortMemory])
    text += " \(request.order) \(request.skip) \(request.limit) \(request.sortMemory)"
    return (request, text)
  }

  /// Returns the result of checking every document and sorting plainly.
  private func bruteForce(_ request: FindRequest, _ reads: DocumentReads) throws -> [String] {
    var found: [(key: [UInt8], id: String)] = []
    try reads.forEachDocument { id, _ in
      _ = try reads.withDocument(id) { document in
        guard try request.predicate.matches(document) else { return }
        var key = CollationKey()
        for order in request.order {
          try document.withField(order.path) { lookup throws(FleeceError) in
            try key.append(lookup.value, descending: order.isDescending)
          }
        }
        found.append((key.bytes, id))
      }
      return true
    }
    found.sort { left, right in
      left.key == right.key
        ? left.id.utf8.lexicographicallyPrecedes(right.id.utf8)
        : left.key.lexicographicallyPrecedes(right.key)
    }
    return found.dropFirst(request.skip).prefix(request.limit).map(\.id)
  }

  /// Returns the values of a row as text; nil if the document is needed.
  private func shown(of values: inout CoveringRow, _ columns: [FieldPath]) -> String? {
    var shown: [String] = []
    for _ in columns {
      guard let value = values.next() else { return nil }
      shown.append(Self.shown(value))
    }
    return "\(values.id) \(shown)"
  }

  /// Returns fields of a document as text. Members that are not scalars are not distinguished.
  private func shown(of document: MatchedDocument, _ columns: [FieldPath]) throws -> String {
    let values = try columns.map { column in
      try document.withField(column) { lookup throws(FleeceError) in try ScalarValue(lookup.value) }
    }
    return "\(document.id) \(values.map { $0.map { Self.shown($0) } ?? "other" })"
  }

  private func shown(of id: String, _ columns: [FieldPath], _ reads: DocumentReads) throws -> String {
    try reads.withDocument(id) { document in try shown(of: document, columns) } ?? ""
  }

  private static func shown(_ value: ScalarValue) -> String {
    guard case .number(.double(let number)) = value, let integer = Int64(exactly: number) else {
      return "\(value)"
    }
    return "\(ScalarValue.number(.integer(integer)))"
  }

  private func createIndexes() throws {
    func parts(_ fields: [String]) throws -> [IndexDefinition.Part] {
      try fields.map { try IndexDefinition.Part(parsing: $0) }
    }
    for fields in [["a"], ["b:desc"], ["a", "b"], ["c", "a:desc"], ["a[]"], ["b", "c[]:desc"], ["a.x"]] {
      try store.createIndex(
        fields.joined(separator: " "), IndexDefinition(parts(fields)), in: collection)
    }
    let condition = try MangoParser.predicate(json: #"{"b":{"$gt":0}}"#)
    try store.createIndex("some", IndexDefinition(parts(["c"]), where: condition), in: collection)
  }

  @Test func `an index whose leading fields have the order is read only as far as the limit`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    for fields in [["a", "b"], ["c:desc", "a", "b"]] {
      try store.createIndex(
        fields.joined(separator: " "), IndexDefinition(fields.map { try .init(parsing: $0) }), in: collection)
    }
    let (collection, now) = (collection, clock.now)
    let bodies = try (0..<300).map { _ in try JSON.fleece(from: json(&random)) }
    try store.write { writer in
      for (number, body) in bodies.enumerated() {
        _ = try writer.save("doc \(number)", in: collection, body: body, parent: nil)
        if number % 20 == 4 { try writer.setExpiry(of: "doc \(number)", in: collection, now + 10) }
      }
    }
    for round in 0..<60 {
      if round == 30 { clock.advance(20) }
      var request = FindRequest(try MangoParser.predicate(json: "{}"))
      let name = random.pick(["a", "c"])
      request.order = [.init(FieldPath(name), isDescending: random.oneIn(2))]
      request.limit = 1 + random.below(64)
      request.skip = random.below(64)
      let reads = try store.reads(collection)
      let plan = try FindPlanner(reads, PreparedFind(request)).best()
      guard case .leading(let parts, _) = plan.ordering else {
        Issue.record("\(plan.ordering) \(random.replay)")
        continue
      }
      #expect(parts == 1)
      var found: [String] = []
      _ = try reads.find(request, by: plan) { document in
        found.append(document.id)
        return true
      }
      #expect(try found == bruteForce(request, reads), "\(request.order) \(random.replay)")
    }
    // Values of few kinds: a run ends long before the last entry.
    var request = FindRequest(try MangoParser.predicate(json: "{}"))
    request.order = [.init(FieldPath("a"), isDescending: true)]
    request.limit = 1
    let planner = try FindPlanner(try store.reads(collection), PreparedFind(request))
    #expect(try !planner.explain(planner.best()).sorts)
  }

  @Test func `every plan finds the same documents in the same order`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    try createIndexes()
    let (collection, now) = (collection, clock.now)
    let bodies = try (0..<160).map { _ in try JSON.fleece(from: json(&random)) }
    try store.write { writer in
      for (number, body) in bodies.enumerated() {
        let id = "doc \(number)"
        let saved = try writer.save(id, in: collection, body: body, parent: nil)
        switch number % 20 {
        case 3:
          let tombstone = try JSON.fleece(from: "{}")
          _ = try writer.save(
            id, in: collection, body: tombstone, parent: saved.revision, isDeleted: true)
        case 4: try writer.setExpiry(of: id, in: collection, now + 10)
        default: break
        }
      }
    }
    #expect(try store.verify(deep: true).faults == [])
    var uses: [String: Int] = [:]
    var covered = 0
    let rounds = Effort.count(400, low: 80)
    for round in 0..<rounds {
      // Some documents have expired by then but are not purged.
      if round == rounds / 2 { clock.advance(20) }
      if round == rounds * 3 / 4 { try store.purgeExpired() }
      let reads = try store.reads(collection)
      let (request, text) = try request(&random)
      let expected = try bruteForce(request, reads)
      let columns = ["a", "b", "c", "_id"].shuffled(using: &random).prefix(1 + random.below(2))
        .map { FieldPath($0) }
      let planner = try FindPlanner(reads, PreparedFind(request), columns)
      let sum = try total(of: "a", request, planner.all()[0], reads)
      for plan in try planner.all() + [planner.best()] {
        var found: [String] = []
        if request.limit > 0 {
          _ = try reads.find(request, by: plan) { document in
            found.append(document.id)
            return true
          }
        }
        let explanation = try planner.explain(plan)
        if try total(of: "a", request, plan, reads) != sum {
          Issue.record("total of \(text): \(explanation) \(random.replay)")
        }
        if request.limit > 0 {
          var rows: [String] = []
          let receiver = RowReceiver { values in
            guard let shown = shown(of: &values, columns) else { return nil }
            covered += 1
            rows.append(shown)
            return true
          } document: { document in
            rows.append(try shown(of: document, columns))
            return true
          }
          try reads.findRows(request, by: plan, columns, receiver)
          let wanted = try expected.map { try shown(of: $0, columns, reads) }
          if rows != wanted { Issue.record("rows of \(text): \(explanation) \(random.replay)") }
          let name = random.pick(["a", "b"])
          let integers = try reads.findIntegers(request, by: plan, FieldPath(name)) {
            try integer(of: name, $0)
          }
          let expectedIntegers = try expected.map { id in
            try reads.withDocument(id) { document in try integer(of: name, document) } ?? 0
          }
          if integers != expectedIntegers {
            Issue.record("integers of \(text): \(explanation) \(random.replay)")
          }
        }
        if found != expected { Issue.record("\(text): \(explanation) \(random.replay)") }
        uses[explanation.uses.map(\.index).joined(separator: "+"), default: 0] += 1
      }
      #expect(try reads.count(request) == expected.count, "\(text) \(random.replay)")
    }
    // All kinds of plan have occurred.
    #expect(uses.count > 8, "\(uses)")
    #expect(covered > 0)
  }

  /// Returns an integer in a member, or the least one for anything else.
  private func integer(of name: String, _ document: MatchedDocument) throws -> Int {
    try document.withField(FieldPath(name)) { lookup throws(FleeceError) in
      guard case .number(let number)? = try ScalarValue(lookup.value) else { return .min }
      return number.integral ?? .min
    }
  }

  /// Adds up the numbers in a member by a plan. All of them are small multiples of a half.
  private func total(
    of name: String, _ request: FindRequest, _ plan: FindPlan, _ reads: DocumentReads
  ) throws -> Double {
    guard request.limit > 0 else { return 0 }
    let sink = TotalSink(FieldPath(name), isWhole: false) { document, total in
      try document.withField(FieldPath(name)) { lookup throws(FleeceError) in
        if let value = try ScalarValue(lookup.value) { _ = total.add(value) }
      }
    }
    var run = FindRun(reads, request, plan, sink)
    _ = try run.run()
    return run.sink.total.sum
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
  }

  private func plan(_ selector: String, sort: String? = nil, limit: Int = .max) throws -> QueryPlan {
    var request = FindRequest(try MangoParser.predicate(json: selector))
    if let sort {
      let part = try IndexDefinition.Part(parsing: sort)
      request.order = [.init(part.path, isDescending: part.isDescending)]
    }
    request.limit = limit
    return try store.reads(collection).explain(request)
  }

  @Test func `the plan with the fewest reads is used, and a scan suggests an index`() throws {
    try fill(1000)
    let scan = try plan(#"{"year":{"$gte":1990}}"#, sort: "title")
    #expect(scan.isScan && scan.suggestion == "year" && scan.filters && scan.sorts)
    #expect(try plan(#"{"tags":{"$elemMatch":{"$eq":"x"}},"title":"t"}"#).suggestion == "title,tags[]")
    #expect(try plan("{}").suggestion == nil)
    // No index finds the arrays that contain one of several elements.
    #expect(try plan(#"{"tags":{"$in":["x","y"]}}"#).suggestion == nil)
    #expect(try plan(#"{"year":{"$in":[1990,1991]}}"#).suggestion == "year")
    try store.createIndex(
      "year", IndexDefinition([.init(FieldPath("year"))]), in: collection)
    let few = try plan(#"{"year":1990}"#)
    #expect(few.uses == [.init(index: "year", ranges: 1, entries: 10)] && !few.filters)
    // Nearly all documents are read faster by a scan.
    #expect(try plan(#"{"year":{"$gte":1901}}"#).isScan)
    #expect(try !plan(#"{"year":{"$gte":1901}}"#, sort: "year:desc", limit: 10).isScan)
    #expect(try !plan("{}", sort: "year", limit: 10).isScan)
    #expect(try !plan(#"{"$or":[{"year":1990},{"year":1991}]}"#).isScan)
    #expect(try plan(#"{"$or":[{"year":1990},{"title":"t1"}]}"#).isScan)
    try store.createIndex("title", IndexDefinition([.init(FieldPath("title"))]), in: collection)
    #expect(try plan(#"{"$or":[{"year":1990},{"title":"t1"}]}"#).uses.map(\.index) == ["year", "title"])
  }

  /// An index, and whether a scan would suggest it.
  private struct Existing: Sendable {
    var parts: [String]
    var condition: String?
    var selector = "{}"
    var sort: String?
    var isEnough: Bool
    var isUsed = false
  }

  private static let among = #"{"year":{"$in":[1900,1901]}}"#
  private static let both = #"{"title":"t0","year":1900}"#

  private static let existing = [
    Existing(parts: ["year"], selector: among, isEnough: true),
    Existing(parts: ["year"], condition: among, selector: among, isEnough: true),
    Existing(parts: ["year"], condition: #"{"year":1900}"#, selector: among, isEnough: false),
    Existing(parts: ["tags[]"], selector: #"{"tags":{"$elemMatch":{"$gte":"x"}}}"#, isEnough: true),
    // Fields that are compared for equality may stand in any order, and others may follow them.
    Existing(parts: ["year:desc", "title", "tags"], selector: both, isEnough: true),
    Existing(parts: ["title", "year", "tags"], selector: both, isEnough: true),
    Existing(parts: ["title", "tags", "year"], selector: both, isEnough: false),
    // An order needs exactly its fields, forwards or backwards. A scan costs more then, because its
    // result has to be sorted and read again.
    Existing(parts: ["title"], sort: "title", isEnough: true, isUsed: true),
    Existing(parts: ["title:desc"], sort: "title", isEnough: true, isUsed: true),
    Existing(parts: ["title", "year"], sort: "title", isEnough: false),
  ]

  @Test(arguments: existing.indices) func `an existing index is not suggested where a scan costs less`(
    _ number: Int
  ) throws {
    let existing = Self.existing[number]
    try fill(2)
    let without = try plan(existing.selector, sort: existing.sort)
    try store.createIndex(
      "existing",
      IndexDefinition(
        existing.parts.map { part throws(QueryError) in try IndexDefinition.Part(parsing: part) },
        where: existing.condition.map { try MangoParser.predicate(json: $0) }), in: collection)
    let with = try plan(existing.selector, sort: existing.sort)
    #expect(without.isScan && without.suggestion != nil)
    #expect(with.isScan != existing.isUsed)
    #expect(with.suggestion == (existing.isEnough ? nil : without.suggestion))
  }

  @Test(arguments: [false, true]) func `a distant page is found by rank`(isDescending: Bool) throws {
    try fill(1000)
    let part = IndexDefinition.Part(FieldPath("year"))
    try store.createIndex("year", IndexDefinition([part]), in: collection)
    let reads = try store.reads(collection)
    for skip in [0, 16, 17, 95, 500, 989, 990, 999, 1000, 5000] {
      var request = FindRequest(try MangoParser.predicate(json: #"{"year":{"$gte":1900}}"#))
      request.order = [.init(FieldPath("year"), isDescending: isDescending)]
      (request.skip, request.limit) = (skip, 5)
      var found: [String] = []
      let read = try reads.find(request) { document in
        found.append(document.id)
        return true
      }
      #expect(try found == bruteForce(request, reads), "\(skip)")
      // The entries of one key are examined together.
      #expect(read <= 30, "\(skip)")
      #expect(try reads.count(request) == found.count)
    }
  }

  @Test(arguments: [1, 15, 16, 17, 64]) func `equal keys are found, whether few or many`(
    count: Int
  ) throws {
    let collection = collection
    try store.createIndex("n", IndexDefinition([.init(FieldPath("n"))]), in: collection)
    try store.write { writer in
      for number in 0..<(2 * count) {
        let body = try JSON.fleece(from: #"{"n":\#(number % 2),"m":\#(number)}"#)
        _ = try writer.save("doc \(10_000 + number)", in: collection, body: body, parent: nil)
      }
    }
    let reads = try store.reads(collection)
    for order in [[], [FindRequest.Order(FieldPath("m"), isDescending: true)]] {
      for (skip, limit) in [(0, Int.max), (1, 5), (count - 1, 2), (count, 1)] {
        var request = FindRequest(try MangoParser.predicate(json: #"{"n":1}"#))
        (request.order, request.skip, request.limit) = (order, skip, limit)
        var found: [String] = []
        try reads.find(request) { document in
          found.append(document.id)
          return true
        }
        #expect(try found == bruteForce(request, reads), "\(skip) \(limit)")
        #expect(try reads.count(request) == found.count)
      }
    }
  }

  @Test func `a prepared request follows the indexes of the state it reads`() throws {
    try fill(100)
    let prepared = PreparedFind(FindRequest(try MangoParser.predicate(json: #"{"year":1990}"#)))
    func uses(_ reads: DocumentReads) throws -> [String] {
      var found: [String] = []
      try reads.find(prepared) { document in
        found.append(document.id)
        return true
      }
      #expect(found == ["doc 10090"])
      #expect(try reads.count(prepared) == 1)
      return try reads.explain(prepared).uses.map(\.index)
    }
    let before = try store.snapshot()
    #expect(try uses(store.reads(collection)) == [])
    for name in ["a", "b", "a"] {
      try store.createIndex(name, IndexDefinition([.init(FieldPath("year"))]), in: collection)
      #expect(try uses(store.reads(collection)) == [name])
      #expect(try uses(before.reads(collection)) == [])
      let with = try store.snapshot()
      try store.dropIndex(name, in: collection)
      #expect(try uses(store.reads(collection)) == [])
      #expect(try uses(with.reads(collection)) == [name])
    }
    try store.write { [collection] writer in
      let definition = try IndexDefinition([.init(FieldPath("year"))])
      while try !IndexBuild("c", definition, of: collection).step(in: writer.batch).isReady {}
      #expect(try uses(writer.reads(collection)) == ["c"])
      #expect(try uses(before.reads(collection)) == [])
    }
  }

  @Test func `an unfinished index is not used`() throws {
    try fill(IndexBuild.usualLimit + 1)
    let definition = try IndexDefinition([.init(FieldPath("year"))])
    try store.write { [collection] writer in
      let step = try IndexBuild("year", definition, of: collection).step(in: writer.batch)
      #expect(!step.isReady)
    }
    #expect(try plan(#"{"year":1990}"#).isScan)
    try store.createIndex("year", definition, in: collection)
    #expect(try plan(#"{"year":1990}"#).uses.count == 1)
  }
}
