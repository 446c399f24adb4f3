import Foundation
import Latewood
import Testing

/// A document that is not of the type is reported with its id and path, and need not end a query.
@Suite struct UndecodableDocumentTests {
  struct Person: Codable, Sendable, Identifiable, Equatable {
    struct Address: Codable, Sendable, Equatable { var city: String }
    var id: String
    var age: Int
    var homes: [Address] = []
  }

  private let people: TypedCollection<Person>

  init() throws {
    people = try Database.inMemory().collection("people", of: Person.self)
    try people.save(Person(id: "anna", age: 30, homes: [.init(city: "Porto")]))
    try people.documents.save(
      MutableDocument(id: "bert", ["id": "bert", "age": 41, "homes": [["city": "Faro"], ["city": 7]]]))
    try people.save(Person(id: "cleo", age: 52))
  }

  @Test func `an error names the collection, the document and the path`() throws {
    let untyped = people.documents
    for read: () throws -> Void in [
      { _ = try people.all() }, { _ = try people.document("bert") }, { _ = try people.query().all() },
      { _ = try people.changes() }, { _ = try untyped.query(Person.self).all() },
      { _ = try untyped.decode(Person.self, from: "bert") }, { try people.update("bert") { $0.age = 1 } },
    ] {
      let error = try #require(throws: DecodingError.self) { try read() }
      let text = "\(error)"
      #expect(text.contains("the document “bert” of the collection people"), "\(text)")
      #expect(text.contains("homes[1].city"), "\(text)")
    }
    let column = try #require(throws: DecodingError.self) {
      try people.query().select { $0["homes"].as([String].self) }.rows()
    }
    #expect("\(column)".contains("the member homes of the document “anna”"), "\(column)")
  }

  @Test func `results include the failures and the values`() throws {
    let results = try people.query().where { $0.age > 35 }.sorted { $0.age }.asResults().all()
    #expect(results.count == 2)
    #expect(try results[1].get().value == Person(id: "cleo", age: 52))
    let failure = try #require(throws: UndecodableDocument.self) { try results[0].get() }
    #expect(failure.collection == "people" && failure.documentID == "bert")
    #expect(failure.underlyingError is DecodingError)
    #expect(failure.localizedDescription.contains("bert") && failure.localizedDescription.contains("city"))
    #expect(try people.query().limit(1, offset: 1).asResults().all().count == 1)
    #expect(try people.documents.query(Person.self).asResults().all().count == 3)
  }

  private func ages(_ update: LiveUpdate<Result<Stored<Person>, UndecodableDocument>>?) -> [Int?]? {
    update?.values.map { try? $0.get().age }
  }

  @Test func `a live query with results continues after a document that cannot be decoded`() async throws {
    var updates = people.query().sorted { $0.documentID }.asResults().live().makeAsyncIterator()
    let first = try await updates.next()
    #expect(ages(first) == [30, nil, 52])
    try await people.documents.save(["id": "anna"], as: "anna", .lastWriteWins)
    let second = try await updates.next()
    #expect(ages(second) == [nil, nil, 52])
    try await people.save(Person(id: "bert", age: 42), .lastWriteWins)
    let third = try await updates.next()
    #expect(ages(third) == [nil, 42, 52])
  }

  @Test func `a feed with results continues after a document that cannot be decoded`() async throws {
    var feed = people.feed().asResults().makeAsyncIterator()
    var ids: [String?] = []
    for _ in 0..<3 {
      let next = try await feed.next()
      ids.append(next.flatMap { try? $0.get().documentID })
    }
    #expect(ids == ["anna", nil, "cleo"])
  }
}
