import LatewoodDocuments
import LatewoodSimulation
import LatewoodStore
import Testing

/// Documents that have expired but are not purged yet, and documents that return after deletion.
@Suite struct ExpiryReadTests {
  private let clock = TestClock()
  private let directory: TemporaryDirectory
  private let store: DocumentStore
  private let documents: CollectionHandle

  init() throws {
    directory = try TemporaryDirectory()
    store = try DocumentStore.open(at: directory.database, options: clock.options())
    documents = try store.defaultCollection()
  }

  private func expect(_ ids: [String], in store: DocumentStore) throws {
    let reads = try store.reads(store.defaultCollection())
    #expect(try reads.count() == ids.count && reads.totals().documents == ids.count)
    var found: [String] = []
    try reads.forEachDocument { id, _ in
      found.append(id)
      return true
    }
    #expect(found == ids)
    #expect(try reads.changes().map(\.id).sorted() == ids)
    for id in ["a", "b", "c"] {
      #expect(try (reads.head(of: id) != nil) == ids.contains(id))
      #expect(try (reads.record(of: id) != nil) == ids.contains(id))
      #expect(try (reads.document(id) != nil) == ids.contains(id))
      if !ids.contains(id) { #expect(try reads.expiry(of: id) == nil) }
    }
  }

  @Test func `an expired document is invisible to every reader, even before it is purged`() throws {
    for id in ["a", "b", "c"] { try store.save(id, id) }
    let conflict = try RevisionID("1-00")
    try store.write { writer in
      try writer.insert("b", in: documents, history: [conflict], body: bytes("other"))
      try writer.setExpiry(of: "a", in: documents, clock.now + 10)
      try writer.setExpiry(of: "b", in: documents, clock.now + 10)
    }
    try store.close()
    clock.advance(9)
    let reader = try DocumentStore.open(at: directory.database, mode: .readOnly, options: clock.options())
    try expect(["a", "b", "c"], in: reader)
    clock.advance(1)
    try expect(["c"], in: reader)
    var conflicts = AllDocumentsQuery()
    conflicts.onlyConflicts = true
    #expect(try reader.reads(reader.defaultCollection()).count(conflicts) == 0)
    var range = AllDocumentsQuery()
    range.range = .between("b", "d")
    range.includesDeleted = true
    #expect(try reader.reads(reader.defaultCollection()).count(range) == 1)
    try reader.expectSound()
    try reader.close()
    let writer = try DocumentStore.open(at: directory.database, options: clock.options())
    try expect(["c"], in: writer)
    try writer.expectSound()
    try writer.close()
  }

  @Test func `saving over an expired document creates a new one that does not expire`() throws {
    for id in ["a", "b", "c"] {
      try store.save(id, "old")
      try store.write { try $0.setExpiry(of: id, in: documents, clock.now + 10) }
    }
    clock.advance(10)
    refusal(.notFound) { try store.delete("a", over: nil) }
    refusal(.notFound) { try store.write { try $0.setExpiry(of: "a", in: documents, nil) } }
    let saved = try store.save("a", "new")
    #expect(saved.revision.generation == 1 && saved.isNew)
    try store.write { writer in
      refusal(.notFound) { try store.delete("b", over: nil) }
      #expect(try !writer.purge("c", in: documents))
      try expect(["a"], in: store)
    }
    #expect(try store.body("a") == "new")
    clock.advance(100)
    #expect(try store.purgeExpired() == 0)
    try expect(["a"], in: store)
    try store.expectSound()
  }

  @Test func `a deleted document does not expire, and its successor starts without an expiry`() throws {
    let first = try store.save("a", "one")
    try store.write { try $0.setExpiry(of: "a", in: documents, clock.now + 10) }
    try store.delete("a", over: first.revision)
    #expect(try store.reads(documents).expiry(of: "a") == nil)
    try store.expectSound()
    clock.advance(20)
    #expect(try store.purgeExpired() == 0)
    #expect(try store.reads(documents).head(of: "a")?.isDeleted == true, "others must hear of the deletion")
    #expect(try store.reads(documents).changes().map(\.isDeleted) == [true])
    try store.save("a", "again")
    #expect(try store.purgeExpired() == 0)
    #expect(try store.body("a") == "again")
    try store.expectSound()
  }

  @Test func `a deletion from another replica also cancels the expiry`() throws {
    let first = try store.save("a", "one")
    try store.write { writer in
      try writer.setExpiry(of: "a", in: documents, clock.now + 10)
      try writer.insert(
        "a", in: documents, history: [RevisionID("2-aa"), first.revision], body: [0], isDeleted: true)
    }
    clock.advance(20)
    #expect(try store.purgeExpired() == 0)
    #expect(try store.reads(documents).head(of: "a")?.isDeleted == true)
    try store.expectSound()
  }

  @Test func `a snapshot keeps a document that expires later, and the collection's mark changes`() throws {
    for id in ["a", "b"] { try store.save(id, id) }
    try store.write { try $0.setExpiry(of: "a", in: documents, clock.now + 10) }
    try store.close()
    // Nothing is purged here.
    let reader = try DocumentStore.open(at: directory.database, mode: .readOnly, options: clock.options())
    let collection = try reader.defaultCollection()
    let snapshot = try reader.snapshot()
    let mark = try snapshot.reads(collection).mark()
    #expect(try reader.reads(collection).mark() == mark)
    clock.advance(20)
    #expect(try snapshot.reads(collection).head(of: "a") != nil)
    #expect(try snapshot.reads(collection).mark() == mark)
    #expect(try reader.reads(collection).head(of: "a") == nil)
    #expect(try reader.reads(collection).mark() != mark)
    try reader.close()
  }
}
