import LatewoodDocuments

/// The migrations that were applied to a database, and the positions of those in progress.
///
/// It is a local document of the default collection:
///
///     {"applied": ["split name", ...],
///      "begun": [{"name": ..., "collection": identity, "after": id, "documents": count}, ...]}
///
/// There is one record for all collections. A separate record in each collection would be lost with
/// it, and the documents of a later collection with the same name, which are up to date, would be
/// migrated again.
struct MigrationRecord: Decodable, Sendable {
  static let localName = "latewood.migrations"
  /// A limit that no file's document count reaches, and that leaves room for additions.
  private static let greatestCount = Int.max / 2

  /// The position that a migration of documents has reached.
  struct Place: Codable, Sendable {
    let name: String
    /// The identity of the collection. The migration of another collection with the same name
    /// begins at its start.
    let collection: String
    /// The id of the last document that has been processed; nil at the start.
    var after: String?
    /// The number of documents that have been processed.
    var documents = 0
  }

  /// The names of the migrations that are done, in the order in which they ended.
  private(set) var applied: [String] = []
  private(set) var begun: [Place] = []

  /// Reads the record of a database, inside a batch with the changes of that batch.
  init(of database: Database) throws {
    guard let stored = try Self.home(in: database).localDocument(Self.localName) else { return }
    do {
      self = try stored.decode(as: MigrationRecord.self)
    } catch {
      throw Self.unreadable("\(error)")
    }
    guard begun.allSatisfy({ (0...Self.greatestCount).contains($0.documents) }) else {
      throw Self.unreadable("a count of documents is not possible")
    }
  }

  private static func unreadable(_ reason: String) -> DatabaseError {
    DatabaseError(
      .corruptData, "the record of migrations cannot be read: \(reason)",
      advice: "Restore a backup, or delete the local document “\(localName)”: all migrations then run again."
    )
  }

  func save(in database: Database) throws {
    try Self.home(in: database).setLocalDocument(
      Self.localName,
      ["applied": DocumentValue(encoding: applied), "begun": DocumentValue(encoding: begun)])
  }

  private static func home(in database: Database) throws -> DocumentCollection {
    guard let home = try database.collection(CollectionName.standard) else {
      throw DatabaseError(
        .notFound, "the default collection has been dropped, and with it the record of migrations",
        advice: "Create the collection “_default” again; all migrations then run again.")
    }
    return home
  }

  func place(of migration: String, in collection: DocumentCollection) -> Place {
    begun.first { $0.name == migration && $0.collection == collection.identity }
      ?? Place(name: migration, collection: collection.identity)
  }

  mutating func advance(to place: Place) {
    begun.removeAll { $0.name == place.name }
    begun.append(place)
  }

  mutating func complete(_ migration: String) {
    begun.removeAll { $0.name == migration }
    applied.append(migration)
  }
}
