import LatewoodFleece
import LatewoodQuery
import LatewoodSimulation
import LatewoodStore
import Testing

@testable import LatewoodDocuments

/// Documents are stored by id: conditions on the id, orders by id and numbers of documents read no
/// other documents.
@Suite struct IDQueryTests {
  private let store: DocumentStore
  private let collection: CollectionHandle
  private let clock = TestClock()
  /// The ids of the documents that can be found, in order.
  private let ids: [String]

  init() throws {
    store = try DocumentStore.inMemory(options: clock.options())
    collection = try store.createCollection("c")
    let collection = collection
    try store.write { [now = clock.now] writer in
      for number in 100..<400 {
        let id = "d\(number)"
        let saved = try writer.save(
          id, in: collection, body: JSON.fleece(from: #"{"n":\#(number % 10)}"#), parent: nil)
        if number % 50 == 7 {
          _ = try writer.save(
            id, in: collection, body: JSON.fleece(from: "{}"), parent: saved.revision, isDeleted: true)
        } else if number % 50 == 9 {
          try writer.setExpiry(of: id, in: collection, now + 10)
        }
      }
    }
    clock.advance(20)
    ids = (100..<400).filter { $0 % 50 != 7 && $0 % 50 != 9 }.map { "d\($0)" }
  }

  private func find(
    _ selector: String, _ order: [FindRequest.Order] = [], skip: Int = 0, limit: Int = .max
  ) throws -> (ids: [String], read: Int) {
    var request = FindRequest(try MangoParser.predicate(json: selector))
    (request.order, request.skip, request.limit) = (order, skip, limit)
    var ids: [String] = []
    let read = try store.reads(collection).find(request) { document in
      ids.append(document.id)
      return true
    }
    var unsorted = request
    unsorted.order = []
    #expect(try store.reads(collection).count(unsorted) == ids.count, "\(selector)")
    return (ids, read)
  }

  private func rows(_ text: String) throws -> (rows: [String], read: Int) {
    var rows: [String] = []
    let program = try SQLProgram(SQLStatement(parsing: text))
    let read = try store.reads(collection).query(program) { row in
      rows.append(String(decoding: try JSON.text(of: row.bytes), as: UTF8.self))
      return true
    }
    return (rows, read)
  }

  @Test(arguments: [
    (#"{"_id": {"$in": ["d300", "d120"]}}"#, ["d120", "d300"], 2),
    (#"{"$or": [{"_id": "d300"}, {"_id": "d120"}, {"_id": "d120"}]}"#, ["d120", "d300"], 2),
    (#"{"$or": [{"_id": {"$lt": "d102"}}, {"_id": {"$gt": "d398"}}]}"#, ["d100", "d101", "d399"], 3),
    (
      #"{"$or": [{"_id": {"$lte": "d101"}}, {"_id": {"$beginsWith": "d39"}}], "n": 1}"#, ["d101", "d391"], 12
    ),
    (#"{"_id": {"$in": ["d300", "d107", 5, null]}}"#, ["d300"], 1),
    (#"{"_id": {"$gt": "d101", "$lt": "d104", "$ne": "d103"}}"#, ["d102"], 1),
    (#"{"_id": {"$nin": ["d101", "d102"], "$lt": "d104"}}"#, ["d100", "d103"], 2),
    (#"{"_id": {"$not": {"$in": ["d101"]}}, "$or": [{"_id": "d101"}, {"_id": "d102"}]}"#, ["d102"], 1),
    (#"{"_id": 5}"#, [], 0), (#"{"_id": {"$exists": false}}"#, [], 0), (#"{"_id": {"$lt": 5}}"#, [], 0),
    (#"{"_id": {"$gt": 5, "$lt": "d102"}}"#, ["d100", "d101"], 2),
    (#"{"_id": {"$lt": {}, "$in": ["d102"]}}"#, ["d102"], 1),
    (#"{"$and": [{"_id": {"$in": ["d110", "d111"]}}, {"_id": {"$in": ["d111", "d112"]}}]}"#, ["d111"], 1),
  ])
  func `conditions on the id read only documents with these ids`(
    selector: String, expected: [String], read: Int
  ) throws {
    let found = try find(selector)
    #expect(found.ids == expected && found.read == read, "\(selector)")
    let reversed = try find(selector, [FindRequest.Order(MatchedDocument.idField, isDescending: true)])
    #expect(reversed.ids == expected.reversed() && reversed.read == read, "\(selector)")
  }

  @Test func `random conditions on the id find the same documents as a filter`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    func condition(_ depth: Int) -> String {
      func id() -> String { #""d\#(95 + random.below(310))""# }
      switch random.below(depth > 2 ? 6 : 9) {
      case 0: return #"{"_id": {"\#(random.pick(["$lt", "$lte", "$gt", "$gte", "$eq", "$ne"]))": \#(id())}}"#
      case 1: return #"{"_id": {"$in": [\#(id()), \#(id())]}}"#
      case 2: return #"{"_id": {"$nin": [\#(id()), \#(id())]}}"#
      case 3: return #"{"_id": {"$beginsWith": "d\#(1 + random.below(4))"}}"#
      case 4: return #"{"n": \#(random.below(10))}"#
      case 5: return #"{"_id": {"$lt": \#(random.pick(["null", "5", "[]"]))}}"#
      case 6: return #"{"$nor": [\#(condition(depth + 1))]}"#
      default:
        return #"{"\#(random.pick(["$or", "$and"]))": [\#(condition(depth + 1)), \#(condition(depth + 1))]}"#
      }
    }
    for _ in 0..<400 {
      let selector = condition(0)
      let predicate = try MangoParser.predicate(json: selector)
      var expected: [String] = []
      try store.reads(collection).find(FindRequest()) { document in
        if try predicate.matches(document) { expected.append(document.id) }
        return true
      }
      let (skip, limit) = (random.below(3), random.oneIn(2) ? Int.max : random.below(5))
      let forwards = Array(expected.dropFirst(skip).prefix(limit))
      #expect(try find(selector, skip: skip, limit: limit).ids == forwards, "\(selector): \(random.replay)")
      let id = FindRequest.Order(MatchedDocument.idField, isDescending: true)
      let order = [id, FindRequest.Order(FieldPath("n"))]
      let backwards = Array(expected.reversed().dropFirst(skip).prefix(limit))
      #expect(
        try find(selector, order, skip: skip, limit: limit).ids == backwards, "\(selector): \(random.replay)")
    }
  }

  @Test func `an order by id ends at the limit`() throws {
    let id = MatchedDocument.idField
    for order in [[], [FindRequest.Order(id)], [FindRequest.Order(id), FindRequest.Order(FieldPath("n"))]] {
      let found = try find("{}", order, limit: 2)
      #expect(found == (["d100", "d101"], 2))
    }
    let last = try find("{}", [FindRequest.Order(id, isDescending: true)], skip: 1, limit: 2)
    #expect(last.ids == ["d398", "d397"] && last.read == 3)
    for (text, expected, read) in [
      ("SELECT meta().id FROM c ORDER BY meta().id LIMIT 2", ["d100", "d101"], 2),
      ("SELECT meta().id FROM c ORDER BY meta().id DESC LIMIT 2", ["d399", "d398"], 2),
      ("SELECT meta().id FROM c WHERE LENGTH(meta().id) = 4 ORDER BY meta().id DESC, n LIMIT 1", ["d399"], 1),
      ("SELECT meta().id FROM c ORDER BY meta().id DESC", ids.reversed(), ids.count),
    ] {
      let found = try rows(text)
      #expect(found.rows == expected.map { #"{"id":"\#($0)"}"# } && found.read == read, "\(text)")
    }
    let plan = try store.reads(collection).explain(
      SQLProgram(SQLStatement(parsing: "SELECT n FROM c ORDER BY meta().id DESC")))
    #expect(!plan.sorts)
  }

  @Test(arguments: [
    ("SELECT MAX(meta().id) AS v FROM c", #"{"v":"d399"}"#, 1),
    (
      "SELECT MIN(meta().id) AS v, MAX(meta().id) AS w, COUNT(*) AS n FROM c",
      #"{"n":288,"v":"d100","w":"d399"}"#, 2
    ),
    ("SELECT MAX(meta().id) AS v FROM c WHERE meta().id < 'd110'", #"{"v":"d108"}"#, 1),
    ("SELECT MAX(meta().id) AS v FROM c WHERE n = 5", #"{"v":"d395"}"#, 5),
    (
      "SELECT MIN(meta().id) AS v, COUNT(*) AS n FROM c WHERE meta().id IN ['d107', 'x']",
      #"{"n":0,"v":null}"#, 0
    ),
    ("SELECT COUNT(*) AS n FROM c", #"{"n":288}"#, 0), ("SELECT COUNT(1) AS n FROM c", #"{"n":288}"#, 0),
    ("SELECT COUNT(meta().id) AS n FROM c WHERE meta().id < 'd110'", #"{"n":8}"#, 0),
    ("SELECT COUNT(*) AS n FROM c WHERE meta().id BETWEEN 'd100' AND 'd109'", #"{"n":8}"#, 0),
    ("SELECT COUNT(n) AS n FROM c WHERE meta().id < 'd110'", #"{"n":8}"#, 8),
  ])
  func `the first id, the last id and the number of documents are known`(
    text: String, row: String, read: Int
  ) throws {
    let found = try rows(text)
    #expect(found.rows == [row] && found.read == read, "\(text)")
  }

  @Test func `the number of documents is known, also in a batch`() throws {
    let reads = try store.reads(collection)
    for selector in ["{}", #"{"_id": {"$gte": "d390"}}"#] {
      let counted = try reads.counted(FindRequest(MangoParser.predicate(json: selector)))
      #expect(counted.read == 0 && counted.count == (selector == "{}" ? 288 : 10))
    }
    let collection = collection
    try store.write { writer in
      let first = try writer.save("e", in: collection, body: JSON.fleece(from: "{}"), parent: nil)
      #expect(try writer.reads(collection).count(FindRequest()) == 289)
      _ = try writer.save(
        "e", in: collection, body: JSON.fleece(from: "{}"), parent: first.revision, isDeleted: true)
      #expect(try writer.reads(collection).count(FindRequest()) == 288)
    }
  }

  @Test func `the least and the greatest value of an indexed field are read from its ends`() throws {
    try store.createIndex("n", IndexDefinition([IndexDefinition.Part(FieldPath("n"))]), in: collection)
    let found = try rows("SELECT MIN(n) AS v, MAX(n) AS w, COUNT(*) AS n FROM c")
    #expect(found.rows == [#"{"n":288,"v":0,"w":9}"#] && found.read <= 2)
  }
}
