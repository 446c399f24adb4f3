import Foundation
import Latewood
import LatewoodSimulation
import Testing

/// Collections in scopes.
@Suite struct ScopeTests {
  private let directory: TemporaryDirectory
  private let database: Database

  init() throws {
    directory = try TemporaryDirectory()
    database = try Database.open(at: directory.file)
  }

  @Test func `collections with the same name in different scopes are independent`() throws {
    let plain = try database.createCollection("people")
    let staff = try database.createCollection("people", scope: "hr")
    let guests = try database.createCollection("people", scope: "Hotel-1")
    try plain.save(MutableDocument(id: "a", ["in": "plain"]))
    try staff.save(MutableDocument(id: "a", ["in": "hr"]))
    try staff.createIndex("in", on: ["in"])
    #expect(try guests.count == 0 && staff.document("a")?["in"].string == "hr")
    #expect(staff.name == "hr.people" && staff.scopeName == "hr" && plain.scopeName == "_default")
    #expect(try database.collection("hr.people")?.identity == staff.identity)
    #expect(try database["hr.people"].identity == staff.identity)
    #expect(try database.collection("people", scope: "_default")?.identity == plain.identity)
    #expect(try database.collection("people", scope: "none") == nil)
    #expect(try database.scopeNames == ["Hotel-1", "_default", "hr"])
    #expect(try database.collectionNames == ["Hotel-1.people", "_default", "hr.people", "people"])
    #expect(try database.collectionNames(in: "hr") == ["people"])
    #expect(try database.collectionNames(in: "_default") == ["_default", "people"])
    #expect(try database.collectionNames(in: "h") == [] && database.collectionNames(in: "hr.people") == [])
    #expect(try database.collectionNames(in: "none") == [] && database.collectionNames(in: "") == [])
    #expect(try database.verify().isSound)
    try database.close()
    let again = try Database.open(at: directory.file)
    #expect(try again.collection("people", scope: "hr")?.indexes.map(\.count) == [1])
    #expect(try again.dropCollection("people", scope: "hr"))
    #expect(try !again.dropCollection("people", scope: "hr"))
    #expect(try again.scopeNames == ["Hotel-1", "_default"])
    #expect(try again.collection("people")?.count == 1)
  }

  @Test func `the asynchronous forms create and drop the same collections`() async throws {
    let staff = try await database.createCollection("people", scope: "hr")
    #expect(try database.collection("people", scope: "hr")?.identity == staff.identity)
    #expect(try await database.dropCollection("people", scope: "hr"))
    #expect(try await !database.dropCollection("people", scope: "hr"))
  }

  @Test func `invalid names are refused, by the same rules for both parts`() throws {
    let long = String(repeating: "a", count: 251)
    let longest = try database.createCollection(long, scope: long)
    #expect(longest.scopeName == long)
    for name in ["", ".", "a.", ".a", "a.b.c", "_a.b", "a._b", "a._default", "_default.a", "a b.c", "%a.b"] {
      refusal(.invalidParameter) { _ = try database.createCollection(name) }
    }
    for (name, scope) in [
      ("a", ""), ("", "a"), ("a.b", "_default"), ("a.b", "c"), ("a", "b.c"), ("a", "_b"), ("_default", "a"),
      (long + "a", "a"), ("a", long + "a"),
    ] {
      refusal(.invalidParameter) { _ = try database.createCollection(name, scope: scope) }
      refusal(.invalidParameter) { _ = try database.collection(name, scope: scope) }
    }
    #expect(try database.scopeNames == ["_default", long])
  }
}
