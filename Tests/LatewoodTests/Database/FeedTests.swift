import Dispatch
import Foundation
import Latewood
import LatewoodConcurrency
import Testing

@Suite struct FeedTests {
  private let database: Database
  private let people: DocumentCollection

  init() throws {
    database = try Database.inMemory()
    people = try database.defaultCollection
  }

  @Test func `the feed has each document once, at its latest change`() throws {
    for id in ["a", "b", "c"] { try people.save(MutableDocument(id: id, ["id": .init(id)])) }
    try people.update("a") { document in
      document["again"] = true
      return true
    }
    try people.delete("b")
    #expect(try people.changes().map(\.id) == ["c", "a", "b"])
    #expect(try people.changes().map(\.isDeleted) == [false, false, true])
    #expect(try people.changes(since: 4).map(\.sequence) == [5])
    #expect(try people.changes(limit: 1, descending: true).map(\.id) == ["b"])
    #expect(try people.changes(where: { $0.id != "a" }).map(\.id) == ["c", "b"])
    let full = try people.changes(FeedOptions(includesDocuments: true, includesAllLeaves: true))
    #expect(full[1].document?["again"].bool == true)
    #expect(full[1].leaves == [full[1].revisionID])
    #expect(full[2].document?.isDeleted == true)
  }

  @Test func `a live feed neither misses nor repeats changes`() async throws {
    let total = 400
    for number in 0..<100 { try await people.save(MutableDocument(id: "\(number)")) }
    let (database, people) = (database, people)
    DispatchQueue(label: "writer").async {
      do {
        for number in 100..<total {
          try people.save(MutableDocument(id: "\(number)"))
          if number % 50 == 0 {
            try database.inBatch { try people.save(MutableDocument(id: "batch \(number)")) }
          }
        }
        try people.save(MutableDocument(id: "end"))
      } catch { Issue.record(error) }
    }
    var seen: [String] = []
    var last: UInt64 = 0
    for try await change in people.feed() {
      #expect(change.sequence > last)
      last = change.sequence
      seen.append(change.id)
      if change.id == "end" { break }
    }
    #expect(Set(seen).count == seen.count)
    #expect(Set(seen).isSuperset(of: (0..<total).map { "\($0)" }))
    #expect(seen.count == total + 6 + 1)
  }

  @Test func `an entry of a live feed has the document of its revision, never a newer one`() async throws {
    for id in ["a", "b", "c"] { try await people.save(MutableDocument(id: id, ["n": 1])) }
    var feed = people.feed(FeedOptions(includesDocuments: true, includesAllLeaves: true)).makeAsyncIterator()
    #expect(try await feed.next()?.id == "a")
    // The feed has read these entries, but not returned them.
    for id in ["b", "c"] {
      try await people.update(id) { document in
        document["n"] = 2
        return true
      }
    }
    try await people.purge("c")
    try await people.save(MutableDocument(id: "d"))
    var seen: [String] = []
    while seen.last != "d", let entry = try await feed.next() {
      seen.append(entry.id)
      #expect(entry.document?.revisionID == entry.revisionID && entry.document?.sequence == entry.sequence)
      #expect(entry.leaves == [entry.revisionID])
      if entry.id == "b" { #expect(entry.document?.int("n") == 2) }
    }
    #expect(seen == ["b", "d"])
  }

  @Test func `listeners are called after the commit, in order, and not after they are cancelled`() throws {
    let queue = DispatchQueue(label: "listener")
    let told = Guarded<[String]>([])
    let all = try database.addListener(on: queue) { change in
      told.withLock { $0.append("\(change.collection): " + change.entries.map(\.id).joined(separator: " ")) }
    }
    let one = try people.addListener(for: "b", on: queue) { entry in
      told.withLock { $0.append("b \(entry.reason)") }
    }
    try people.save(MutableDocument(id: "a"))
    try database.inBatch {
      try people.save(MutableDocument(id: "b"))
      try people.save(MutableDocument(id: "c"))
      queue.sync {}
      #expect(told.withLock { $0.count } == 1)
    }
    try people.insert(MutableDocument(id: "b", ["lost": true]), history: ["1-00"])
    try people.purge("b")
    queue.sync {}
    #expect(
      told.withLock { $0 } == [
        "_default: a", "_default: b c", "b saved", "_default: b", "b saved", "_default: b", "b purged",
      ])
    one.cancel()
    all.cancel()
    try people.save(MutableDocument(id: "b"))
    queue.sync {}
    #expect(told.withLock { $0.count } == 7)
  }

  @Test func `a change reports the revision it added, and whether a replica made it`() throws {
    let queue = DispatchQueue(label: "listener")
    let told = Guarded<[CollectionChange.Entry]>([])
    let token = try people.addListener(on: queue) { change in
      told.withLock { $0 += change.entries }
    }
    let first = try people.save(MutableDocument(id: "a", ["n": 1]))
    try people.insert(MutableDocument(id: "a", ["n": 2]), history: ["1-00"])
    try people.insert(MutableDocument(id: "a", ["n": 3]), history: ["3-ab", "2-cd", "1-00"])
    try database.inBatch {
      try people.insert(MutableDocument(id: "a", ["n": 4]), history: ["1-01"])
      try people.resolveConflicts(choosing: #require(try people.document("a")))
    }
    try people.purge("a")
    // The ancestors of a known revision do not count as added revisions.
    try people.insert(MutableDocument(id: "b"), history: ["2-ab"])
    try people.insert(MutableDocument(id: "b"), history: ["2-ab", "1-cd"])
    queue.sync {}
    let changes = told.withLock { $0 }
    try #require(changes.count == 7)
    #expect(changes[5].addedRevisionID == "2-ab" && changes[5].isFromReplica)
    #expect(changes[6].addedRevisionID == nil && changes[6].reason == .saved)
    #expect(changes[0].addedRevisionID == first.revisionID && !changes[0].isFromReplica)
    // A losing revision.
    #expect(changes[1].addedRevisionID == "1-00" && changes[1].isFromReplica)
    #expect(changes[1].revisionID == first.revisionID)
    #expect(changes[2].addedRevisionID == "3-ab" && changes[2].isFromReplica)
    // The last one of a batch, which was made here.
    #expect(changes[3].addedRevisionID != nil && !changes[3].isFromReplica)
    #expect(changes[4].addedRevisionID == nil && !changes[4].isFromReplica && changes[4].reason == .purged)
    token.cancel()
  }

  @Test func `a dropped collection accepts no listener, even if its name is reused`() throws {
    let old = try database.createCollection("notes")
    let told = Guarded<[String]>([])
    let queue = DispatchQueue(label: "listener")
    let token = try old.addListener(on: queue) { change in
      told.withLock { $0.append(change.isDropped ? "dropped" : "changed") }
    }
    try database.dropCollection("notes")
    for isAlone in [true, false] {
      if !isAlone { _ = try database.createCollection("notes") }
      refusal(.notFound) { _ = try old.addListener { _ in told.withLock { $0.append("all") } } }
      refusal(.notFound) { _ = try old.addListener(for: "a") { _ in told.withLock { $0.append("one") } } }
    }
    let new = try #require(try database.collection("notes"))
    try new.save(MutableDocument(id: "a"))
    queue.sync {}
    #expect(told.withLock { $0.first } == "dropped")
    #expect(told.withLock { !$0.contains("all") && !$0.contains("one") })
    token.cancel()
    try new.addListener { _ in }.cancel()
  }

  @Test func `all documents can be listed by range and prefix`() throws {
    for id in ["a1", "a2", "b1", "b2", "c"] { try people.save(MutableDocument(id: id)) }
    try people.delete("a2")
    #expect(try people.documentIDs() == ["a1", "b1", "b2", "c"])
    #expect(try people.documentIDs(AllDocumentsQuery(descending: true)) == ["c", "b2", "b1", "a1"])
    #expect(try people.documentIDs(AllDocumentsQuery(prefix: "b")) == ["b1", "b2"])
    #expect(
      try people.documentIDs(AllDocumentsQuery(from: "a2", through: "b1", includesDeleted: true)) == [
        "a2", "b1",
      ])
    #expect(try people.documentIDs(AllDocumentsQuery(from: "b2", prefix: "b", limit: 1)) == ["b2"])
    #expect(try people.count(AllDocumentsQuery(prefix: "a")) == 1)
    #expect(try people.count(AllDocumentsQuery(prefix: "a", includesDeleted: true)) == 2)
    #expect(try people.documents(AllDocumentsQuery(limit: 2)).map(\.id) == ["a1", "b1"])
    #expect(try people.documents(AllDocumentsQuery(limit: 0)).isEmpty)
  }

  @Test func `local documents appear in no feed`() throws {
    try people.setLocalDocument("checkpoint", ["last": 7])
    #expect(try people.localDocument("checkpoint")?["last"].int == 7)
    #expect(try people.localDocumentNames == ["checkpoint"])
    #expect(try people.changes().isEmpty && people.count == 0)
    #expect(try people.deleteLocalDocument("checkpoint"))
    #expect(try people.localDocument("checkpoint") == nil)
  }
}
