import LatewoodDocuments
import LatewoodStore
import Testing

@Suite struct AllDocumentsQueryTests {
  let store: DocumentStore
  let documents: CollectionHandle

  init() throws {
    store = try DocumentStore.inMemory()
    documents = try store.defaultCollection()
    for number in 0..<20 { try store.save("doc-\(number < 10 ? "0" : "")\(number)", "\(number)") }
    try store.delete("doc-05", over: try store.reads(documents).head(of: "doc-05")?.winner)
    try store.save("other", "x")
  }

  private func ids(_ change: (inout AllDocumentsQuery) -> Void) throws -> [String] {
    var query = AllDocumentsQuery()
    change(&query)
    var ids: [String] = []
    try store.reads(documents).forEachDocument(query) { id, _ in
      ids.append(id)
      return true
    }
    if query.limit == .max { #expect(try store.reads(documents).count(query) == ids.count) }
    return ids
  }

  @Test func `queries support range, prefix, limit, direction and deleted documents`() throws {
    #expect(try ids { _ in }.count == 20)
    #expect(try ids { $0.includesDeleted = true }.count == 21)
    #expect(try ids { $0.range = .prefix("doc-0") }.count == 9)
    #expect(
      try ids {
        $0.range = .prefix("doc-0")
        $0.includesDeleted = true
      }.count == 10)
    #expect(try ids { $0.range = .between("doc-04", through: "doc-06") } == ["doc-04", "doc-06"])
    #expect(
      try ids {
        $0.descending = true
        $0.limit = 2
      } == ["other", "doc-19"])
    #expect(try ids { $0.limit = 0 } == [])
    #expect(try ids { $0.onlyConflicts = true } == [])
    #expect(try store.reads(documents).totals() == (20, 1))
  }

  @Test func `the feed has each document once, at its latest change`() throws {
    let feed = try store.reads(documents).changes()
    #expect(feed.count == 21)
    #expect(feed.map(\.sequence) == feed.map(\.sequence).sorted())
    #expect(feed.last?.id == "other" && feed[feed.count - 2].id == "doc-05")
    #expect(feed[feed.count - 2].isDeleted && feed[feed.count - 2].sequence == 21)
    #expect(try store.reads(documents).changes(since: 21).map(\.id) == ["other"])
    #expect(try store.reads(documents).changes(since: 22) == [])
    #expect(try store.reads(documents).changes(since: .max) == [])
    #expect(try store.reads(documents).changes(limit: 2, descending: true).map(\.id) == ["other", "doc-05"])
    #expect(try store.reads(documents).changes(since: 3) == feed.filter { $0.sequence > 3 })
  }

  @Test func `a snapshot keeps its state despite later changes`() throws {
    let snapshot = try store.snapshot()
    try store.save("new", "x")
    try store.write { try $0.purge("other", in: documents) }
    #expect(try snapshot.reads(documents).head(of: "new") == nil)
    #expect(try snapshot.reads(documents).document("other")?.body == bytes("x"))
    #expect(try snapshot.reads(documents).changes().count == 21)
    #expect(try store.reads(documents).document("other") == nil)
  }

  @Test func `ids are bytes, so composed and decomposed forms differ`() throws {
    try store.save("\u{E9}", "composed")
    try store.save("e\u{301}", "decomposed")
    #expect(try store.body("\u{E9}") == "composed")
    #expect(try store.body("e\u{301}") == "decomposed")
  }
}
