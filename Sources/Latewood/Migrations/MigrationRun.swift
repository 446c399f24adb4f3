import LatewoodDocuments
import LatewoodStore

/// A call of `migrate`: a loop of steps, each of which is one transaction.
///
/// Each step reads the record inside its transaction and performs the next part of the work.
/// Therefore several threads that migrate one database share the work, and each part is done once.
struct MigrationRun: Sendable {
  private let migrations: [Migration]
  private let batchSize: Int
  private let database: Database

  init(_ migrator: DatabaseMigrator, _ database: Database) throws {
    try migrator.check()
    if database.isReadOnly {
      throw DatabaseError(.notWritable, "a database that was opened read-only cannot be migrated")
    }
    if database.documents.isInBatch {
      throw DatabaseError(
        .busy, "a database cannot be migrated inside one of its own batches",
        advice: "Migrate before the batch begins: a migration commits its own transactions.")
    }
    migrations = migrator.migrations
    batchSize = migrator.batchSize
    self.database = database
  }

  /// Whether any migration is pending.
  var isPending: Bool {
    get throws { try next(MigrationRecord(of: database)) != nil }
  }

  /// Returns the first migration that is not done; nil if all are.
  ///
  /// - Throws: ``DatabaseError`` `tooNew` if the record contains a migration that is not
  ///   registered.
  private func next(_ record: MigrationRecord) throws -> Migration? {
    let known = Set(migrations.map(\.name))
    if let name = (record.applied + record.begun.map(\.name)).first(where: { !known.contains($0) }) {
      throw DatabaseError(
        .tooNew, "the migration “\(name)” has run in this database, and is not registered here",
        advice: "Open it with the version of the app that migrated it, or register that migration.")
    }
    let applied = Set(record.applied)
    return migrations.first { !applied.contains($0.name) }
  }

  /// Does the next part of the work, in a batch that commits it.
  ///
  /// - Returns: the progress of the migration; nil if no work was left.
  func step() throws -> MigrationProgress? {
    var record = try MigrationRecord(of: database)
    guard let migration = try next(record) else { return nil }
    let progress: MigrationProgress
    switch migration.work {
    case .batch(let change):
      try change(database)
      progress = MigrationProgress(
        migration: migration.name, collection: nil, completedDocuments: 0, totalDocuments: 0,
        isComplete: true)
    case .documents(let name, let change):
      progress = try step(migration.name, in: name, &record, change)
    }
    if progress.isComplete { record.complete(migration.name) }
    try record.save(in: database)
    return progress
  }

  private func step(
    _ migration: String, in name: String, _ record: inout MigrationRecord,
    _ change: (inout MutableDocument) throws -> Void
  ) throws -> MigrationProgress {
    var (seen, rest) = (0, 0)
    if let collection = try database.collection(name) {
      var place = record.place(of: migration, in: collection)
      let ids = try collection.ids(after: place.after, limit: batchSize)
      for id in ids { try collection.migrate(id, change) }
      place.after = ids.last ?? place.after
      place.documents += ids.count
      record.advance(to: place)
      (seen, rest) = (place.documents, try collection.count(after: place.after))
    }
    return MigrationProgress(
      migration: migration, collection: name, completedDocuments: seen,
      totalDocuments: seen + rest, isComplete: rest == 0)
  }
}

extension DocumentCollection {
  /// Returns the ids of undeleted documents that follow a given id, in order.
  fileprivate func ids(after id: String?, limit: Int) throws -> [String] {
    var query = AllDocumentsQuery()
    query.range = .after(id)
    query.limit = limit
    return try documentIDs(query)
  }

  fileprivate func count(after id: String?) throws -> Int {
    var query = AllDocumentsQuery()
    query.range = .after(id)
    let reads = try reads()
    return try reads.count(query)
  }

  /// Changes the current revision of a document, and saves it unless it is equal.
  fileprivate func migrate(_ id: String, _ change: (inout MutableDocument) throws -> Void) throws {
    // The document may no longer exist: it may have expired, or the closure may have deleted it
    // while it changed another document.
    guard let original = try document(id) else { return }
    var document = original.toMutable()
    try change(&document)
    guard KeyText(document.id) == KeyText(id) else { throw Migration.changedID(of: id) }
    guard document.isDeleted || !document.hasSameContent(as: original) else { return }
    do throws(DatabaseError) {
      try save(prepare(document.rebased(on: original), .failOnConflict))
    } catch {
      var named = error
      named.message = "the document “\(id)” cannot be migrated: \(error.message)"
      throw named
    }
  }
}

extension KeyRange {
  fileprivate static func after(_ id: String?) -> KeyRange {
    var range = KeyRange.all
    if let id { range.lower = .excluded(Array(id.utf8)) }
    return range
  }
}
