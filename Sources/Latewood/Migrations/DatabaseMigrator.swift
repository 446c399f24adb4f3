/// The migrations of an app: changes that bring documents of older versions of the app up to date.
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
/// change one that has been released: register another one after it. <doc:Migrations> explains the
/// rest.
///
/// The migrations that a database has had, and the place that a running one has reached, are
/// recorded in the database itself, as a local document of the default collection: other replicas
/// do not get it. They have documents of their own, and have to migrate them themselves. The record
/// goes if the default collection is dropped; all migrations then run again.
public struct DatabaseMigrator: Sendable {
  /// The maximum number of documents that one transaction migrates, at least 1. Default: 1,000.
  ///
  /// Writers wait while a batch runs, and a batch that was interrupted begins anew. Choose smaller
  /// ones for large documents or slow closures.
  public var batchSize = 1_000

  private(set) var migrations: [Migration] = []

  /// Creates a migrator without migrations.
  public init() {}

  /// Registers a migration that changes the documents of a collection one by one.
  ///
  /// It works through the documents that are not deleted, by id, in batches of ``batchSize``. Each
  /// batch is one transaction of the changed documents and the place that has been reached: after a
  /// crash or a cancelled task, the next `migrate` goes on from there, and no document is migrated
  /// twice. A collection that does not exist is not created: there is nothing to migrate then.
  ///
  /// - Parameters:
  ///   - name: the name of the migration, which is stored: not empty, and unlike all others.
  ///   - collection: the name of the collection.
  ///   - change: changes the current revision of one document, or deletes it by
  ///     ``MutableDocument/isDeleted``. A document that it leaves equal is not saved. It runs in
  ///     the transaction of its batch and is called again after that has failed, so it must have no
  ///     effect outside the database. It may save other documents, which are then part of the
  ///     batch, but not the one that it was given. An error ends the migration, and undoes this
  ///     batch only.
  public mutating func registerMigration(
    _ name: String, in collection: String,
    _ change: @escaping @Sendable (inout MutableDocument) throws -> Void
  ) {
    migrations.append(Migration(name: name, work: .documents(collection: collection, change)))
  }

  /// Registers a migration that replaces the values of a typed collection by values of another
  /// type.
  ///
  /// ```swift
  /// migrator.registerMigration("split name", in: "people", from: OldPerson.self) { old in
  ///   NewPerson(id: old.id, first: old.firstName, last: old.lastName)
  /// }
  /// ```
  ///
  /// Keep the types as they were at the time of the migration: not those of the app, which go on
  /// changing. Members that the new type does not have are lost. Otherwise like the form for
  /// documents.
  ///
  /// - Parameters:
  ///   - name: the name of the migration, which is stored: not empty, and unlike all others.
  ///   - collection: the name of the collection.
  ///   - type: the type of the old values. A document that is not of it ends the migration with its
  ///     `DecodingError`.
  ///   - change: returns the new value, with the id of the old one. If that is stored as the old
  ///     document is, nothing is saved.
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

  /// Registers a migration that is one batch: for changes that are not made document by document.
  ///
  /// - Parameters:
  ///   - name: the name of the migration, which is stored: not empty, and unlike all others.
  ///   - change: changes the database. All of its changes are committed together, with the record
  ///     that the migration is done; if it throws, none. Others cannot write meanwhile.
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
  /// The number of documents that the migration has seen, since its first start. 0 for a migration
  /// that is one batch.
  public let completedDocuments: Int
  /// That number and the number of documents that are still to be seen. It changes if documents are
  /// added or deleted meanwhile.
  public let totalDocuments: Int
  /// Whether the migration is done, and recorded as such.
  public let isComplete: Bool
}
