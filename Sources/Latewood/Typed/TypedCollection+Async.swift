import LatewoodDocuments

/// Calls that do not block the caller's thread. Changes run one after the other on a Dispatch
/// queue, and those that wait at the same time share a sync.
extension TypedCollection {
  /// Returns the current state of a document with its revision, without blocking the caller's
  /// thread; nil if there is none.
  ///
  /// - Throws: like every async read; see ``DatabaseError``.
  public func document(_ id: Value.ID) async throws -> Stored<Value>? {
    try await database.performing { try document(id) }
  }

  /// Returns the documents that match a query, by id, without blocking the caller's thread;
  /// default: all.
  ///
  /// - Throws: like every async read; see ``DatabaseError``.
  public func all(_ query: AllDocumentsQuery = AllDocumentsQuery()) async throws -> [Stored<Value>] {
    try await database.performing { try all(query) }
  }

  /// Returns whether there is a document with an id, without blocking the caller's thread.
  ///
  /// - Throws: like every async read; see ``DatabaseError``.
  public func contains(_ id: Value.ID) async throws -> Bool {
    try await documents.contains(documentID(id))
  }

  /// Returns the changes after a sequence, all from one state of the database, without blocking the
  /// caller's thread.
  ///
  /// - Parameters:
  ///   - since: the sequence after which to begin; 0 for all changes.
  ///   - limit: the maximum number of changes to return.
  /// - Throws: like every async read; see ``DatabaseError``.
  public func changes(since: UInt64 = 0, limit: Int = .max) async throws -> [TypedChange<Value>] {
    try await database.performing { try changes(since: since, limit: limit) }
  }

  /// Creates an index of stored members of the type without blocking the caller's thread. If the
  /// task is cancelled before the index is built, the index is dropped and this throws
  /// `CancellationError`.
  ///
  /// - Throws: the errors of the blocking form; `CancellationError` if the task is cancelled before
  ///   the index is built.
  nonisolated(nonsending) public func createIndex<each Field: IndexFieldSource>(
    _ name: String, where condition: ((QueryDocument<Value>) -> QueryCondition)? = nil, unique: Bool = false,
    on fields: (QueryDocument<Value>) -> (repeat each Field)
  ) async throws {
    try await documents.createIndex(name, of: Value.self, where: condition, unique: unique, on: fields)
  }

  /// Creates a full-text index of stored members of the type without blocking the caller's thread.
  /// If the task is cancelled before the index is built, the index is dropped and this throws
  /// `CancellationError`.
  ///
  /// - Throws: the errors of the blocking form; `CancellationError` if the task is cancelled before
  ///   the index is built.
  // A closure without a label makes an index of values.
  @_disfavoredOverload
  nonisolated(nonsending) public func createIndex<each Field: FullTextFieldSource>(
    _ name: String, options: FullTextOptions = FullTextOptions(),
    fullText fields: (QueryDocument<Value>) -> (repeat each Field)
  ) async throws {
    try await documents.createIndex(name, of: Value.self, options: options, fullText: fields)
  }

  /// Saves a new value without blocking the caller's thread. Otherwise like the blocking form.
  ///
  /// - Throws: like every async change; see ``DatabaseError``.
  @discardableResult
  public func save(
    _ value: Value, _ control: ConcurrencyControl = .failOnConflict
  ) async throws -> Stored<Value> {
    try saved(value, await documents.save(prepare(value, control)))
  }

  /// Saves a changed value without blocking the caller's thread. Otherwise like the blocking form.
  ///
  /// - Throws: like every async change; see ``DatabaseError``.
  @discardableResult
  public func save(
    _ document: Stored<Value>, _ control: ConcurrencyControl = .failOnConflict
  ) async throws -> Stored<Value> {
    try saved(document.value, await documents.save(prepare(document, control)))
  }

  /// Saves new values in one batch without blocking the caller's thread. Otherwise like the
  /// blocking form.
  ///
  /// - Throws: like every async change; see ``DatabaseError``.
  @discardableResult
  public func save(
    contentsOf values: some Sequence<Value>, _ control: ConcurrencyControl = .failOnConflict
  ) async throws -> [Stored<Value>] {
    let edits = try values.map { ($0, try prepare($0, control)) }
    return try await database.inBatch { try edits.map { try saved($0.0, documents.save($0.1)) } }
  }

  /// Reads a value, changes it and saves it, without blocking the caller's thread. Otherwise like
  /// the blocking form; the change runs on a Dispatch queue.
  ///
  /// - Throws: like every async change; see ``DatabaseError``.
  @discardableResult
  public func update(
    _ id: Value.ID, _ change: @escaping @Sendable (inout Value) throws -> Void
  ) async throws -> Stored<Value>? {
    while true {
      guard let change = try await database.performing({ try prepare(id, change) }) else { return nil }
      guard let edit = change.edit else { return change.document }
      do {
        return try saved(change.document.value, await documents.save(edit))
      } catch let error as DatabaseError where error.code == .conflict {}
    }
  }

  /// Deletes a document without blocking the caller's thread. Otherwise like the blocking form.
  ///
  /// - Throws: like every async change; see ``DatabaseError``.
  public func delete(
    _ document: Stored<Value>, _ control: ConcurrencyControl = .failOnConflict
  ) async throws {
    try await documents.save(prepareDeletion(document, control))
  }

  /// Deletes a document without blocking the caller's thread, regardless of its current revision.
  /// Returns false if there was none.
  ///
  /// - Throws: like every async change; see ``DatabaseError``.
  @discardableResult
  public func delete(_ id: Value.ID) async throws -> Bool { try await documents.delete(documentID(id)) }

  /// Purges a document without blocking the caller's thread. Returns false if there was none.
  ///
  /// - Throws: like every async change; see ``DatabaseError``.
  @discardableResult
  public func purge(_ id: Value.ID) async throws -> Bool { try await documents.purge(documentID(id)) }
}
