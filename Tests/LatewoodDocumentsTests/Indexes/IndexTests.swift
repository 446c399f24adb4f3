import LatewoodFleece
import LatewoodQuery
import LatewoodSimulation
import LatewoodStore
import LatewoodTestSupport
import Testing

@testable import LatewoodDocuments

/// Indexes, compared with their documents.
@Suite struct IndexTests {
  private let store: DocumentStore
  private let collection: CollectionHandle
  private let clock = TestClock()

  init() throws {
    store = try DocumentStore.inMemory(options: clock.options())
    collection = try store.createCollection("people")
  }

  private func definition(
    _ fields: String..., where condition: String? = nil, unique: Bool = false
  ) throws -> IndexDefinition {
    try IndexDefinition(
      fields.map { try IndexDefinition.Part(parsing: $0) },
      where: condition.map { try MangoParser.predicate(json: $0) }, isUnique: unique)
  }

  @discardableResult
  private func save(_ id: String, _ json: String, over parent: RevisionID? = nil) throws -> SavedRevision {
    let body = try JSON.fleece(from: json)
    return try store.write { [collection] writer in
      try writer.save(id, in: collection, body: body, parent: parent)
    }
  }

  /// Returns the ids in an index, in its order.
  private func ids(in index: String) throws -> [String] {
    let reads = try store.reads(collection)
    let found = try #require(try reads.indexes().all.first { $0.name == index })
    var ids: [String] = []
    try reads.source.forEach(in: found.entries) { key, value in
      ids.append(try IndexEntry(key: key, value: value).id)
      return true
    }
    return ids
  }

  private func expectSound(sourceLocation: SourceLocation = #_sourceLocation) throws {
    #expect(try store.verify(deep: true).faults == [], sourceLocation: sourceLocation)
  }

  @Test func `an index lists documents in the order of its fields`() throws {
    try save("a", #"{"city":"Porto","age":3}"#)
    try save("b", #"{"city":"Lyon","age":9}"#)
    try save("c", #"{"city":"Lyon","age":30}"#)
    try store.createIndex("by city", definition("city", "age:desc"), in: collection)
    #expect(try ids(in: "by city") == ["c", "b", "a"])
    try save("d", #"{"age":4}"#)
    #expect(try ids(in: "by city") == ["d", "c", "b", "a"])
    try expectSound()
  }

  @Test func `every change of the current revision updates the index`() throws {
    try store.createIndex("year", definition("year"), in: collection)
    let first = try save("a", #"{"year":1}"#)
    try save("b", #"{"year":2}"#)
    let second = try save("a", #"{"year":3}"#, over: first.revision)
    #expect(try ids(in: "year") == ["b", "a"])
    // Another branch wins, without its parent.
    let far = RevisionID(generation: 9, digest: second.revision.digest)
    let body = try JSON.fleece(from: #"{"year":0}"#)
    try store.write { [collection] writer in
      _ = try writer.insert("a", in: collection, history: [far], body: body)
    }
    #expect(try ids(in: "year") == ["a", "b"])
    try expectSound()
    // Without that branch, the previous revision wins again, with its old body.
    try store.write { [collection] writer in _ = try writer.purge("a", in: collection, leaves: [far]) }
    #expect(try ids(in: "year") == ["b", "a"])
    try expectSound()
    try store.write { [collection] writer in
      _ = try writer.insert("a", in: collection, history: [far], body: body)
      _ = try writer.resolveConflicts(
        of: "a", in: collection, keeping: second.revision, merged: nil, tombstone: JSON.fleece(from: "{}"))
    }
    #expect(try ids(in: "year") == ["b", "a"])
    try store.write { [collection, clock] writer in
      _ = try writer.purge("b", in: collection)
      try writer.setExpiry(of: "a", in: collection, clock.now + 5)
    }
    #expect(try ids(in: "year") == ["a"])
    clock.advance(9)
    try store.purgeExpired()
    #expect(try ids(in: "year") == [])
    let last = try save("a", #"{"year":5}"#)
    try store.write { [collection] writer in
      _ = try writer.save(
        "a", in: collection, body: JSON.fleece(from: "{}"), parent: last.revision, isDeleted: true)
    }
    #expect(try ids(in: "year") == [])
    try expectSound()
  }

  @Test func `a partial index holds only matching documents, an array index each element once`() throws {
    try store.createIndex("old", definition("name", where: #"{"year":{"$lt":1980}}"#), in: collection)
    try store.createIndex("cast", definition("cast[]"), in: collection)
    let first = try save("a", #"{"name":"Alien","year":1979,"cast":["Hurt","Weaver","Hurt"]}"#)
    try save("b", #"{"name":"Brazil","year":1985,"cast":[]}"#)
    try save("c", #"{"name":"Solaris","year":1972,"cast":"Banionis"}"#)
    #expect(try ids(in: "old") == ["a", "c"])
    #expect(try ids(in: "cast") == ["a", "a"])
    try save("a", #"{"name":"Alien","year":1999,"cast":["Weaver"]}"#, over: first.revision)
    #expect(try ids(in: "old") == ["c"])
    #expect(try ids(in: "cast") == ["a"])
    try expectSound()
  }

  @Test func `a unique index refuses a second document, and names the first`() throws {
    try store.createIndex("mail", definition("mail", unique: true), in: collection)
    let first = try save("a", #"{"mail":"x@y"}"#)
    let error = try #require(refusal(.notUnique) { try save("b", #"{"mail":"x@y"}"#) })
    #expect(error.message.contains("document a "))
    // The failed operation leaves no trace, and the batch can continue.
    try store.write { [collection] writer in
      refusal(.notUnique) {
        try writer.save("b", in: collection, body: JSON.fleece(from: #"{"mail":"x@y"}"#), parent: nil)
      }
    }
    #expect(try store.reads(collection).head(of: "b") == nil)
    // Missing values do not count as duplicates, and a document may keep its own values.
    try save("c", "{}")
    try save("d", #"{"mail":null}"#)
    try save("e", #"{"mail":null}"#)
    try save("a", #"{"mail":"x@y","more":1}"#, over: first.revision)
    // Revisions from another replica are never refused.
    let body = try JSON.fleece(from: #"{"mail":"x@y"}"#)
    try store.write { [collection] writer in
      _ = try writer.insert("f", in: collection, history: [first.revision], body: body)
    }
    #expect(try ids(in: "mail").filter { $0 == "a" || $0 == "f" } == ["a", "f"])
    try expectSound()
    refusal(.notUnique) {
      try store.createIndex("again", definition("mail:desc", unique: true), in: collection)
    }
    #expect(try store.reads(collection).indexList().map(\.name) == ["mail"])
  }

  @Test(arguments: [1000, 1023, 1024, 1025, 5000])
  func `keys that are too long are truncated, and still distinguished`(length: Int) throws {
    try store.createIndex("text", definition("text", unique: true), in: collection)
    let text = String(repeating: "x", count: length)
    try save("a", #"{"text":"\#(text)a"}"#)
    try save("b", #"{"text":"\#(text)b"}"#)
    refusal(.notUnique) { try save("c", #"{"text":"\#(text)a"}"#) }
    #expect(try ids(in: "text") == ["a", "b"])
    try expectSound()
  }

  @Test func `an index is dropped with its entries, and with its collection`() throws {
    let name = "people"
    func keyspaces() throws -> [String] {
      try store.store.keyspaces().map(\.name).filter { $0.hasPrefix("entries/") }
    }
    try store.createIndex("x", definition("x"), in: collection)
    try store.createIndex("y", definition("y"), in: collection)
    try save("a", #"{"x":1,"y":2}"#)
    #expect(try keyspaces().count == 2)
    #expect(try store.dropIndex("x", in: collection))
    #expect(try !store.dropIndex("x", in: collection))
    #expect(try keyspaces().count == 1)
    try save("b", #"{"x":1,"y":1}"#)
    #expect(try ids(in: "y") == ["b", "a"])
    try store.createIndex("x", definition("x:desc"), in: collection)
    #expect(try ids(in: "x") == ["a", "b"])
    let error = refusal(.conflict) { try store.createIndex("x", definition("x"), in: collection) }
    #expect(error?.advice.contains("Drop it first") == true)
    try store.createIndex("x", definition("x:desc"), in: collection)
    try expectSound()
    try store.dropCollection(name)
    #expect(try keyspaces() == [])
    let again = try store.createCollection(name)
    #expect(try store.reads(again).indexList().isEmpty)
    try expectSound()
  }

  @Test func `a batch sees the index it creates, and a failed batch removes it`() throws {
    try save("a", #"{"x":1}"#)
    let byX = try definition("x")
    let collection = collection
    #expect(throws: OnPurpose.self) {
      try store.write { writer in
        try store.createIndex("x", byX, in: collection)
        #expect(try writer.reads(collection).indexList().map(\.count) == [1])
        _ = try writer.save("b", in: collection, body: JSON.fleece(from: #"{"x":0}"#), parent: nil)
        #expect(try writer.reads(collection).indexList().map(\.count) == [2])
        throw OnPurpose()
      }
    }
    #expect(try store.reads(collection).indexList().isEmpty)
    // Records of the index in the failed batch cannot leak into the next.
    try store.createIndex("z", definition("y"), in: collection)
    try save("c", #"{"y":0}"#)
    #expect(try ids(in: "z") == ["a", "c"])
    try expectSound()
  }

  @Test func `an unfinished index build is kept up to date, and can be cancelled and continued`() throws {
    let size = IndexBuild.usualLimit
    let collection = collection
    try store.write { writer in
      for number in 0..<(size * 2 + 1) {
        _ = try writer.save(
          "doc \(10000 + number)", in: collection, body: JSON.fleece(from: #"{"n":\#(number % 100)}"#),
          parent: nil)
      }
    }
    var steps = 0
    #expect(throws: OnPurpose.self) {
      try store.createIndex("n", definition("n"), in: collection) { step in
        steps += 1
        #expect(step.completed == size && step.total == size * 2 + 1 && !step.isReady)
        throw OnPurpose()
      }
    }
    #expect(steps == 1)
    #expect(try store.reads(collection).indexList().isEmpty)
    var list: [IndexBuildProgress] = []
    try store.createIndex("n", definition("n"), in: collection) { step in
      list.append(step)
      // Documents before and after the position that the build has reached.
      try save("doc 0\(list.count)", #"{"n":5}"#)
      try save("doc 9\(list.count)", #"{"n":5}"#)
      if let head = try store.reads(collection).head(of: "doc 10007") {
        try save("doc 10007", #"{"n":-\#(list.count)}"#, over: head.winner)
      }
      if !step.isReady { try expectSound() }
    }
    #expect(list.map(\.isReady) == [false, false, true])
    #expect(try ids(in: "n").count == size * 2 + 1 + 6)
    #expect(try ids(in: "n").first == "doc 10007")
    try expectSound()
  }

  @Test func `an existing index survives a progress closure that throws`() throws {
    let collection = collection
    for number in 0..<7 { try save("doc \(number)", #"{"n":\#(number)}"#) }
    try store.createIndex("n", definition("n"), in: collection)
    #expect(throws: OnPurpose.self) {
      try store.createIndex("n", definition("n"), in: collection) { step in
        #expect(step.isReady && step.wasReady)
        throw OnPurpose()
      }
    }
    #expect(try ids(in: "n").count == 7)
    // The last step has built this index: it did not exist before.
    #expect(throws: OnPurpose.self) {
      try store.createIndex("m", definition("n"), in: collection) { step in
        #expect(step.isReady && !step.wasReady)
        throw OnPurpose()
      }
    }
    #expect(try store.reads(collection).indexList().map(\.name) == ["n"])
    try expectSound()
  }

  @Test func `an index completed by another writer survives a progress closure that throws`() throws {
    let collection = collection
    try store.write { writer in
      for number in 0..<(IndexBuild.usualLimit * 2) {
        _ = try writer.save(
          "doc \(10000 + number)", in: collection, body: JSON.fleece(from: #"{"n":\#(number % 100)}"#),
          parent: nil)
      }
    }
    #expect(throws: OnPurpose.self) {
      try store.createIndex("n", definition("n"), in: collection) { step in
        #expect(!step.isReady)
        try store.createIndex("n", definition("n"), in: collection)
        throw OnPurpose()
      }
    }
    #expect(try ids(in: "n").count == IndexBuild.usualLimit * 2)
    try expectSound()
  }

  @Test func `verification finds missing, extra and wrong entries`() throws {
    try store.createIndex("x", definition("x"), in: collection)
    try save("a", #"{"x":1}"#)
    try save("b", #"{"x":2}"#)
    let entries = try #require(try store.store.keyspaces().first { $0.name.hasPrefix("entries/") })
    let entry = try #require(try store.store.first(in: entries))
    func faults(_ change: @escaping (Transaction) throws -> Void) throws -> Int {
      try store.store.write { try change($0) }
      let count = try store.verify(deep: true).faults.count
      try store.store.write {
        try $0.deleteRange(.upTo(entry.key), in: entries)
        try $0.put(entry.key, entry.value, in: entries)
      }
      try expectSound()
      return count
    }
    #expect(try faults { try $0.delete(entry.key, in: entries) } == 1)
    #expect(try faults { try $0.put(entry.key, [3], in: entries) } == 1)
    #expect(try faults { try $0.put([0] + bytes("c"), [2], in: entries) } == 1)
  }

  @Test func `a document with a damaged body can be replaced, and its old entries are removed`() throws {
    try store.createIndex("x", definition("x"), in: collection)
    let first = try save("a", #"{"x":1}"#)
    try save("b", #"{"x":2}"#)
    // The body is at the end of the record.
    let records = try #require(try store.store.existingKeyspace("documents/people"))
    let record = try #require(try store.store.get("a", in: records))
    try store.store.write { try $0.put("a", record.dropLast(4) + [0xEE, 0xEE, 0xEE, 0xEE], in: records) }
    try save("a", #"{"x":3}"#, over: first.revision)
    #expect(try ids(in: "x") == ["b", "a"])
  }
}
