extension DatabaseMigrator {
  /// Runs the pending migrations of a database, in the order of registration.
  ///
  /// If there are none, this only reads one record. Threads that migrate one database at the same
  /// time share the work: each document is migrated once, and all threads return when all
  /// migrations are done. Other processes cannot have the database open for writing.
  ///
  /// - Parameters:
  ///   - database: the database, open for writing.
  ///   - progress: called after each committed batch, on this thread.
  /// - Throws: any error of a migration's closure, unchanged; ``DatabaseError`` `tooNew` if the
  ///   database has had a migration that is not registered here, because a newer version of the app
  ///   has opened it; `invalidParameter` if two migrations have the same name, a name is empty,
  ///   ``batchSize`` is less than 1, or a closure has changed the id of a document; `busy` inside a
  ///   batch of the database; `notWritable` if it was opened read-only; `notFound` if its default
  ///   collection has been dropped; and the errors of saving, such as `notUnique`. Earlier batches
  ///   stay committed, with the durability of the database's saves.
  /// - Complexity: O(n log n) in the number of documents of the collections to migrate.
  public func migrate(_ database: Database, progress: ((MigrationProgress) -> Void)? = nil) throws {
    let run = try MigrationRun(self, database)
    while try run.isPending {
      if let state = try database.inBatch({ try run.step() }) { progress?(state) }
    }
  }

  /// Runs the pending migrations of a database, without blocking the caller's thread. Otherwise
  /// like the blocking form; the closures run on a Dispatch queue.
  ///
  /// If the task is cancelled, the current batch is rolled back, and this throws
  /// `CancellationError`. Earlier batches stay committed, and the next call continues after them.
  ///
  /// - Parameters:
  ///   - database: the database, open for writing.
  ///   - progress: called after each committed batch, in the caller's task.
  /// - Throws: the errors of the blocking form; `CancellationError`.
  public func migrate(
    _ database: Database, progress: (@Sendable (MigrationProgress) -> Void)? = nil
  ) async throws {
    let run = try MigrationRun(self, database)
    while try await database.performing({ try run.isPending }) {
      if let state = try await database.inBatch({ try run.step() }) { progress?(state) }
    }
  }

  /// Returns the names of the migrations that have been completely applied to a database, in the
  /// order in which they ended, including migrations that are not registered here. O(n) in their
  /// number.
  ///
  /// - Throws: ``DatabaseError`` `notFound` if the default collection has been dropped.
  public func appliedMigrations(in database: Database) throws -> [String] {
    try MigrationRecord(of: database).applied
  }

  /// Returns whether all registered migrations have been applied to a database. Also works for a
  /// database that was opened read-only. O(n) in the number of migrations.
  ///
  /// - Throws: ``DatabaseError`` `invalidParameter` if two migrations have the same name, a name is
  ///   empty, or ``batchSize`` is less than 1; `notFound` if the default collection has been
  ///   dropped.
  public func hasCompletedMigrations(in database: Database) throws -> Bool {
    try check()
    return try Set(MigrationRecord(of: database).applied).isSuperset(of: migrations.map(\.name))
  }

  /// Returns the names of the migrations that have been completely applied to a database, without
  /// blocking the caller's thread. Otherwise like the blocking form.
  ///
  /// - Throws: like every async read; see ``DatabaseError``.
  public func appliedMigrations(in database: Database) async throws -> [String] {
    try await database.performing { try appliedMigrations(in: database) }
  }

  /// Returns whether all registered migrations have been applied to a database, without blocking
  /// the caller's thread. Otherwise like the blocking form.
  ///
  /// - Throws: like every async read; see ``DatabaseError``.
  public func hasCompletedMigrations(in database: Database) async throws -> Bool {
    try await database.performing { try hasCompletedMigrations(in: database) }
  }

  /// Throws if the migrator cannot run.
  func check() throws(DatabaseError) {
    guard batchSize > 0 else {
      throw DatabaseError(
        .invalidParameter, "the batches of a migration cannot have \(batchSize) documents",
        advice: "Set `batchSize` to 1 or more.")
    }
    var names: Set<String> = []
    for migration in migrations {
      guard !migration.name.isEmpty else {
        throw DatabaseError(
          .invalidParameter, "a migration has an empty name", advice: "Give the migration a name.")
      }
      guard names.insert(migration.name).inserted else {
        throw DatabaseError(
          .invalidParameter, "two migrations are named “\(migration.name)”",
          advice: "Rename the one that has not been released.")
      }
    }
  }
}
