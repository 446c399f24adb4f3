import LatewoodSimulation
import LatewoodStore
import LatewoodTestSupport
import Testing

@testable import LatewoodDocuments

/// Pruning revisions on request.
@Suite struct PruneTests {
  private let store: DocumentStore
  private let collection: CollectionHandle

  init() throws {
    store = try DocumentStore.inMemory(options: TestClock().options())
    collection = try store.defaultCollection()
  }

  /// Saves a document a number of times, and returns the revisions, oldest first.
  @discardableResult
  private func save(
    _ id: String, _ edits: Int, in collection: CollectionHandle? = nil
  ) throws -> [RevisionID] {
    var revisions: [RevisionID] = []
    for edit in 0..<edits {
      revisions.append(try store.save(id, "body \(edit)", over: revisions.last, in: collection).revision)
    }
    return revisions
  }

  private func body(_ revision: RevisionID, of id: String) throws -> String? {
    let reads = try store.reads(collection)
    guard let record = try reads.record(of: id), record.tree.contains(revision) else { return nil }
    return try reads.body(of: revision, in: record).map { String(decoding: $0, as: UTF8.self) }
  }

  private func prunable(_ depth: Int) throws -> PruneCount {
    let snapshot = try store.snapshot()
    defer { snapshot.close() }
    return try snapshot.prunable(keeping: depth)
  }

  @Test func `the given number of generations stays, with their bodies`() throws {
    let other = try store.createCollection("other")
    try save("x", 4, in: other)
    let edits = try save("a", 7)
    try save("b", 2)
    let expected = try prunable(3)
    #expect(expected.documents == 2 && expected.revisions == 5 && expected.bodies == 5)
    #expect(expected.bodyBytes == 5 * 6)
    #expect(try store.prune(keeping: 3) == expected)
    #expect(try store.reads(collection).record(of: "a")?.tree.nodes.count == 3)
    for (edit, revision) in edits.enumerated() {
      #expect(try body(revision, of: "a") == (edit < 4 ? nil : "body \(edit)"), "\(edit)")
    }
    try store.expectSound()
    #expect(try store.prune(keeping: 3) == PruneCount() && prunable(3) == PruneCount())
    // The number applies to that call only.
    #expect(store.depth == RevisionTree.usualDepth)
    try store.save("a", "more", over: edits[6])
    #expect(try store.reads(collection).record(of: "a")?.tree.nodes.count == 4)
    #expect(try store.prune(keeping: 1).revisions == 3 + 2 + 1)
    try store.expectSound()
  }

  @Test func `bodies of revisions that a save pruned are removed too`() throws {
    try store.setDepth(2)
    try save("a", 6)
    #expect(try store.reads(collection).record(of: "a")?.tree.nodes.count == 2)
    let count = try store.prune()
    #expect(count.documents == 0 && count.revisions == 0 && count.bodies == 4)
    #expect(try store.sweep().bodies == 1)
    try store.expectSound()
  }

  @Test func `conflicts and deletions stay, each with its ancestors`() throws {
    let edits = try save("a", 4)
    let theirs = try RevisionID("3-" + String(repeating: "f", count: 40))
    try store.write { [collection] writer in
      let history = [theirs, edits[1], edits[0]]
      _ = try writer.insert("a", in: collection, history: history, body: bytes("theirs"))
    }
    let gone = try save("gone", 3)
    let deletion = try store.delete("gone", over: gone[2]).revision
    #expect(try store.prune(keeping: 1).documents == 2)
    let tree = try #require(try store.reads(collection).record(of: "a")).tree
    #expect(Set(tree.nodes.map(\.id)) == [edits[3], theirs])
    #expect(try body(theirs, of: "a") == "theirs" && body(edits[3], of: "a") == "body 3")
    #expect(try store.reads(collection).record(of: "gone")?.tree.nodes.map(\.id) == [deletion])
    try store.expectSound()
  }

  @Test func `an error from the progress closure ends the pruning, and another call continues it`() throws {
    let size = DocumentCore.sweepSize
    try store.write { [collection] writer in
      for number in 0..<(size + 1) {
        let first = try writer.save("\(number)", in: collection, body: bytes("one"), parent: nil)
        _ = try writer.save("\(number)", in: collection, body: bytes("two"), parent: first.revision)
      }
    }
    var seen: [PruneProgress] = []
    #expect(throws: OnPurpose.self) {
      try store.prune(keeping: 1) { progress in
        seen.append(progress)
        if seen.count == 3 { throw OnPurpose() }
      }
    }
    #expect(seen.map(\.documents) == [0, size, size + 1] && seen.allSatisfy { $0.total == size + 1 })
    #expect(try prunable(1).revisions == 0 && prunable(1).bodies == UInt64(size + 1))
    try store.expectSound()
    #expect(try store.prune(keeping: 1).bodies == UInt64(size + 1))
    try store.expectSound()
    refusal(.busy) { try store.write { _ in _ = try store.prune() } }
  }
}
