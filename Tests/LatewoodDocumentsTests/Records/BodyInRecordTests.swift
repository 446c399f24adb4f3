import LatewoodFleece
import LatewoodStore
import Testing

@testable import LatewoodDocuments

/// Short bodies, which are stored in the records of their documents, and their moves.
@Suite struct BodyInRecordTests {
  private static let limit = DocumentRecord.bodyLimit

  let clock = TestClock()
  let store: DocumentStore
  let documents: CollectionHandle

  init() throws {
    store = try DocumentStore.inMemory(options: clock.options())
    documents = try store.defaultCollection()
  }

  private func text(_ count: Int, _ character: Character = "a") -> String {
    String(repeating: character, count: count)
  }

  private func head(of id: String) throws -> DocumentRecord.Head {
    try #require(try store.reads(documents).head(of: id))
  }

  /// Returns the sequences of the bodies that are stored apart.
  private func apart() throws -> [UInt64] {
    let bodies = try #require(try store.store.existingKeyspace("bodies/_default"))
    var found: [UInt64] = []
    try store.store.forEach(in: bodies) { key, _ in
      found.append(try key.withUnsafeBytes { try SequenceEntry.sequence(ofKey: $0) })
      return true
    }
    return found
  }

  private func insert(_ id: String, _ history: [String], _ text: String?, isDeleted: Bool = false) throws {
    let ids = try history.map { try RevisionID($0) }
    try store.write { writer in
      _ = try writer.insert(
        id, in: documents, history: ids, body: text.map { bytes($0) }, isDeleted: isDeleted)
    }
  }

  private func body(_ revision: String, of id: String) throws -> [UInt8]? {
    let reads = try store.reads(documents)
    return try reads.body(of: RevisionID(revision), in: #require(try reads.record(of: id)))
  }

  @Test(arguments: [1, limit - 1, limit, limit + 1, 4 * limit])
  func `a body up to the limit is stored in the record, and every kind of read finds it`(_ count: Int) throws
  {
    let saved = try store.save("a", text(count))
    try store.save("b", "other")
    let isShort = count <= Self.limit
    #expect(try apart() == (isShort ? [] : [1]))
    let reads = try store.reads(documents)
    let head = try head(of: "a")
    #expect(head.bodyLength == (isShort ? count : 0) && head.body == 1)
    #expect(try reads.document("a")?.body == bytes(text(count)))
    #expect(try reads.winner(of: "a")?.body == bytes(text(count)))
    #expect(try reads.body(at: head.body) == bytes(text(count)))
    #expect(try reads.withBody(at: head.body) { $0.count } == count)
    #expect(try body("\(saved.revision)", of: "a") == bytes(text(count)))
    var all: [Int?] = []
    try reads.forEachWholeDocument { _, _, body in
      all.append(body?.count)
      return true
    }
    #expect(all == [count, 5])
    let lengths = try store.write { writer in
      let reads = try writer.reads(documents)
      return [try reads.document("a")?.body.count, try reads.body(at: 1)?.count]
    }
    #expect(lengths == [count, count])
    let snapshot = try store.snapshot()
    #expect(try snapshot.reads(documents).document("a")?.body.count == count)
    snapshot.close()
    let state = try reads.state()
    #expect(state.bodies == 2 && state.bodyBytes == UInt64(count + 5))
    try store.expectSound()
  }

  @Test func `an empty body is stored separately`() throws {
    try store.save("a", "")
    #expect(try apart() == [1] && store.body("a") == "")
    try store.expectSound()
  }

  @Test func `each edit moves the old body out of the record, and the new one in if it is short`() throws {
    var last = try store.save("a", text(10))
    var revisions = [last]
    let lengths = [Self.limit, Self.limit + 1, Self.limit - 1, 3000, 10]
    for length in lengths {
      last = try store.save("a", text(length, "b"), over: last.revision)
      revisions.append(last)
      #expect(try head(of: "a").bodyLength == (length <= Self.limit ? length : 0))
      #expect(try store.body("a")?.utf8.count == length)
      try store.expectSound()
    }
    // The last is in the record, all others are apart and can still be read.
    #expect(try apart() == [1, 2, 3, 4, 5])
    for (revision, length) in zip(revisions, [10] + lengths) {
      #expect(try body("\(revision.revision)", of: "a")?.count == length)
    }
    #expect(try store.reads(documents).state().superseded == 5)
    #expect(try store.sweep().bodies == 5)
    #expect(try apart() == [] && store.body("a") == text(10, "b"))
    try store.expectSound()
  }

  @Test func `two edits in one batch leave one body in the record`() throws {
    let bodies = try store.write { writer in
      let first = try writer.save("a", in: documents, body: bytes("one"), parent: nil)
      let second = try writer.save("a", in: documents, body: bytes("two"), parent: first.revision)
      let reads = try writer.reads(documents)
      return [try reads.body(at: first.sequence), try reads.body(at: second.sequence)]
    }
    #expect(bodies == [bytes("one"), bytes("two")])
    #expect(try apart() == [1] && store.body("a") == "two")
    try store.expectSound()
  }

  @Test func `when another leaf becomes the winner, one body moves out`() throws {
    try insert("a", ["2-aa", "1-aa"], "mine")
    #expect(try apart() == [])
    // The new revision loses: the body of the winner does not belong to the latest change any more.
    try insert("a", ["2-11", "1-aa"], "loser")
    #expect(try apart() == [1, 2] && store.body("a") == "mine")
    try store.expectSound()
    // The new revision wins, and its body is in the record.
    try insert("a", ["2-ff", "1-aa"], "theirs")
    #expect(try apart() == [1, 2] && store.body("a") == "theirs" && head(of: "a").bodyLength == 6)
    try store.expectSound()
    // A tombstone for the winner: the previous winner wins again.
    try store.delete("a", over: RevisionID("2-ff"))
    #expect(try store.body("a") == "mine" && head(of: "a").bodyLength == 0)
    #expect(try body("2-ff", of: "a") == bytes("theirs") && body("2-11", of: "a") == bytes("loser"))
    try store.expectSound()
    // Purging a leaf is a change, too.
    let id = try RevisionID("2-11")
    try store.write { writer in _ = try writer.purge("a", in: documents, leaves: [id]) }
    #expect(try store.body("a") == "mine")
    try store.expectSound()
    #expect(try store.sweep().bodies == 1)
    try store.expectSound()
  }

  @Test func `purging the winner removes its body`() throws {
    try insert("a", ["2-aa", "1-aa"], "mine")
    try insert("a", ["2-ff", "1-aa"], "theirs")
    let id = try RevisionID("2-ff")
    try store.write { writer in _ = try writer.purge("a", in: documents, leaves: [id]) }
    #expect(try apart() == [1] && store.body("a") == "mine")
    try store.expectSound()
    try store.write { writer in _ = try writer.purge("a", in: documents) }
    #expect(try apart() == [] && store.reads(documents).state().bodies == 0)
    #expect(try store.reads(documents).state().bodyBytes == 0)
    try store.expectSound()
  }

  @Test func `tombstones and revisions without a body are stored correctly`() throws {
    let first = try store.save("a", "text")
    try store.delete("a", over: first.revision)
    #expect(try store.reads(documents).winner(of: "a")?.head.isDeleted == true)
    try store.expectSound()
    try insert("b", ["3-bb", "2-bb"], nil)
    #expect(try store.reads(documents).winner(of: "b")?.body == nil)
    #expect(try head(of: "b").body == 0)
    // The body arrives later.
    try insert("b", ["3-bb", "2-bb"], "late")
    #expect(try store.body("b") == "late" && head(of: "b").bodyLength == 4)
    try store.expectSound()
    // The body of an ancestor is stored apart.
    try insert("b", ["2-bb"], "ancestor")
    #expect(try store.body("b") == "late" && body("2-bb", of: "b") == bytes("ancestor"))
    #expect(try head(of: "b").bodyLength == 0)
    try store.expectSound()
  }

  @Test func `equal content saved twice has two bodies`() throws {
    let first = try store.save("a", "same")
    let second = try store.save("a", "same", over: first.revision)
    #expect(second.revision != first.revision && second.sequence == 2)
    #expect(try body("\(first.revision)", of: "a") == bytes("same"))
    #expect(try apart() == [1])
    try store.expectSound()
  }

  @Test func `expiry, pruning and depth do not move the body`() throws {
    var last = try store.save("a", "0")
    for edit in 1...5 { last = try store.save("a", "\(edit)", over: last.revision) }
    try store.write { writer in try writer.setExpiry(of: "a", in: documents, clock.now + 100) }
    #expect(try store.body("a") == "5" && head(of: "a").bodyLength == 1)
    _ = try store.prune(keeping: 2)
    #expect(try store.body("a") == "5" && head(of: "a").bodyLength == 1)
    #expect(try store.reads(documents).record(of: "a")?.tree.nodes.count == 2)
    try store.expectSound()
    clock.advance(101)
    #expect(try store.purgeExpired() == 1)
    let state = try store.reads(documents).state()
    #expect(state.bodies == state.superseded && state.documents == 0)
    try store.expectSound()
  }

  @Test func `the usual number of revisions and the longest body fit in a leaf together`() throws {
    var last = try store.save("a", text(Self.limit))
    for _ in 1..<30 { last = try store.save("a", text(Self.limit), over: last.revision) }
    let records = try #require(try store.store.existingKeyspace("documents/_default"))
    let length = try #require(try store.store.get("a", in: records)).count
    #expect(try store.reads(documents).record(of: "a")?.tree.nodes.count == RevisionTree.usualDepth)
    #expect(length > Self.limit && length <= DocumentOptions().store.inlineValueLimit)
  }

  @Test func `sizes count bodies in records separately from the records`() throws {
    try store.save("a", text(100))
    try store.save("b", text(2000))
    let snapshot = try store.snapshot()
    defer { snapshot.close() }
    var sizes: [DocumentSize] = []
    try snapshot.forEachSize(in: "_default", depths: [1]) { size in
      sizes.append(size)
      return true
    }
    #expect(sizes.map(\.bodyBytes) == [100, 2000] && sizes.map(\.bodyBytesInRecord) == [100, 0])
    // The longer record contains the position of the body, the shorter one its length.
    #expect(sizes[0].recordBytes == sizes[1].recordBytes)
  }
}
