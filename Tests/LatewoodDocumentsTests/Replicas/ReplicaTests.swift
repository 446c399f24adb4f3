import LatewoodDocuments
import LatewoodFleece
import Testing

/// Batches of revisions that replicas exchange, and local documents with revisions.
@Suite struct ReplicaTests {
  private static func id(_ text: String) -> RevisionID {
    do { return try RevisionID(text) } catch { preconditionFailure("\(error)") }
  }

  @Test func `a refused revision does not prevent the others`() throws {
    let store = try DocumentStore.inMemory()
    let collection = try store.defaultCollection()
    let outcomes = try store.write { writer in
      try writer.insert(
        contentsOf: [
          ForeignRevision("a", history: [Self.id("2-b"), Self.id("1-a")], body: bytes("a")),
          ForeignRevision("b", history: [Self.id("3-b"), Self.id("1-a")], body: bytes("b")),
          ForeignRevision("_b", history: [Self.id("1-a")], body: bytes("b")),
          ForeignRevision("a", history: [Self.id("2-c"), Self.id("1-a")], isDeleted: true, body: bytes("c")),
          ForeignRevision("a", history: [Self.id("2-b"), Self.id("1-a")], body: bytes("a")),
        ], in: collection)
    }
    let codes = outcomes.map { outcome -> DatabaseError.Code? in
      if case .failure(let error) = outcome { error.code } else { nil }
    }
    #expect(codes == [nil, .badRevisionID, .badDocumentID, nil, nil])
    #expect(try outcomes[4].get().isNew == false)
    #expect(try store.body("a") == "a")
    let changes = try store.reads(collection).leavesChanges(since: 0, limit: 10)
    #expect(changes.map(\.entry.id) == ["a"])
    #expect(changes.first?.leaves.map(\.id) == [Self.id("2-b"), Self.id("2-c")])
    try store.expectSound()
  }

  @Test func `the difference names missing revisions and their possible ancestors`() throws {
    let store = try DocumentStore.inMemory()
    let collection = try store.defaultCollection()
    let first = try store.save("a", "1").revision
    let second = try store.save("a", "2", over: first).revision
    let third = Self.id("3-c")
    let difference = try store.reads(collection).difference([
      ("a", [first, second]), ("b", [third]), ("a", [third, first]),
    ])
    #expect(
      difference == [
        RevisionDifference(id: "b", missing: [third], possibleAncestors: []),
        RevisionDifference(id: "a", missing: [third], possibleAncestors: [second]),
      ])
  }

  @Test func `a revision that has been replaced stands for the leaves that follow`() throws {
    let store = try DocumentStore.inMemory()
    let collection = try store.defaultCollection()
    let first = try store.save("a", "1").revision
    let second = try store.save("a", "2", over: first).revision
    let branch = try store.write {
      try $0.saveBranch("a", in: collection, body: bytes("3"), parent: first).revision
    }
    let reads = try store.reads(collection)
    let latest = try reads.revisions([first], of: "a", isLatest: true)
    #expect(Set(latest.map(\.revision)) == [second, branch])
    #expect(latest.allSatisfy { $0.history.last == first })
    #expect(
      try reads.revisions([first, second], of: "a", isLatest: false).map(\.body) == [bytes("1"), bytes("2")])
    #expect(try reads.revisions([first], of: "b", isLatest: true).isEmpty)
  }

  @Test func `a local document is replaced only if its current revision was read`() throws {
    let store = try DocumentStore.inMemory()
    let collection = try store.defaultCollection()
    func put(_ json: String, replacing revision: String?) throws -> String {
      let body = try JSON.fleece(from: json)
      return try store.write { try $0.putLocal("place", in: collection, body: body, replacing: revision) }
    }
    #expect(try put(#"{"n":1}"#, replacing: nil) == "0-1")
    #expect(try put(#"{"n":2,"_rev":"0-9"}"#, replacing: "0-1") == "0-2")
    refusal(.conflict) { _ = try put("{}", replacing: "0-1") }
    refusal(.conflict) { _ = try put("{}", replacing: nil) }
    let stored = try #require(try store.reads(collection).localDocument("place"))
    #expect(stored.revision == "0-2")
    #expect(try JSON.text(of: stored.body) == bytes(#"{"n":2}"#))
  }

  @Test func `ids of design documents are accepted, and other underscores at the start are not`() {
    for id in ["_design/a", "_design/a/b", "a_design/"] { #expect(NameRules.objection(toID: id) == nil) }
    for id in ["_design/", "_design", "_local/a", "_"] { #expect(NameRules.objection(toID: id) != nil) }
  }
}
