import LatewoodDocuments
import LatewoodStore
import Testing

@Suite struct RevisionSavingTests {
  let store: DocumentStore
  let documents: CollectionHandle

  init() throws {
    store = try DocumentStore.inMemory(options: TestClock().options())
    documents = try store.defaultCollection()
  }

  @Test func `a document is saved, read, edited and deleted`() throws {
    let first = try store.save("a", "one")
    #expect(first.revision.generation == 1 && first.sequence == 1 && first.isNew)
    #expect(try store.body("a") == "one")
    let second = try store.save("a", "two", over: first.revision)
    #expect(second.revision.generation == 2 && second.sequence == 2)
    #expect(try store.body("a") == "two")
    let record = try #require(try store.reads(documents).record(of: "a"))
    #expect(record.tree.parent(of: second.revision)?.id == first.revision)
    // The old body stays until a sweep.
    #expect(try store.reads(documents).body(of: first.revision, in: record) == bytes("one"))
    try store.delete("a", over: second.revision)
    #expect(try store.body("a") == nil)
    #expect(try store.reads(documents).head(of: "a")?.isDeleted == true)
    refusal(.notFound) { try store.delete("a", over: nil) }
    refusal(.notFound) { try store.delete("b", over: nil) }
    try store.expectSound()
    let report = try store.sweep()
    #expect(report.bodies == 2)
    #expect(try store.reads(documents).body(of: first.revision, in: record) == nil)
    try store.expectSound()
  }

  @Test func `saving over a stale revision is a conflict, unless the last write wins`() throws {
    let first = try store.save("a", "one")
    refusal(.conflict) { try store.save("a", "other") }
    let second = try store.save("a", "two", over: first.revision)
    refusal(.conflict) { try store.save("a", "late", over: first.revision) }
    refusal(.conflict) { try store.save("b", "new", over: first.revision) }
    let last = try store.save("a", "late", over: first.revision, policy: .lastWriteWins)
    #expect(last.revision.generation == 3)
    #expect(try store.reads(documents).record(of: "a")?.tree.parent(of: last.revision)?.id == second.revision)
    #expect(try store.save("a", "new", policy: .lastWriteWins).revision.generation == 4)
    // The first edit again, after later saves: a conflict, although it is the same edit.
    refusal(.conflict) { try store.save("a", "one") }
    try store.expectSound()
  }

  @Test func `the same edit made twice is a conflict like any other`() throws {
    let first = try store.save("a", "one")
    refusal(.conflict) { try store.save("a", "one") }
    let second = try store.save("a", "two", over: first.revision)
    refusal(.conflict) { try store.save("a", "two", over: first.revision) }
    #expect(try store.reads(documents).lastSequence() == second.sequence)
    let gone = try store.delete("a", over: second.revision)
    refusal(.notFound) { try store.delete("a", over: second.revision) }
    #expect(try store.reads(documents).lastSequence() == gone.sequence)
  }

  @Test func `a document created again continues from its tombstone`() throws {
    let first = try store.save("a", "one")
    let gone = try store.delete("a", over: first.revision)
    let again = try store.save("a", "one")
    #expect(again.revision.generation == 3)
    #expect(try store.reads(documents).record(of: "a")?.tree.parent(of: again.revision)?.id == gone.revision)
    #expect(try store.reads(documents).totals() == (1, 0))
    try store.expectSound()
  }

  @Test func `a conflict from another replica is shown, listed and resolved`() throws {
    let first = try store.save("a", "one")
    let mine = try store.save("a", "mine", over: first.revision)
    let theirs = bytes("theirs").withUnsafeBytes {
      RevisionID(editing: first.revision, isDeleted: false, body: $0)
    }
    let inserted = try store.write {
      try $0.insert("a", in: documents, history: [theirs, first.revision], body: bytes("theirs"))
    }
    #expect(inserted.outcome == .newBranch && inserted.isNew)
    let again = try store.write {
      try $0.insert("a", in: documents, history: [theirs, first.revision], body: bytes("theirs"))
    }
    #expect(again.outcome == .internalNode && !again.isNew)
    var query = AllDocumentsQuery()
    query.onlyConflicts = true
    #expect(try store.reads(documents).count(query) == 1)
    let record = try #require(try store.reads(documents).record(of: "a"))
    #expect(Set(record.tree.leaves.map(\.id)) == [mine.revision, theirs])
    #expect(record.tree.commonAncestor(mine.revision, theirs)?.id == first.revision)
    try store.sweep()
    // Bodies of unresolved conflicts are not superseded.
    for leaf in record.tree.leaves { #expect(try store.reads(documents).body(at: leaf.body) != nil) }
    let resolved = try store.write {
      try $0.resolveConflicts(of: "a", in: documents, merged: bytes("both"), tombstone: [0])
    }
    #expect(try store.body("a") == "both")
    #expect(resolved.revision.generation == 3)
    #expect(try store.reads(documents).count(query) == 0)
    #expect(try store.reads(documents).record(of: "a")?.tree.deletedConflicts.count == 1)
    try store.expectSound()
  }

  @Test func `a tree is pruned to the depth of the database`() throws {
    try store.setDepth(3)
    var parent: RevisionID?
    for number in 0..<10 { parent = try store.save("a", "\(number)", over: parent).revision }
    #expect(try store.reads(documents).record(of: "a")?.tree.nodes.count == 3)
    try store.expectSound()
    #expect(try store.sweep().bodies == 9)
    try store.expectSound()
    try store.setDepth(2)
    #expect(try store.reads(documents).record(of: "a")?.tree.nodes.count == 3)
    let before = try store.reads(documents).changes()
    try store.sweep()
    #expect(try store.reads(documents).record(of: "a")?.tree.nodes.count == 2)
    #expect(try store.reads(documents).changes() == before)
    try store.expectSound()
  }

  @Test func `the body of a leaf that is pruned by its successor is swept`() throws {
    try store.setDepth(1)
    let first = try store.save("a", "first")
    let second = try store.save("a", "second", over: first.revision)
    #expect(try store.reads(documents).record(of: "a")?.tree.nodes.count == 1)
    try store.expectSound()
    #expect(try store.sweep().bodies == 1)
    try store.setDepth(3)
    // Revisions from another replica may be further ahead than the depth.
    var history = [second.revision]
    for number in 0..<5 {
      let next = bytes("\(number)").withUnsafeBytes {
        RevisionID(editing: history.first, isDeleted: false, body: $0)
      }
      history.insert(next, at: 0)
    }
    try store.write { try $0.insert("a", in: documents, history: history, body: bytes("4")) }
    #expect(try store.reads(documents).record(of: "a")?.tree.nodes.count == 3)
    try store.expectSound()
    #expect(try store.sweep().bodies == 1)
    try store.expectSound()
  }

  @Test func `an automatic compaction sweeps first`() throws {
    let first = try store.save("a", "one")
    try store.save("a", "two", over: first.revision)
    #expect(try store.reclaimableBytes() == 3)
    let record = try #require(try store.reads(documents).record(of: "a"))
    try store.store.compact()
    #expect(try store.reads(documents).body(of: first.revision, in: record) == nil)
    #expect(try store.reclaimableBytes() == 0)
    try store.expectSound()
  }

  @Test func `purging removes a document or a branch, and no sequence is reused`() throws {
    let first = try store.save("a", "one")
    let id = bytes("x").withUnsafeBytes { RevisionID(editing: nil, isDeleted: false, body: $0) }
    try store.write { try $0.insert("a", in: documents, history: [id], body: bytes("x")) }
    let loser = min(first.revision, id)
    #expect(try store.write { try $0.purge("a", in: documents, leaves: [loser]) } == [loser])
    #expect(try store.reads(documents).record(of: "a")?.tree.nodes.count == 1)
    try store.expectSound()
    #expect(try store.write { try $0.purge("a", in: documents) })
    #expect(try !store.write { try $0.purge("a", in: documents) })
    #expect(try store.reads(documents).head(of: "a") == nil)
    #expect(try store.reads(documents).changes() == [])
    try store.expectSound()
    #expect(try store.save("a", "one").sequence == 4)
  }

  @Test func `purging a branch prunes the others to the configured depth`() throws {
    try store.setDepth(3)
    func edit(_ parent: RevisionID?, _ text: String) -> RevisionID {
      bytes(text).withUnsafeBytes { RevisionID(editing: parent, isDeleted: false, body: $0) }
    }
    let first = edit(nil, "1")
    let second = edit(first, "2")
    let short = edit(second, "short")
    var long = [edit(second, "3"), second, first]
    for text in ["4", "5"] { long.insert(edit(long[0], text), at: 0) }
    let branch = [short, second, first]
    try store.write { try $0.insert("a", in: documents, history: branch, body: bytes("short")) }
    try store.write { [long] in try $0.insert("a", in: documents, history: long, body: bytes("5")) }
    // The short branch keeps its two ancestors, which the long one shares.
    #expect(try store.reads(documents).record(of: "a")?.tree.nodes.count == 6)
    #expect(try store.write { try $0.purge("a", in: documents, leaves: [short]) } == [short])
    #expect(try store.reads(documents).record(of: "a")?.tree.nodes.count == 3)
    try store.expectSound()
  }

  @Test func `an ancestor known only by name gets its body, and the next sweep removes it`() throws {
    let old = bytes("old").withUnsafeBytes { RevisionID(editing: nil, isDeleted: false, body: $0) }
    let new = bytes("new").withUnsafeBytes { RevisionID(editing: old, isDeleted: false, body: $0) }
    try store.write { try $0.insert("a", in: documents, history: [new, old], body: bytes("new")) }
    let filled = try store.write { try $0.insert("a", in: documents, history: [old], body: bytes("old")) }
    #expect(filled.outcome == .internalNode && filled.isNew)
    let record = try #require(try store.reads(documents).record(of: "a"))
    #expect(try store.reads(documents).body(of: old, in: record) == bytes("old"))
    try store.expectSound()
    #expect(try store.sweep().bodies == 1)
    try store.expectSound()
  }
}
