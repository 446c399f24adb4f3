import Latewood
import LatewoodSimulation
import Testing

@Suite struct ConflictTests {
  private let database: Database
  private let people: DocumentCollection

  init() throws {
    database = try Database.inMemory()
    people = try database.defaultCollection
  }

  @Test func `foreign revisions create conflicts, and merging ends them`() throws {
    let first = try people.save(MutableDocument(id: "anna", ["name": "Anna"]))
    var here = first.toMutable()
    here["city"] = "Porto"
    let mine = try people.save(here)
    var there = first.toMutable()
    there["age"] = 31
    let digest = String(repeating: "ff", count: 20)
    #expect(try people.insert(there, history: ["2-\(digest)", first.revisionID]))
    #expect(try !people.insert(there, history: ["2-\(digest)", first.revisionID]))

    let winner = try #require(try people.document("anna"))
    #expect(winner.revisionID == "2-\(digest)" && winner.hasConflicts)
    #expect(try people.conflicts(of: "anna").map(\.revisionID) == [mine.revisionID])
    #expect(try people.count(AllDocumentsQuery(onlyConflicts: true)) == 1)
    let base = try #require(try people.commonAncestor(winner, mine))
    #expect(base.revisionID == first.revisionID && base.keys == ["name"])
    #expect(try people.missingRevisions(of: "anna", among: ["3-aa", first.revisionID]).missing == ["3-aa"])

    var merged = winner.toMutable()
    merged["city"] = mine["city"]
    let result = try people.resolveConflicts(with: merged)
    #expect(try people.document("anna") == result)
    #expect(try people.document("anna")?.keys == ["age", "city", "name"])
    #expect(try people.conflicts(of: "anna").isEmpty)
    #expect(try people.document("anna")?.hasConflicts == false)
    #expect(
      try people.revisions(of: "anna").filter(\.isLeaf).map(\.isDeleted).sorted { !$0 && $1 } == [
        false, true,
      ])
    refusal(.badRevisionID) { try people.insert(there, history: ["x"]) }
    #expect(try database.verify().faults == [])
  }

  @Test func `an invalid revision id is refused, whether or not the document exists`() throws {
    try people.save(MutableDocument(id: "a"))
    for id in ["a", "none"] {
      for text in ["", "1", "1-", "-abc", "0-abc", "no revision"] {
        refusal(.badRevisionID) { _ = try people.document(id, revision: text) }
      }
      #expect(try people.document(id, revision: "1-" + String(repeating: "a", count: 40)) == nil)
    }
    // A local document has no revisions, regardless of its name.
    for name in ["a", "none"] {
      try people.setLocalDocument(name, ["n": 1])
      let document = try people.localDocument(name)
      #expect(document?["n"].int == 1)
    }
  }

  @Test func `one of several conflicting revisions can be chosen`() throws {
    for digest in ["aa", "bb", "cc"] {
      try people.insert(MutableDocument(id: "anna", ["from": .init(digest)]), history: ["1-\(digest)"])
    }
    #expect(try people.conflicts(of: "anna").map(\.revisionID) == ["1-bb", "1-aa"])
    let chosen = try #require(try people.document("anna", revision: "1-aa"))
    try people.resolveConflicts(choosing: chosen)
    #expect(try people.document("anna")?.revisionID == "1-aa")
    #expect(try people.conflicts(of: "anna").isEmpty)
    #expect(try people.purge("anna", leaves: ["1-aa", "9-ff"]) == ["1-aa"])
    #expect(try people.document("anna") == nil)
  }

  @Test func `a compaction removes old content, but not the content of conflicts`() throws {
    let directory = try TemporaryDirectory()
    let database = try Database.open(at: directory.file)
    let people = try database.defaultCollection
    let first = try people.save(MutableDocument(id: "anna", ["n": 1]))
    var next = first.toMutable()
    next["n"] = 2
    try people.save(next)
    try people.insert(MutableDocument(id: "anna", ["n": 3]), history: ["2-00", first.revisionID])
    #expect(try people.document("anna", revision: first.revisionID)?.int("n") == 1)
    try database.compact()
    #expect(try people.document("anna", revision: first.revisionID) == nil)
    #expect(try people.revisions(of: "anna").count == 3)
    #expect(try people.conflicts(of: "anna").map { $0.int("n") } == [3])
    #expect(try people.document("anna")?.int("n") == 2)
    #expect(try database.verify().faults == [])
    try database.close()
  }

  @Test func `a save of an old revision becomes a branch if that is allowed`() throws {
    let first = try people.save(MutableDocument(id: "plan", ["text": "one"]))
    var (mine, theirs) = (first.toMutable(), first.toMutable())
    mine["text"] = "mine"
    theirs["text"] = "theirs"
    let saved = try people.save(mine)
    refusal(.conflict) { try people.save(theirs) }
    let branch = try people.saveAllowingConflict(theirs)
    #expect(branch["text"].string == "theirs" && branch.hasConflicts)
    let winner = try #require(try people.document("plan"))
    #expect(winner.revisionID == max(saved.revisionID, branch.revisionID) && winner.hasConflicts)
    #expect(
      try Set(people.conflicts(of: "plan").map(\.revisionID) + [winner.revisionID])
        == [saved.revisionID, branch.revisionID])
    #expect(try people.commonAncestor(saved, branch)?.revisionID == first.revisionID)
    // The same change of the same revision is the same revision.
    #expect(try people.saveAllowingConflict(theirs).revisionID == branch.revisionID)
    #expect(try people.saveAllowingConflict(mine).revisionID == saved.revisionID)
    // A current revision is edited as by any save.
    var next = branch.toMutable()
    next["text"] = "later"
    #expect(try people.saveAllowingConflict(next).revisionID.hasPrefix("3-"))
    #expect(try people.revisions(of: "plan").count == 4)
    // A deletion can be a branch.
    var deletion = first.toMutable()
    deletion.isDeleted = true
    #expect(try people.saveAllowingConflict(deletion).isDeleted)
    #expect(try people.document("plan")?["text"].string == "later")
    try people.resolveConflicts(choosing: #require(try people.document("plan")))
    #expect(try people.conflicts(of: "plan").isEmpty)
    #expect(try database.verify().faults == [])
  }

  @Test func `a branch needs a revision that is kept`() async throws {
    try await database.setRevisionDepth(2)
    var document = try await people.saveAllowingConflict(MutableDocument(id: "a", ["n": 0]))
    let first = document
    refusal(.conflict) { try people.saveAllowingConflict(MutableDocument(id: "a", ["n": 0])) }
    for number in 1..<4 {
      var copy = document.toMutable()
      copy["n"].int = number
      document = try await people.save(copy)
    }
    var old = first.toMutable()
    old["n"] = 9
    refusal(.conflict) { try people.saveAllowingConflict(old) }
    refusal(.notFound) {
      try people.purge("a")
      try people.saveAllowingConflict(old)
    }
    #expect(try await database.verify().faults == [])
  }
}
