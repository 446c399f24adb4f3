import LatewoodDocuments
import LatewoodSimulation
import Testing

@testable import LatewoodServing

@Suite struct DatabaseNamesTests {
  @Test(arguments: [
    ("notes", "notes"), ("my$notes", "myNotes"), ("home$-notes", "home.notes"), ("$a$b", "AB"),
    ("a/b", "a%2Fb"), ("a$", "a%24"), ("a$$b", "a%24B"), ("a$()+-/_0", "a%24%28%29%2B-%2F_0"),
    ("_default", "_default"),
  ])
  func `a database has the name of its collection in CouchDB's characters`(
    database: String, collection: String
  ) {
    #expect(DatabaseNames.collection(of: database) == collection)
    #expect(DatabaseNames.database(of: collection) == database)
  }

  @Test(arguments: [
    "", "_users", "1a", "A", "a.b", "a!", "ä", "a b", "a$-", "$-a", "a$-b$-c", "a%2Fb",
    String(repeating: "a", count: 239),
  ])
  func `other names are refused`(name: String) {
    #expect(DatabaseNames.collection(of: name) == nil)
    #expect(DatabaseNames.objection(to: name)?.status == 400)
  }

  @Test func `two collections never have the same database`() {
    var random = SeededRandom(seed: SeededRandom.seed(38))
    let pieces = ["a", "z", "A", "Z", "0", "_", "-", ".", "%", "%2F", "%24", "%2f", "24", "$", "/", "+"]
    var databases: [String: String] = [:]
    for _ in 0..<5000 {
      let name = (0...random.below(5)).map { _ in random.pick(pieces) }.joined()
      if let collection = DatabaseNames.collection(of: name) {
        #expect(NameRules.objection(toCollection: collection) == nil, "\(name) \(random.replay)")
        #expect(DatabaseNames.database(of: collection) == name, "\(name) \(random.replay)")
      }
      if NameRules.objection(toCollection: name) == nil, let database = DatabaseNames.database(of: name) {
        #expect(databases[database] ?? name == name, "\(database) \(random.replay)")
        databases[database] = name
      }
    }
    #expect(databases.count > 200)
  }
}
