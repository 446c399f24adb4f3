import Latewood

/// People in a typed collection, with relaxed durability.
final class PeopleInLatewood: PeopleStore {
  static let name = "latewood"

  private let database: Database
  private let people: TypedCollection<Person>

  init(directory: String) throws {
    var configuration = Database.Configuration()
    configuration.durability = .relaxed
    database = try Database.open(at: "\(directory)/people.latewood", configuration: configuration)
    people = try database.collection("people", of: Person.self)
    try people.createIndex("by city") { ($0.city, $0.age) }
  }

  func insert(_ people: [Person]) throws { try self.people.save(contentsOf: people) }

  func person(_ id: String) throws -> Person? { try people.document(id)?.value }

  func people(in city: String, from age: Int, limit: Int) throws -> [Person] {
    try people.query().where { $0.city == city && $0.age >= age }.sorted { $0.age }.limit(limit).all().map(
      \.value)
  }

  func count(in city: String) throws -> Int { try people.query().where { $0.city == city }.count() }

  func people(to age: Int) throws -> [Person] {
    try people.query().where { $0.age <= age }.all().map(\.value)
  }

  func growOlder(_ id: String) throws {
    guard try people.update(id, { $0.age += 1 }) != nil else { throw Missing(id: id) }
  }

  func growOlder(_ ids: [String]) throws {
    try database.inBatch { for id in ids { try growOlder(id) } }
  }

  func delete(_ ids: [String]) throws {
    try database.inBatch {
      for id in ids { guard try people.delete(id) else { throw Missing(id: id) } }
    }
  }

  func compact() throws { try database.compact() }

  func close() throws { try database.close() }
}
