import Foundation
import Latewood
import Testing

/// Ids that no document can have, and handles of dropped collections.
@Suite struct ImpossibleIDTests {
  struct Person: Codable, Identifiable, Sendable {
    var id: String
    var name = ""
  }

  private static let ids = ["", String(repeating: "x", count: 16_385), String(repeating: "é", count: 40_000)]

  @Test func `reads find nothing, and changes are refused`() throws {
    let database = try Database.inMemory()
    let people = try database["people"]
    try people.save(MutableDocument(id: "anna", ["n": 1]))
    for id in Self.ids {
      #expect(try people.document(id) == nil && people[id] == nil)
      #expect(try !people.contains(id))
      #expect(try people.revisions(of: id).isEmpty && people.conflicts(of: id).isEmpty)
      #expect(try people.document(id, revision: "1-abc") == nil)
      #expect(try people.missingRevisions(of: id, among: ["1-abc"]).missing == ["1-abc"])
      #expect(try people.expiration(of: id) == nil && people.localDocument(id) == nil)
      #expect(try people.decode(Person.self, from: id) == nil)
      #expect(try people.query().where { $0.documentID == id }.all().isEmpty)
      #expect(try people.documents(AllDocumentsQuery(from: id, limit: 1)).count == (id == "" ? 1 : 0))
      refusal(.badDocumentID) { _ = try people.mutableDocument(id) }
      refusal(.badDocumentID) { try people.update(id) { $0["n"] = 1 } }
      refusal(.badDocumentID) { try people.purge(id) }
      refusal(.badDocumentID) { try people.purge(id, leaves: []) }
      refusal(.badDocumentID) { try people.delete(id) }
      refusal(.badDocumentID) { try people.setExpiration(of: id, Date()) }
      refusal(.badDocumentID) { try people.expire(id, after: .seconds(1)) }
      refusal(.badDocumentID) { try people.setLocalDocument(id, [:]) }
      refusal(.badDocumentID) { try people.deleteLocalDocument(id) }
      try database.inBatch {
        #expect(try people.document(id) == nil && !people.contains(id))
        #expect(try people.revisions(of: id).isEmpty && people.expiration(of: id) == nil)
        refusal(.badDocumentID) { try people.purge(id) }
        try people.update("anna") { $0["n"] = 2 }
      }
      let typed = try database.collection("people", of: Person.self)
      #expect(try typed.document(id) == nil && typed[id] == nil && !typed.contains(id))
      #expect(try typed.expiration(of: id) == nil)
    }
    // The longest key of the store cannot be an id either, but reads and purges accept it.
    let long = String(repeating: "x", count: 16_384)
    #expect(try people.document(long) == nil && !people.purge(long))
    #expect(try database.verify().faults == [])
  }

  @Test func `reads in the background find nothing either`() async throws {
    let database = try Database.inMemory()
    _ = try database["people"]
    for id in Self.ids {
      try await database.background { state in
        let people = try state["people"]
        #expect(try people.document(id) == nil && !people.contains(id))
        try people.requireUnchanged(id)
        let typed = try state.collection("people", of: Person.self)
        #expect(try typed.document(id) == nil && !typed.contains(id))
      }
      let found: Document? = try await database["people"].document(id)
      #expect(found == nil)
    }
  }

  @Test func `errors about a dropped collection and an ended batch speak of documents`() throws {
    let database = try Database.inMemory()
    let people = try database.createCollection("people")
    try people.save(MutableDocument(id: "anna"))
    try people.createIndex("name", on: ["name"])
    try database.dropCollection("people")
    func check(_ body: () throws -> Void) {
      let error = refusal(.notFound, body)
      #expect(error?.description.contains("keyspace") == false, "\(error?.description ?? "")")
      #expect(error?.message.contains("dropped") == true, "\(error?.description ?? "")")
    }
    func checkAll() {
      check { _ = try people.document("anna") }
      check { _ = try people.contains("anna") }
      check { _ = try people.count }
      check { _ = try people.documents() }
      check { _ = try people.changes() }
      check { _ = try people.query().where { $0["name"] == "x" }.all() }
      check { _ = try people.query().all() }
      check { try people.save(MutableDocument(id: "ben")) }
      check { try people.purge("anna") }
      check { _ = try people.localDocument("x") }
      check { _ = try people.expirations() }
      check { try people.createIndex("name", on: ["name"]) }
    }
    checkAll()
    try database.inBatch { checkAll() }
    try database.inBatch {
      for call in [{ try database.close() }, { _ = try database.dropCollection("_default") }] {
        let error = refusal(.busy, call)
        #expect(error?.advice.contains("process") == false && error?.advice.contains("batch") == true)
      }
    }
  }
}
