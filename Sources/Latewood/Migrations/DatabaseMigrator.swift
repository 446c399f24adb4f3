/// The migrations of an app, which bring documents of older versions of the app up to date.
///
/// ```swift
/// var migrator = DatabaseMigrator()
/// migrator.registerMigration("split name", in: "people") { (document: inout MutableDocument) in
///   guard let name = document["name"].string else { return }
///   let parts = name.split(separator: " ", maxSplits: 1).map(String.init)
///   document["first"] = parts.first
///   document["last"] = parts.dropFirst().first
///   document["name"] = nil
/// }
/// try await migrator.migrate(database)
/// ```
///
/// Each migration runs once per database, in the order of registration. Never rename, remove or
/// change a released migration: register another one after it. See <doc:Migrations> for details.
///
/// The applied migrations, and the position that a running migration has reached, are recorded in
/// the database itself, as a local document of the default collection. The record is not
/// replicated, because each replica has to migrate its own documents. If the default collection is
/// dropped, the record is lost, and all migrations run again.
public struct DatabaseMigrator: Sendable {
  /// The maximum number of documents that one transaction migrates, at least 1. Default: 1,000.
  ///
  /// Writers wait while a batch runs, and an interrupted batch starts over. Choose smaller batches
  /// for large documents or slow closures.
  public var batchSize = 1_000

  private(set) var migrations: [Migration] = []

  /// Creates a migrator without migrations.
  public init() {}

  /// Registers a migration that changes the documents of a collection one by one.
  ///
  /// It works through the documents that are not deleted, by id, in batches of ``batchSize``. Each
  /// batch is one transaction with the changed documents and the position that has been reached.
  /// After a crash or a cancelled task, the next `migrate` continues at that position, and no
  /// document is migrated twice. A collection that does not exist is not created, because it has no
  /// documents to migrate.
  ///
  /// - Parameters:
  ///   - name: the name of the migration, which is stored. It must be unique and not empty.
  ///   - collection: the name of the collection.
  ///   - change: changes the current revision of one document, or deletes it by
  ///     ``MutableDocument/isDeleted``. An unchanged document is not saved. The closure runs in the
  ///     transaction of its batch and is called again if that fails, so it must have no effect
  ///     outside the database. It may save other documents, which are then part of the batch, but
  ///     not the document that was passed to it. An error ends the migration, and rolls back this
  ///     batch only.
  public mutating func registerMigration(
    _ name: String, in collection: String,
    _ change: @escaping @Sendable (inout MutableDocument) throws -> Void
  ) {
    migrations.append(Migration(name: name, work: .documents(collection: collection, change)))
  }

  /// Registers a migration that replaces the values of a typed collection with values of another
  /// type.
  ///
  /// ```swift
  /// migrator.registerMigration("split name", in: "people", from: OldPerson.self) { old in
  ///   NewPerson(id: old.id, first: old.firstName, last: old.lastName)
  /// }
  /// ```
  ///
  /// Keep separate copies of both types as they were at the time of the migration, because the
  /// types of the app continue to change. Members that the new type does not have are lost.
  /// Otherwise like the form for documents.
  ///
  /// - Parameters:
  ///   - name: the name of the migration, which is stored. It must be unique and not empty.
  ///   - collection: the name of the collection.
  ///   - type: the type of the old values. A document that is not of this type ends the migration
  ///     with its `DecodingError`.
  ///   - change: returns the new value, with the id of the old one. If its stored form equals the
  ///     old document, nothing is saved.
  public mutating func registerMigration<Old, New>(
    _ name: String, in collection: String, from type: Old.Type,
    _ change: @escaping @Sendable (Old) throws -> New
  )
  where Old: Decodable & Identifiable & Sendable, New: Encodable & Identifiable & Sendable, Old.ID == New.ID {
    registerMigration(name, in: collection) { document in
      let old = try document.decode(as: Old.self)
      let new = try change(old)
      guard new.id == old.id else { throw Migration.changedID(of: document.id) }
      try document.setContent(encoding: new)
    }
  }

  /// Registers a migration that is one batch, for changes that are not made document by document.
  ///
  /// - Parameters:
  ///   - name: the name of the migration, which is stored. It must be unique and not empty.
  ///   - change: changes the database. All of its changes are committed together, with the record
  ///     that the migration is done; if it throws, none are. Other writers wait until it returns.
  public mutating func registerMigration(
    _ name: String, _ change: @escaping @Sendable (Database) throws -> Void
  ) {
    migrations.append(Migration(name: name, work: .batch(change)))
  }
}

/// The progress of a migration.
public struct MigrationProgress: Sendable, Equatable {
  /// The name of the migration.
  public let migration: String
  /// The name of the collection; nil for a migration that is one batch.
  public let collection: String?
  /// The number of documents that the migration has processed since it was first started; 0 for a
  /// migration that is one batch.
  public let completedDocuments: Int
  /// The number of documents that have been processed or are still left. It changes if documents
  /// are added or deleted during the migration.
  public let totalDocuments: Int
  /// Whether the migration is complete and recorded as applied.
  public let isComplete: Bool
}
