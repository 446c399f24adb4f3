import Foundation
import GRDB

extension Person: FetchableRecord, PersistableRecord {
  static let databaseTableName = "person"
}

/// People in a table of SQLite, by GRDB: with a write-ahead log, synced at checkpoints only.
final class PeopleInGRDB: PeopleStore {
  static let name = "grdb"

  private let queue: DatabaseQueue

  init(directory: String) throws {
    var configuration = Configuration()
    configuration.journalMode = .wal
    configuration.prepareDatabase { try $0.execute(sql: "PRAGMA synchronous = NORMAL") }
    queue = try DatabaseQueue(path: "\(directory)/people.sqlite", configuration: configuration)
    try queue.write { database in
      try database.create(table: "person", options: .ifNotExists) { table in
        table.primaryKey("id", .text)
        table.column("name", .text).notNull()
        table.column("city", .text).notNull()
        table.column("age", .integer).notNull()
        table.column("score", .double).notNull()
        table.column("tags", .jsonText).notNull()
        table.column("note", .text).notNull()
        table.column("born", .datetime).notNull()
      }
      try database.create(indexOn: "person", columns: ["city", "age"], options: .ifNotExists)
    }
  }

  func insert(_ people: [Person]) throws {
    try queue.write { database in for person in people { try person.insert(database) } }
  }

  func person(_ id: String) throws -> Person? {
    try queue.read { try Person.fetchOne($0, key: id) }
  }

  func people(in city: String, from age: Int, limit: Int) throws -> [Person] {
    try queue.read {
      try Person.filter(Column("city") == city && Column("age") >= age)
        .order(Column("age")).limit(limit).fetchAll($0)
    }
  }

  func count(in city: String) throws -> Int {
    try queue.read { try Person.filter(Column("city") == city).fetchCount($0) }
  }

  func people(to age: Int) throws -> [Person] {
    try queue.read { try Person.filter(Column("age") <= age).fetchAll($0) }
  }

  func growOlder(_ id: String) throws { try growOlder([id]) }

  func growOlder(_ ids: [String]) throws {
    try queue.write { database in
      for id in ids {
        guard var person = try Person.fetchOne(database, key: id) else { throw Missing(id: id) }
        person.age += 1
        try person.update(database)
      }
    }
  }

  func delete(_ ids: [String]) throws {
    try queue.write { database in
      for id in ids {
        guard try Person.deleteOne(database, key: id) else { throw Missing(id: id) }
      }
    }
  }

  func compact() throws { try queue.vacuum() }

  func close() throws { try queue.close() }
}
