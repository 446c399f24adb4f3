import Latewood
import LatewoodSimulation
import Testing

/// Revisions of other databases, whose digests may be any text: every replica keeps their names
/// unchanged, and chooses the same winner.
@Suite struct ForeignRevisionTests {
  private static let longest = String(repeating: "Z", count: 46)
  /// The longest digest of hexadecimal digits.
  private static let longestDigits = String(repeating: "9f", count: 32)
  /// Leaves by their order as winners, the least one first.
  private static let leaves = [
    "2-5AC", "2-5ac", "2-5ac0", "2-\(longestDigits)", "2-Abc-def", "2-abc-def", "2-\(longest.lowercased())",
    "2-é🍐", "10-0",
    "10-00", "10-x",
  ]

  private static func document(_ name: String) throws -> MutableDocument {
    try MutableDocument(id: "anna", ["from": .init(name)])
  }

  private static func fill(_ people: DocumentCollection, _ leaves: [String]) throws {
    for leaf in leaves {
      // Only a revision without its history may skip generations.
      let history = leaf.hasPrefix("2-") ? [leaf, "1-5ac"] : [leaf]
      #expect(try people.insert(try document(leaf), history: history), "\(leaf)")
      #expect(try !people.insert(try document(leaf), history: history), "\(leaf)")
    }
  }

  /// Checks every property of the document that can be queried.
  private static func check(_ database: Database, without gone: Set<String> = []) throws {
    let people = try database.defaultCollection
    let expected = leaves.filter { !gone.contains($0) }
    let winner = try #require(try people.document("anna"))
    #expect(winner.revisionID == expected.last && winner["from"].string == expected.last)
    #expect(try people.conflicts(of: "anna").map(\.revisionID) == expected.dropLast().reversed())
    for leaf in expected {
      #expect(try people.document("anna", revision: leaf)?["from"].string == leaf)
    }
    #expect(try people.document("anna", revision: "2-5Ac") == nil)
    let missing = try people.missingRevisions(of: "anna", among: expected + ["2-5aC", "2-xyz"]).missing
    #expect(missing.sorted() == ["2-5aC", "2-xyz"])
    #expect(try people.changes(since: 0).map(\.revisionID) == [winner.revisionID])
    #expect(try database.verify().faults == [])
  }

  @Test func `the winner does not depend on the order of arrival`() throws {
    let seed = SeededRandom.seed()
    var random = SeededRandom(seed: seed)
    for _ in 0..<20 {
      let database = try Database.inMemory()
      var order = Self.leaves
      for index in order.indices { order.swapAt(index, index + random.below(order.count - index)) }
      try Self.fill(try database.defaultCollection, order)
      try Self.check(database)
    }
  }

  @Test func `revisions keep their names when the file is opened, compacted and copied`() throws {
    let directory = try TemporaryDirectory()
    do {
      let database = try Database.open(at: directory.file)
      try Self.fill(try database.defaultCollection, Self.leaves)
      try Self.check(database)
      try database.close()
    }
    do {
      let database = try Database.open(at: directory.file)
      try Self.check(database)
      try database.compact()
      try Self.check(database)
      try database.close()
    }
    let copy = directory.path + "/copy.latewood"
    try Database.copy(from: directory.file, to: copy)
    let database = try Database.open(at: copy, mode: .readOnly)
    try Self.check(database)
    try database.close()
  }

  @Test func `a foreign revision is edited, purged and resolved like any other`() throws {
    let database = try Database.inMemory()
    let people = try database.defaultCollection
    try people.insert(try Self.document("there"), history: ["1-5ac"])
    var edited = try #require(try people.document("anna")).toMutable()
    edited["from"] = "here"
    let saved = try people.save(edited)
    #expect(saved.revisionID.hasPrefix("2-02") && saved.revisionID.count == 36)
    #expect(try people.revisions(of: "anna").map(\.id) == [saved.revisionID, "1-5ac"])
    refusal(.conflict) { try people.save(edited) }

    try people.insert(try Self.document("there"), history: ["2-zzz", "1-5ac"])
    let winner = try #require(try people.document("anna"))
    #expect(winner.revisionID == "2-zzz" && winner.hasConflicts)
    try people.resolveConflicts(choosing: winner)
    #expect(try people.document("anna")?.hasConflicts == false)
    #expect(try people.document("anna")?.revisionID == "2-zzz")

    let (low, high) = ("1-" + Self.longest, "1-" + Self.longest.lowercased())
    let bea = try MutableDocument(id: "bea", [:])
    for id in [low, high] { try people.insert(bea, history: [id]) }
    #expect(try people.document("bea")?.revisionID == high)
    #expect(try people.purge("bea", leaves: [high]) == [high])
    #expect(try people.document("bea")?.revisionID == low)
    #expect(try database.verify().faults == [])
  }

  @Test(arguments: [
    "1-", "0-abc", "1-a\nb", "1-\u{0}", "1-\u{85}", "1-\(longest)Z", "1-\(longest)é", "1-\(longestDigits)a",
    "1-\(longestDigits)aa",
  ])
  func `a text that cannot name a revision is refused with a reason`(_ id: String) throws {
    let people = try Database.inMemory().defaultCollection
    refusal(.badRevisionID) { try people.insert(try Self.document("x"), history: [id]) }
    #expect(try people.count == 0)
  }
}
