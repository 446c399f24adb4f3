import Dispatch
import Foundation
import Latewood
import Testing

@Suite struct SavingTests {
  private let database: Database
  private let people: DocumentCollection

  init() throws {
    database = try Database.inMemory()
    people = try database.defaultCollection
  }

  @Test func `a saved document can be read, changed and deleted`() throws {
    var anna = try MutableDocument(id: "anna", ["name": "Anna", "address": ["city": "Porto"]])
    let first = try people.save(anna)
    #expect(first.revisionID.hasPrefix("1-") && first.sequence == 1)
    #expect(try people.document("anna") == first)
    #expect(people["anna"]?["address"]["city"].string == "Porto")

    anna = first.toMutable()
    anna["address"]["city"] = "Lisboa"
    let second = try people.save(anna)
    #expect(second.revisionID.hasPrefix("2-") && second.sequence == 2)
    #expect(try people.document("anna")?["address"]["city"].string == "Lisboa")
    #expect(try people.document("anna", revision: first.revisionID)?["address"]["city"].string == "Porto")
    #expect(try people.parent(of: second) == first)
    #expect(try people.count == 1)

    try people.delete(second, keeping: ["why": "moved"])
    #expect(try people.document("anna") == nil)
    #expect(try !people.contains("anna") && people.count == 0)
    refusal(.notFound) { try people.delete(second) }
    #expect(try !people.delete("anna"))
    let again = try people.save(MutableDocument(id: "anna", ["name": "Anna"]))
    #expect(again.revisionID.hasPrefix("4-"))
    #expect(try people.purge("anna"))
    #expect(try people.revisions(of: "anna") == [])
    #expect(try people.lastSequence == 4)
    #expect(try database.verify().faults == [])
  }

  @Test func `saving over another's change is a conflict`() throws {
    let first = try people.save(MutableDocument(id: "anna", ["n": 1]))
    var mine = first.toMutable()
    mine["n"] = 2
    var other = first.toMutable()
    other["n"] = 3
    try people.save(other)
    refusal(.conflict) { try people.save(mine) }
    refusal(.conflict) { try people.save(MutableDocument(id: "anna")) }
    #expect(try people.document("anna")?.int("n") == 3)

    let merged = try people.save(mine) { mine, current in
      mine["n"].int = mine.int("n") + (current?.int("n") ?? 0)
      return true
    }
    #expect(merged?.int("n") == 5 && merged?.revisionID.hasPrefix("3-") == true)
    let refused = try people.save(mine) { _, _ in false }
    #expect(refused == nil)
    let last = try people.save(mine, .lastWriteWins)
    #expect(last.int("n") == 2 && last.revisionID.hasPrefix("4-"))
  }

  @Test func `eight threads that increment one counter lose no update`() throws {
    let group = DispatchGroup()
    for thread in 0..<8 {
      DispatchQueue(label: "thread \(thread)").async(group: group) {
        do {
          for _ in 0..<50 {
            try people.update("visits") { document in
              document["count"].int = document.int("count") + 1
              return true
            }
          }
        } catch { Issue.record(error) }
      }
    }
    group.wait()
    #expect(try people.document("visits")?.int("count") == 400)
    #expect(try people.update("visits") { _ in false } == nil)
    #expect(try people.lastSequence == 400)
  }

  @Test func `a batch is all or nothing, and is visible only inside`() throws {
    struct Refusal: Error {}
    let before = try people.lastSequence
    #expect(throws: Refusal.self) {
      try database.inBatch {
        try people.save(MutableDocument(id: "a"))
        try database.inBatch { try people.save(MutableDocument(id: "b")) }
        #expect(try people.count == 2 && people.contains("b"))
        throw Refusal()
      }
    }
    #expect(try people.count == 0 && people.lastSequence == before)
    let count = try database.inBatch {
      for number in 0..<100 { try people.save(MutableDocument(id: "\(number)", ["number": .init(number)])) }
      return try people.count
    }
    #expect(try count == 100 && people.count == 100)
  }

  @Test func `Codable types round-trip`() throws {
    struct Person: Codable, Equatable {
      var name: String
      var born: Date
      var friends: [String]
      var photo: Data?
    }
    let anna = Person(
      name: "Anna", born: Date(timeIntervalSince1970: 1_000_000.5), friends: ["b", "c"], photo: Data([1, 2]))
    try people.save(anna, as: "anna")
    #expect(try people.decode(Person.self, from: "anna") == anna)
    #expect(try people.decode(Person.self, from: "nobody") == nil)
    #expect(people["anna"]?["born"].string == "1970-01-12T13:46:40.500Z")
  }

  @Test func `invalid arguments are refused with the right code`() throws {
    refusal(.badDocumentID) { try people.save(MutableDocument(id: "_a")) }
    refusal(.badDocumentID) { try people.save(MutableDocument(id: String(repeating: "a", count: 8001))) }
    refusal(.corruptRevisionData) { try people.save(MutableDocument(id: "a", ["_id": 1])) }
    try people.save(MutableDocument(id: "a", ["_other": 1]))
    refusal(.invalidParameter) { try people.save(MutableDocument(id: "b", ["x": .init(Double.infinity)])) }
    refusal(.badRevisionID) { _ = try people.document("a", revision: "x") }
    refusal(.invalidParameter) { _ = try database.createCollection("_mine") }
    refusal(.notFound) { try people.setExpiration(of: "nobody", Date()) }
    let strings = ["caf\u{e9}", "cafe\u{301}"]
    for id in strings { try people.save(MutableDocument(id: id)) }
    #expect(try people.count == 3)
    try database.close()
    refusal(.notOpen) { _ = try people.document("a") }
    refusal(.notOpen) { try people.save(MutableDocument(id: "c")) }
    try database.close()
  }
}
