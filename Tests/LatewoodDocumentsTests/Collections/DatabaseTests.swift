import LatewoodDevice
import LatewoodDocuments
import LatewoodSimulation
import LatewoodStore
import Testing

@Suite struct DatabaseTests {
  @Test func `a file opened twice is one database until its last handle closes`() throws {
    let directory = try TemporaryDirectory()
    let first = try DocumentStore.open(at: directory.database)
    let second = try DocumentStore.open(at: directory.database, mode: .openExisting)
    let reader = try DocumentStore.open(at: directory.database, mode: .readOnly)
    refusal(.conflict) { _ = try DocumentStore.open(at: directory.database, mode: .createNew) }
    try first.save("a", "one")
    #expect(try second.body("a") == "one" && reader.body("a") == "one")
    refusal(.notWritable) { try reader.save("b", "two") }
    try first.close()
    refusal(.notOpen) { _ = try first.body("a") }
    #expect(try second.body("a") == "one")
    try reader.close()
    try second.close()
    let again = try DocumentStore.open(at: directory.database)
    #expect(try again.body("a") == "one")
    try again.compact()
    let other = try DocumentStore.open(at: directory.database)
    #expect(try other.body("a") == "one", "also after a compaction has put another file there")
    try again.close()
    try other.close()
  }

  @Test func `a reader in another process sees commits, and feeds continue`() async throws {
    let disk = SimulatedVolume()
    let options = TestClock().options()
    let writer = try DocumentStore.open(at: "db", on: disk.process(1), mode: .createNew, options: options)
    let reader = try DocumentStore.open(at: "db", on: disk.process(2), mode: .readOnly, options: options)
    try writer.save("a", "one")
    try expectSoon("a", "one", in: reader)
    let feed = reader.continuousFeed(of: try reader.defaultCollection(), since: 1)
    let second = Task {
      for try await change in feed { return change.id }
      return "nothing"
    }
    try writer.save("b", "two")
    #expect(try await second.value == "b")
    try expectAfterRefresh("c", "three", from: writer, in: reader)
    let documents = try writer.defaultCollection()
    let saved = try await writer.write { try $0.save("d", in: documents, body: [1], parent: nil) }
    #expect(saved.sequence == 4)
    try reader.close()
    try writer.close()
  }

  // Separate functions, because the optimizer of Swift 6.3.1 crashes on an async function into
  // which it inlines them.
  @inline(never) private func expectSoon(_ id: String, _ body: String, in reader: DocumentStore) throws {
    #expect(try Patience.wait { try reader.body(id) == body })
  }

  @inline(never) private func expectAfterRefresh(
    _ id: String, _ body: String, from writer: DocumentStore, in reader: DocumentStore
  ) throws {
    try writer.save(id, body)
    // Immediately, regardless of the time of the last check.
    _ = try reader.refresh()
    #expect(try reader.body(id) == body)
    #expect(try reader.verify().isSound)
  }

  @Test func `a refused second creation does not upset the handle count`() throws {
    let directory = try TemporaryDirectory()
    let store = try DocumentStore.open(at: directory.database)
    refusal(.conflict) { _ = try DocumentStore.open(at: directory.database, mode: .createNew) }
    try store.close()
    let raw = try Store.open(at: directory.database)
    try raw.close()
  }

  @Test func `a store with other contents is not opened as documents`() throws {
    let directory = try TemporaryDirectory()
    let raw = try Store.open(at: directory.database)
    try raw.put("key", "value", in: raw.keyspace("fruit"))
    try raw.close()
    refusal(.wrongFormat) { _ = try DocumentStore.open(at: directory.database) }
    refusal(.wrongFormat) { _ = try DocumentStore.open(at: directory.database, mode: .readOnly) }
  }

  @Test func `identity, depth and last sequences survive purges and reopening`() throws {
    let directory = try TemporaryDirectory()
    var options = DocumentOptions.ofPlainBodies
    options.depth = 7
    let store = try DocumentStore.open(at: directory.database, options: options)
    let identity = try store.identity()
    #expect(identity.count == 16)
    try store.save("a", "one")
    let documents = try store.defaultCollection()
    try store.write { try $0.purge("a", in: documents) }
    try store.close()
    let again = try DocumentStore.open(at: directory.database)
    #expect(try again.identity() == identity && again.depth == 7)
    #expect(try again.save("a", "one").sequence == 2)
    try again.renewIdentity()
    #expect(try again.identity() != identity)
    try again.close()
  }

  @Test func `collections are created, listed and dropped with all their contents`() throws {
    let store = try DocumentStore.inMemory()
    let fruit = try store.createCollection("fruit")
    #expect(try store.createCollection("fruit") === fruit)
    let blob = try store.putBlob([1, 2, 3])
    let digest = blob.digest
    try store.save("apple", "red", in: fruit, blobs: [digest])
    try store.save("apple", "green")
    #expect(try store.collectionNames() == ["_default", "fruit"])
    #expect(try store.collection("birds") == nil)
    #expect(try store.dropCollection("fruit"))
    #expect(try !store.dropCollection("fruit"))
    #expect(try store.collectionNames() == ["_default"])
    refusal(.notFound) { try store.save("pear", "green", in: fruit) }
    let fresh = try store.createCollection("fruit")
    #expect(try store.reads(fresh).count() == 0)
    refusal(.notFound) { try store.save("pear", "green", in: fruit) }
    refusal(.notFound) { _ = try store.reads(fruit).head(of: "apple") }
    #expect(try store.body("apple") == "green")
    try store.save("plum", "blue")
    try store.expectSound()
    withExtendedLifetime(blob) {}
  }

  @Test func `local documents have no history and are not in the feed`() throws {
    let store = try DocumentStore.inMemory()
    let documents = try store.defaultCollection()
    try store.write { writer in
      try writer.putLocal("checkpoint", in: documents, body: [1])
      try writer.putLocal("checkpoint", in: documents, body: [2])
    }
    #expect(try store.reads(documents).local("checkpoint") == [2])
    #expect(try store.reads(documents).localNames() == ["checkpoint"])
    #expect(try store.reads(documents).changes() == [])
    #expect(try store.write { try $0.deleteLocal("checkpoint", in: documents) })
    #expect(try !store.write { try $0.deleteLocal("checkpoint", in: documents) })
    try store.expectSound()
  }
}
