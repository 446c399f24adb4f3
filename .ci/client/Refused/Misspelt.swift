import Latewood

// A member that does not exist is reported by its name.

struct Place: Codable, Sendable {
  var latitude: Double
}
struct Person: Codable, Identifiable, Sendable {
  var id: String
  var name: String
  var age: Int
  var home: Place
}

func misspelt(_ people: TypedCollection<Person>, _ documents: DocumentCollection) async throws {
  _ = try await people.query().where { $0.agee > 2 }.all()  // error: has no dynamic member 'agee'
  _ = try await people.query().sum { $0.agee }  // error: has no dynamic member 'agee'
  _ = people.query().where { $0.agee > 2 && $0.name == "Ann" }  // error: has no dynamic member 'agee'
  _ = people.query().sorted { $0.agee }  // error: has no dynamic member 'agee'
  _ = people.query().select { ($0.name, $0.agee) }  // error: has no dynamic member 'agee'
  _ = people.query().where { $0.home.lattitude > 3 }  // error: has no dynamic member 'lattitude'
  _ = people.query().where { $0.isDone }  // error: has no dynamic member 'isDone'
  try await people.createIndex("by age") { $0.agee }  // error: has no dynamic member 'agee'
  // The id of a document is not a member of its content.
  _ = documents.query().where { $0.id == "ann" }  // error: 'id' has been renamed to 'documentID'
}
