import LatewoodFleece
import LatewoodQuery
import LatewoodStore
import Testing

@testable import LatewoodDocuments

/// Reads keep facts about a version of the store for the reads after them.
@Suite struct KeptFactsTests {
  private let clock = TestClock()
  private let store: DocumentStore
  private let collection: CollectionHandle

  init() throws {
    store = try DocumentStore.inMemory(options: clock.options())
    collection = try store.createCollection("things")
    let collection = collection
    try store.write { writer in
      for number in 0..<100 {
        let body = try JSON.fleece(from: #"{"n":\#(number)}"#)
        _ = try writer.save("doc \(1000 + number)", in: collection, body: body, parent: nil)
      }
    }
  }

  private func request() throws -> FindRequest {
    FindRequest(try MangoParser.predicate(json: #"{"n":{"$lt":10}}"#))
  }

  private func ids(_ reads: DocumentReads, _ prepared: PreparedFind) throws -> [String] {
    var ids: [String] = []
    try reads.findIDs(prepared) { id in
      ids.append(id)
      return true
    }
    return ids
  }

  @Test func `each state uses its own indexes, in any order of reads`() throws {
    let before = try store.reads(collection)
    #expect(try before.explain(request()).isScan)
    try store.createIndex("n", IndexDefinition([.init(FieldPath("n"))]), in: collection)
    let after = try store.reads(collection)
    try store.dropIndex("n", in: collection)
    let last = try store.reads(collection)
    for _ in 0..<2 {
      #expect(try before.explain(request()).isScan)
      #expect(try !after.explain(request()).isScan)
      #expect(try last.explain(request()).isScan)
    }
  }

  @Test func `an index-only query omits documents that expire between two reads of a state`() throws {
    try store.createIndex("n", IndexDefinition([.init(FieldPath("n"))]), in: collection)
    let prepared = PreparedFind(try request())
    #expect(try ids(store.reads(collection), prepared).count == 10)
    let collection = collection
    let time = clock.now + 10
    try store.write { writer in try writer.setExpiry(of: "doc 1003", in: collection, time) }
    #expect(try ids(store.reads(collection), prepared).count == 10)
    clock.advance(9)
    #expect(try ids(store.reads(collection), prepared).count == 10)
    clock.advance(1)
    let found = try ids(store.reads(collection), prepared)
    #expect(found.count == 9 && !found.contains("doc 1003"))
    #expect(try store.reads(collection).count(prepared) == 9)
  }

  @Test func `a dropped collection is missing for queries that ran before`() throws {
    let prepared = PreparedFind(try request())
    #expect(try ids(store.reads(collection), prepared).count == 10)
    try store.dropCollection("things")
    let error = #expect(throws: DatabaseError.self) { try ids(store.reads(collection), prepared) }
    #expect(error?.code == .notFound)
  }
}
