import LatewoodFleece
import LatewoodQuery
import LatewoodStore
import Testing

@testable import LatewoodDocuments

/// Queries for one value in one field, which are answered without a plan, compared with a check of
/// every document.
@Suite struct EqualityTests {
  private let store: DocumentStore
  private let collection: CollectionHandle

  /// Values shared by several documents, with keys around the length at which keys are cut.
  private static let values: [String] = {
    let long = (1019...1023).map { String(repeating: "z", count: $0) }
    return ["0", "1", "1.5", "null", "true", "\"\"", "\"x\"", "[1]", "[1,2]", "{\"x\":1}"]
      + long.flatMap { ["\"\($0)\"", "\"\($0)b\"", "\"\($0)bc\""] }
  }()

  init() throws {
    store = try DocumentStore.inMemory()
    collection = try store.createCollection("things")
    try save(0..<80)
  }

  /// Saves documents, the first ones with few of the values.
  private func save(_ numbers: Range<Int>) throws {
    let collection = collection
    try store.write { writer in
      for number in numbers {
        let value = Self.values[number < 40 ? number % 3 : number % Self.values.count]
        let body = try JSON.fleece(from: #"{"n":\#(value),"m":\#(number)}"#)
        _ = try writer.save("doc \(1000 + number)", in: collection, body: body, parent: nil)
      }
    }
  }

  private func find(_ request: FindRequest, _ reads: DocumentReads) throws -> [String] {
    var (first, second): ([String], [String]) = ([], [])
    try reads.find(request) { document in
      first.append(document.id)
      return true
    }
    try reads.find(PreparedFind(request)) { document in
      second.append(document.id)
      return true
    }
    #expect(first == second)
    return first
  }

  private static let definitions: [(fields: [String], condition: String?)] = [
    (["n"], nil), (["n:desc"], nil), (["n[]"], nil), (["n", "m"], nil), (["m", "n"], nil), (["m"], nil),
    (["n"], #"{"m":{"$gt":50}}"#), (["n"], #"{"n":1}"#),
  ]

  @Test(arguments: definitions.indices)
  func `documents with a given value are found with any index`(number: Int) throws {
    let (fields, condition) = Self.definitions[number]
    let before = try store.snapshot()
    let definition = try IndexDefinition(
      fields.map { try IndexDefinition.Part(parsing: $0) },
      where: condition.map { (text) throws(QueryError) in try MangoParser.predicate(json: text) })
    try store.createIndex("i", definition, in: collection)
    for isSecond in [false, true] {
      let reads = try store.reads(collection)
      for value in Self.values {
        for (skip, limit) in [(0, Int.max), (0, 1), (1, 2), (3, .max), (40, 5)] {
          var request = FindRequest(try MangoParser.predicate(json: #"{"n":\#(value)}"#))
          (request.skip, request.limit) = (skip, limit)
          let expected = try find(request, before.reads(collection))
          #expect(try find(request, reads) == expected, "\(value.prefix(20)) \(skip) \(limit)")
        }
      }
      // Once more with the entries in the base tree.
      if !isSecond { try store.store.checkpoint() }
    }
  }

  @Test func `a deleted document is not found, and a batch finds the documents it saved`() throws {
    try store.createIndex("i", IndexDefinition([.init(FieldPath("m"))]), in: collection)
    let request = FindRequest(try MangoParser.predicate(json: #"{"m":7}"#))
    #expect(try find(request, store.reads(collection)) == ["doc 1007"])
    let collection = collection
    try store.write { writer in
      let parent = try writer.reads(collection).head(of: "doc 1007")?.winner
      _ = try writer.save(
        "doc 1007", in: collection, body: JSON.fleece(from: "{}"), parent: parent, isDeleted: true)
      #expect(try find(request, writer.reads(collection)) == [])
      _ = try writer.save("doc 7", in: collection, body: JSON.fleece(from: #"{"m":7}"#), parent: nil)
      #expect(try find(request, writer.reads(collection)) == ["doc 7"])
    }
    #expect(try find(request, store.reads(collection)) == ["doc 7"])
  }
}
