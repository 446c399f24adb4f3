import Foundation
import Latewood
import Testing

/// Collections of values of one type.
@Suite struct TypedCollectionTests {
  struct Person: Codable, Identifiable, Equatable, Sendable {
    var id: String
    var name: String
    var city = "Porto"
    var age = 30
    var nickname: String?
    var tags: [String] = []
  }

  private let database: Database
  private let people: TypedCollection<Person>

  init() throws {
    database = try Database.inMemory()
    people = try database.collection("people", of: Person.self)
  }

  @Test func `saved values are read back with their revisions`() throws {
    let anna = Person(id: "anna", name: "Anna", tags: ["a"])
    let saved = try people.save(anna)
    #expect(
      saved.value == anna && saved.id == "anna" && saved.revisionID.hasPrefix("1-") && saved.sequence == 1)
    #expect(try people.document("anna") == saved)
    #expect(people["anna"] == anna && people["ben"] == nil)
    #expect(try people.contains("anna") && !people.contains("ben") && people.count == 1)
    try people.save(Person(id: "ben", name: "Ben"))
    #expect(try people.all().map(\.name) == ["Anna", "Ben"])
    #expect(try people.all(AllDocumentsQuery(prefix: "b")).map(\.id) == ["ben"])
    #expect(try people.documents.document("anna")?["name"].string == "Anna")
    #expect(try database["people"].count == 2)
    #expect(try database.verify().isSound)
  }

  @Test func `values expire like documents, and saving keeps the expiry`() throws {
    for id in ["anna", "ben", "carl"] { try people.save(Person(id: id, name: id)) }
    #expect(try people.lastSequence == 3)
    let date = Date(timeIntervalSince1970: 40_000_000_000)
    try people.setExpiration(of: "ben", date)
    try people.expire("anna", after: .seconds(3600))
    #expect(try people.expirations().map(\.documentID) == ["anna", "ben"])
    #expect(try people.expirations(before: date).map(\.documentID) == ["anna"])
    #expect(try people.expirations(limit: 1).map(\.documentID) == ["anna"])
    try people.update("ben") { $0.city = "Braga" }
    #expect(try people.expiration(of: "ben") == date && people.expirations().last?.date == date)
    #expect(try people.expiration(of: "anna") == people.documents.expiration(of: "anna"))
    try people.setExpiration(of: "ben", nil)
    #expect(try people.expiration(of: "ben") == nil && people.expiration(of: "none") == nil)
    try people.expire("carl", after: .zero)
    #expect(try people.document("carl") == nil && people.lastSequence == 4)
    refusal(.notFound) { try people.expire("none", after: .seconds(1)) }
    refusal(.notFound) { try people.setExpiration(of: "none", date) }
    refusal(.invalidParameter) { try people.expire("anna", after: .seconds(-1)) }
    refusal(.invalidParameter) { try people.setExpiration(of: "anna", .distantPast) }
    try database.dropCollection("people")
    refusal(.notFound) { _ = try people.lastSequence }
    refusal(.notFound) { _ = try people.expirations() }
  }

  @Test func `saving a stale or an existing value is a conflict`() throws {
    var mine = try people.save(Person(id: "anna", name: "Anna"))
    var other = try #require(try people.document("anna"))
    other.city = "Lisboa"
    other = try people.save(other)
    mine.city = "Braga"
    refusal(.conflict) { try people.save(mine) }
    refusal(.conflict) { try people.save(mine.value) }
    refusal(.conflict) { try people.delete(mine) }
    #expect(people["anna"]?.city == "Lisboa")
    #expect(try people.save(mine, .lastWriteWins).revisionID.hasPrefix("3-"))
    #expect(try people.save(Person(id: "anna", name: "New"), .lastWriteWins).revisionID.hasPrefix("4-"))
    refusal(.conflict) { try people.save(other) }
    // The value returned by a save can be saved again.
    var last = try #require(try people.document("anna"))
    for age in 40..<43 {
      last.age = age
      last = try people.save(last)
    }
    try people.delete(last)
    refusal(.notFound) { try people.delete(last) }
    refusal(.conflict) { try people.save(last) }
    #expect(people["anna"] == nil)
    #expect(try people.save(Person(id: "anna", name: "Again")).revisionID.hasPrefix("9-"))
  }

  @Test func `concurrent updates lose nothing, and an update without changes saves nothing`() throws {
    let first = try people.save(Person(id: "anna", name: "Anna", age: 0))
    DispatchQueue.concurrentPerform(iterations: 4) { _ in
      do { for _ in 0..<25 { try people.update("anna") { $0.age += 1 } } } catch { Issue.record(error) }
    }
    let last = try #require(try people.document("anna"))
    #expect(last.age == 100 && last.sequence == 101)
    #expect(try people.update("anna") { $0.age += 0 } == last)
    #expect(try people.update("ben") { $0.age = 1 } == nil)
    #expect(try people.documents.lastSequence == 101 && first.sequence == 1)
  }

  @Test func `values are saved together in one batch, or not at all`() throws {
    let many = (0..<100).map { Person(id: "p\($0)", name: "P", age: $0) }
    let saved = try people.save(contentsOf: many)
    #expect(saved.map(\.age) == Array(0..<100))
    refusal(.conflict) {
      try people.save(contentsOf: [Person(id: "new", name: ""), Person(id: "p7", name: "")])
    }
    #expect(try people.count == 100)
    refusal(.conflict) {
      try people.save(contentsOf: [Person(id: "x", name: "1"), Person(id: "x", name: "2")])
    }
    try people.save(contentsOf: [Person(id: "x", name: "1"), Person(id: "p7", name: "2")], .lastWriteWins)
    #expect(people["p7"]?.name == "2" && people["x"]?.name == "1")
    #expect(try people.delete("x") && !people.delete("x") && people.purge("p7") && !people.purge("p7"))
    #expect(try people.count == 99)
  }

  @Test func `a query refers to the members of the type, and its results can be saved`() throws {
    try people.save(
      contentsOf: (0..<20).map { Person(id: "p\($0)", name: "P\($0 % 3)", age: $0, tags: ["t\($0 % 2)"]) })
    let query = people.query()
      .where { $0.age >= 10 && $0.tags.contains("t1") && $0.nickname == nil }
      .sorted { ($0.name, $0.age.descending) }
    var found = try query.all()
    #expect(found.map(\.age) == [15, 19, 13, 17, 11])
    #expect(try query.select { ($0.name, $0.age) }.rows().map(\.1) == [15, 19, 13, 17, 11])
    #expect(try query.count() == 5)
    try people.createIndex("by age", where: { $0.age > 5 }, on: { ($0.age, $0.name.descending) })
    #expect(try people.documents.indexes.map(\.fields) == [["age", "name:desc"]])
    #expect(try query.all().map(\.age) == [15, 19, 13, 17, 11])
    found[0].nickname = "first"
    try people.save(found[0])
    #expect(people["p15"]?.nickname == "first")
    refusal(.conflict) { try people.save(found[0]) }
    #expect(try query.all().map(\.age) == [19, 13, 17, 11])
  }

  @Test func `ids can be numbers, UUIDs and custom types`() throws {
    struct Numbered: Codable, Identifiable, Sendable { var id: Int }
    struct Unique: Codable, Identifiable, Sendable { var id = UUID() }
    struct Key: RawRepresentable, Codable, Hashable { var rawValue: String }
    struct Keyed: Codable, Identifiable, Sendable { var id: Key }
    let numbered = try database.collection("numbered", of: Numbered.self)
    try numbered.save(Numbered(id: 7))
    #expect(numbered[7]?.id == 7 && numbered[8] == nil)
    #expect(try database["numbered"].documentIDs() == ["7"])
    let (unique, value) = (try database.collection("unique", of: Unique.self), Unique())
    try unique.save(value)
    #expect(unique[value.id]?.id == value.id)
    #expect(try database["unique"].documentIDs() == [value.id.uuidString])
    let keyed = try database.collection("keyed", of: Keyed.self)
    try keyed.save(Keyed(id: Key(rawValue: "k")))
    #expect(try keyed.document(Key(rawValue: "k"))?.documentID == "k")
    refusal(.badDocumentID) { try people.save(Person(id: "_x", name: "")) }
    var moved = try people.save(Person(id: "a", name: ""))
    moved.value.id = "b"
    refusal(.invalidParameter) { try people.save(moved) }
    #expect(try people.documents.documentIDs() == ["a"])
  }

  struct Note: Codable, Identifiable, Equatable, Sendable {
    var _id: String
    var _rev: String?
    var text: String
    var id: String { _id }
  }

  @Test func `members named _id and _rev hold the document and revision ids`() throws {
    let notes = try database.collection("notes", of: Note.self)
    let saved = try notes.save(Note(_id: "n", text: "1"))
    #expect(try notes.documents.document("n")?.toJSON() == #"{"text":"1"}"#)
    var read = try #require(notes["n"])
    #expect(read == Note(_id: "n", _rev: saved.revisionID, text: "1"))
    read.text = "2"
    try notes.save(read)
    refusal(.conflict) { try notes.save(read) }
    #expect(try notes.query().where { $0.text == "2" }.all().map(\.value._id) == ["n"])
    #expect(try notes.documents.query(Note.self).all().map(\._id) == ["n"])
    #expect(try MutableDocument(encoding: Note(_id: "m", text: "")).id == "m")
    refusal(.invalidParameter) { _ = try MutableDocument(id: "x", encoding: Note(_id: "m", text: "")) }
    refusal(.badRevisionID) { _ = try MutableDocument(encoding: Note(_id: "m", _rev: "bad", text: "")) }
    refusal(.invalidParameter) { _ = try MutableDocument(encoding: ["_id": 5]) }
  }

  struct Everything: Codable, Identifiable, Equatable, Sendable {
    var id = UUID()
    var when = Date(timeIntervalSinceReferenceDate: 794_050_200.123_456_7)
    var price = Decimal(string: "12.34")
    var exact = Decimal(string: "0.12345678901234567890123")
    var home = URL(string: "https://example.org/a?b=c")
    var data = Data([0, 1, 255])
    var dates: [String: Date] = ["now": Date.now]
    var ids: [UUID?] = [UUID(), nil]
  }

  @Test func `dates, decimals, UUIDs, URLs and data round-trip`() throws {
    let things = try database.collection("things", of: Everything.self)
    let thing = Everything()
    try things.save(thing)
    #expect(things[thing.id] == thing)
    let document = try #require(try things.documents.document(thing.id.uuidString))
    #expect(document["price"].double == 12.34 && document["exact"].string == "0.12345678901234567890123")
    #expect(document["id"].string == thing.id.uuidString && document["data"].kind == .data)
    #expect(try MutableDocument(json: document.toJSON()).decode(as: Everything.self) == thing)
  }

  @Test func `a document of another type throws and does not crash`() throws {
    try people.save(Person(id: "a", name: "A"))
    try people.documents.save(MutableDocument(id: "b", ["name": 5]))
    #expect(throws: DecodingError.self) { try people.document("b") }
    #expect(throws: DecodingError.self) { try people.all() }
    #expect(throws: DecodingError.self) { try people.update("b") { $0.age = 1 } }
    #expect(throws: DecodingError.self) { try people.changes() }
    #expect(people["b"] == nil)
  }

  @Test func `the feed contains the values`() async throws {
    let first = try await people.save(Person(id: "anna", name: "Anna"))
    try await people.save(Person(id: "ben", name: "Ben"))
    try await people.delete(first)
    let changes = try await people.changes()
    #expect(changes.map(\.documentID) == ["ben", "anna"] && changes.map(\.isDeleted) == [false, true])
    #expect(changes[0].document?.name == "Ben" && changes[1].document == nil)
    #expect(try await people.changes(since: 2).map(\.sequence) == [3])
    var feed = people.feed(since: 2).makeAsyncIterator()
    #expect(try await feed.next()?.isDeleted == true)
    try await people.save(Person(id: "carl", name: "Carl"))
    let change = try await feed.next()
    #expect(change?.document?.name == "Carl" && change?.document?.revisionID == change?.entry.revisionID)
  }

  @Test func `the asynchronous calls do the same as the blocking ones`() async throws {
    let people = people
    var anna = try await people.save(Person(id: "anna", name: "Anna", age: 0))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<20 { group.addTask { try await people.update("anna") { $0.age += 1 } } }
      try await group.waitForAll()
    }
    anna.age = -1
    do {
      try await people.save(anna)
      Issue.record("a stale save went through")
    } catch let error as DatabaseError where error.code == .conflict {}
    anna = try #require(try await people.document("anna"))
    #expect(anna.age == 20)
    #expect(try await people.update("anna") { $0.age += 0 }?.revisionID == anna.revisionID)
    try await people.save(contentsOf: [Person(id: "b", name: "B"), Person(id: "c", name: "C")])
    #expect(try await people.all().map(\.id) == ["anna", "b", "c"])
    var names: [String] = []
    for try await person in people.stream() { names.append(person.name) }
    #expect(names == ["Anna", "B", "C"])
    try await people.delete(anna)
    #expect(try await people.delete("b"))
    #expect(try await people.purge("c"))
    #expect(try await people.all().isEmpty)
  }

  #if canImport(Observation)
    @MainActor @Test func `an observed document follows changes, deletion and purging`() async throws {
      var observed: ObservedDocument<Person>? = ObservedDocument("anna", in: people)
      weak let reference = observed
      #expect(observed?.value == nil && observed?.isLoaded == false)
      while observed?.isLoaded != true { await Task.yield() }
      #expect(observed?.value == nil && observed?.error == nil)
      try await people.save(Person(id: "ben", name: "Ben"))
      try await people.save(Person(id: "anna", name: "Anna"))
      while observed?.value == nil { await Task.yield() }
      #expect(observed?.value?.name == "Anna")
      try await people.update("anna") { $0.city = "Lisboa" }
      while observed?.value?.city == "Porto" { await Task.yield() }
      var mine = try #require(observed?.value)
      mine.age = 31
      try await people.save(mine)
      while observed?.value?.age == 30 { await Task.yield() }
      try await people.delete("anna")
      while observed?.value != nil { await Task.yield() }
      try await people.save(Person(id: "anna", name: "Anna Maria"))
      while observed?.value == nil { await Task.yield() }
      try await people.purge("anna")
      while observed?.value != nil { await Task.yield() }
      try await people.documents.save(MutableDocument(id: "anna", ["name": 7]))
      while observed?.error == nil { await Task.yield() }
      #expect(observed?.error is DecodingError)
      observed = nil
      while reference != nil { await Task.yield() }
    }
  #endif
}
