import Dispatch
import Latewood
import LatewoodConcurrency
import Testing

/// Revision ids are digests of content, so equal edits have equal ids. A save never mistakes the
/// edit of somebody else for its own.
@Suite struct EqualEditTests {
  private let database: Database
  private let people: DocumentCollection

  init() throws {
    database = try Database.inMemory()
    people = try database.defaultCollection
  }

  @Test func `the second of two equal edits of one revision is a conflict`() throws {
    let first = try people.save(MutableDocument(id: "visits", ["n": 5]))
    var mine = first.toMutable()
    mine["n"] = 6
    var other = first.toMutable()
    other["n"] = 6
    let saved = try people.save(mine)
    refusal(.conflict) { try people.save(other) }
    #expect(try people.lastSequence == saved.sequence)
    let counted = try people.save(other) { other, current in
      #expect(current == saved, "the handler is asked")
      other["n"].int = (current?.int("n") ?? 0) + 1
      return true
    }
    #expect(counted?.int("n") == 7)
    #expect(try people.save(mine, .lastWriteWins).revisionID.hasPrefix("4-"))
  }

  @Test func `the second of two equal documents with one id is a conflict`() throws {
    let lock = try MutableDocument(id: "lock", ["held": true])
    try people.save(lock)
    refusal(.conflict) { try people.save(lock) }
    let asked = try people.save(lock) { _, current in
      #expect(current?["held"].bool == true)
      return false
    }
    #expect(asked == nil)
    #expect(try people.delete("lock"))
    let again = try people.save(lock)
    #expect(again.revisionID.hasPrefix("3-"))
    refusal(.conflict) { try people.save(lock) }
    #expect(try people.lastSequence == 3)
  }

  @Test func `a document can be deleted once, and a stale revision cannot be deleted`() throws {
    let first = try people.save(MutableDocument(id: "anna", ["n": 1]))
    try people.delete(first)
    refusal(.notFound) { try people.delete(first) }
    refusal(.notFound) { try people.delete(first, keeping: ["why": "again"]) }
    refusal(.notFound) { try people.delete(first, .lastWriteWins) }
    #expect(try people.lastSequence == 2)
    let second = try people.save(MutableDocument(id: "anna", ["n": 1]))
    refusal(.conflict) { try people.delete(first) }
    try people.delete(first, .lastWriteWins)
    #expect(try !people.contains("anna"))
    #expect(try people.parent(of: second)?.isDeleted == true)
  }

  @Test func `a batch that saves equal content twice needs the revision of the first save`() throws {
    try database.inBatch {
      let draft = try MutableDocument(id: "anna", ["n": 1])
      let first = try people.save(draft)
      refusal(.conflict) { try people.save(draft) }
      let second = try people.save(first.toMutable())
      #expect(second.revisionID.hasPrefix("2-") && second.sequence == 2)
      refusal(.conflict) { try people.save(first.toMutable()) }
    }
    #expect(try people.document("anna")?.revisionID.hasPrefix("2-") == true)
    #expect(try database.verify().faults == [])
  }

  @Test func `every last-write-wins save adds a revision, even with equal content`() throws {
    struct Person: Codable { var name = "Anna" }
    for generation in 1...3 {
      #expect(try people.save(Person(), as: "anna").revisionID.hasPrefix("\(generation)-"))
    }
    let draft = try MutableDocument(id: "bert", ["n": 1])
    #expect(try people.save(draft, .lastWriteWins).revisionID.hasPrefix("1-"))
    #expect(try people.save(draft, .lastWriteWins).revisionID.hasPrefix("2-"))
  }

  @Test func `equal edits on two replicas are one revision, and it is inserted only once`() throws {
    let other = try Database.inMemory()
    let theirs = try other.defaultCollection
    let first = try people.save(MutableDocument(id: "anna", ["n": 5]))
    var edit = first.toMutable()
    edit["n"] = 6
    try theirs.insert(MutableDocument(id: "anna", ["n": 5]), history: [first.revisionID])
    let here = try people.save(edit)
    let there = try theirs.save(edit)
    #expect(here.revisionID == there.revisionID)
    #expect(try !people.insert(edit, history: [there.revisionID, first.revisionID]))
    #expect(try people.lastSequence == 2)
    #expect(try people.revisions(of: "anna") == theirs.revisions(of: "anna"))
  }

  /// A revision that another replica sent without its history may be the very edit that is made
  /// here.
  @Test func `an edit that arrived without its parent is linked to it, not duplicated`() throws {
    let source = try Database.inMemory().defaultCollection
    let first = try source.save(MutableDocument(id: "anna", ["n": 1]))
    var edit = first.toMutable()
    edit["n"] = 2
    let second = try source.save(edit)
    try source.delete(second)
    let deletion = try #require(try source.revisions(of: "anna").first)
    try people.insert(
      MutableDocument(id: "anna"), history: [deletion.id, second.revisionID], isDeleted: true)
    try people.insert(MutableDocument(id: "anna", ["n": 1]), history: [first.revisionID])
    let here = try #require(try people.document("anna"))
    #expect(here == first)
    var mine = here.toMutable()
    mine["n"] = 2
    let saved = try people.save(mine)
    #expect(saved.revisionID.hasPrefix("4-"), "it goes on from the deletion")
    #expect(try people.document("anna") == saved)
    let revisions = try people.revisions(of: "anna")
    #expect(Set(revisions.map(\.id)).count == revisions.count)
    #expect(revisions.count(where: \.isLeaf) == 1)
    #expect(try database.verify().faults == [])
  }

  @Test func `when eight threads save the same lock document, one succeeds`() throws {
    for round in 0..<50 {
      let group = DispatchGroup()
      let holders = Guarded(0)
      let people = people
      for thread in 0..<8 {
        DispatchQueue(label: "thread \(thread)").async(group: group) {
          do {
            try people.save(MutableDocument(id: "lock \(round)", ["held": true]))
            holders.withLock { $0 += 1 }
          } catch {
            if (error as? DatabaseError)?.code != .conflict { Issue.record(error) }
          }
        }
      }
      group.wait()
      #expect(holders.withLock { $0 } == 1)
    }
  }

  @Test func `a document saved while in conflict reports the conflict`() throws {
    let first = try people.save(MutableDocument(id: "anna", ["n": 1]))
    var edit = first.toMutable()
    edit["n"] = 2
    #expect(try people.save(edit).hasConflicts == false)
    try people.insert(MutableDocument(id: "anna", ["n": 3]), history: ["2-00", first.revisionID])
    let winner = try #require(try people.document("anna"))
    #expect(winner.hasConflicts)
    let saved = try people.save(winner.toMutable())
    #expect(saved.hasConflicts)
    let loser = try #require(try people.conflicts(of: "anna").first)
    #expect(try people.save(loser.toMutable()).hasConflicts)
    let merged = try #require(try people.document("anna")).toMutable()
    #expect(try !people.resolveConflicts(with: merged).hasConflicts)
    #expect(try people.document("anna")?.hasConflicts == false)
  }

  @Test func `a revision equals itself however it was read`() throws {
    let first = try people.save(MutableDocument(id: "anna", ["n": 1]))
    try people.insert(MutableDocument(id: "anna", ["n": 0]), history: ["1-00"])
    let read = try #require(try people.document("anna"))
    #expect(read.revisionID == first.revisionID && read.sequence != first.sequence)
    #expect(read == first)
    #expect(try people.document("anna", revision: first.revisionID) == read)
    let other = try Database.inMemory().defaultCollection
    try other.save(MutableDocument(id: "bert"))
    #expect(try other.save(MutableDocument(id: "anna", ["n": 1])) == first)
    #expect(try other.document("bert") != first)
  }
}
