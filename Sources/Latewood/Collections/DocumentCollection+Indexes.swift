import LatewoodDocuments
import LatewoodQuery

/// Indexes: sorted fields of documents, updated by every save.
extension DocumentCollection {
  /// Creates an index, which queries use automatically.
  ///
  /// ```swift
  /// try people.createIndex("by city", on: ["address.city", .descending("age")])
  /// try people.createIndex("by mail", on: ["mail"], where: { $0["isActive"] == true }, unique: true)
  /// ```
  ///
  /// An index changes in the same transaction as the documents, so it always agrees with them. If
  /// an index with the same definition already exists, the call does nothing. On a collection with
  /// documents the index is built in many small transactions, so that others can read and write in
  /// between; if a crash or a full disk interrupts the build, another call continues it. In a batch
  /// the build is part of the batch. O(documents · log n).
  ///
  /// - Parameters:
  ///   - name: 1 to 251 bytes of UTF-8 without control characters.
  ///   - fields: 1 to 8 fields, the most significant first.
  ///   - condition: a condition that documents must meet to be in the index. A query uses the index
  ///     if its own conditions include this one.
  ///   - unique: whether saving throws `notUnique` if another document has the same values. A
  ///     document in which one of the fields is missing or null is never a duplicate. Revisions
  ///     from another replica are never refused.
  ///   - progress: called after each step outside a batch. If it throws, the index is dropped,
  ///     unless it was complete before the call, or another caller has completed it.
  /// - Throws: any error of `progress`; ``DatabaseError`` `invalidParameter` if the definition is
  ///   not valid, `conflict` if another index has the name, `notUnique` if two documents have the
  ///   same values; `notWritable`, `notOpen`.
  public func createIndex(
    _ name: String, on fields: [IndexField],
    where condition: ((QueryDocument<Document>) -> QueryCondition)? = nil, unique: Bool = false,
    progress: (IndexBuildProgress) throws -> Void = { _ in }
  ) throws {
    let definition = try Self.definition(fields, condition.map { $0(QueryDocument()) }, unique)
    try build(name, definition, check: {}, progress)
  }

  /// Creates an index of the stored members of a type: see
  /// ``createIndex(_:on:where:unique:progress:)-714oc``.
  ///
  /// ```swift
  /// try movies.createIndex("by year", of: Movie.self) { ($0.year.descending, $0.title) }
  /// try movies.createIndex("by actor", of: Movie.self) { $0.cast.each }
  /// ```
  ///
  /// - Throws: the same as ``createIndex(_:on:where:unique:progress:)-714oc``; `invalidParameter`
  ///   also if the coding key of a member cannot be determined: see ``QueryField``.
  public func createIndex<Value, each Field: IndexFieldSource>(
    _ name: String, of type: Value.Type,
    where condition: ((QueryDocument<Value>) -> QueryCondition)? = nil, unique: Bool = false,
    on fields: (QueryDocument<Value>) -> (repeat each Field)
  ) throws {
    try build(name, Self.definition(fields, condition, unique), check: {}, { _ in })
  }

  /// Creates an index without blocking the caller's thread. If the task is cancelled before the
  /// index is built, the index is dropped and this throws `CancellationError`.
  ///
  /// - Parameters:
  ///   - name: 1 to 251 bytes of UTF-8 without control characters.
  ///   - fields: 1 to 8 fields, the most significant first.
  ///   - condition: a condition that documents must meet to be in the index.
  ///   - unique: whether saving throws `notUnique` if another document has the same values.
  ///   - progress: called after each step, on a Dispatch queue. If it throws, the index is dropped,
  ///     unless it was complete before the call, or another caller has completed it.
  /// - Throws: the errors of the blocking form; `CancellationError` if the task is cancelled before
  ///   the index is built.
  nonisolated(nonsending) public func createIndex(
    _ name: String, on fields: [IndexField],
    where condition: ((QueryDocument<Document>) -> QueryCondition)? = nil, unique: Bool = false,
    progress: @escaping @Sendable (IndexBuildProgress) throws -> Void = { _ in }
  ) async throws {
    let definition = try Self.definition(fields, condition.map { $0(QueryDocument()) }, unique)
    try await buildUnlessCancelled(name, definition, progress)
  }

  /// Creates an index of the stored members of a type without blocking the caller's thread. If the
  /// task is cancelled before the index is built, the index is dropped and this throws
  /// `CancellationError`.
  ///
  /// - Throws: the errors of the blocking form; `CancellationError` if the task is cancelled before
  ///   the index is built.
  nonisolated(nonsending) public func createIndex<Value, each Field: IndexFieldSource>(
    _ name: String, of type: Value.Type,
    where condition: ((QueryDocument<Value>) -> QueryCondition)? = nil, unique: Bool = false,
    on fields: (QueryDocument<Value>) -> (repeat each Field)
  ) async throws {
    try await buildUnlessCancelled(name, Self.definition(fields, condition, unique)) { _ in }
  }

  private func buildUnlessCancelled(
    _ name: String, _ definition: IndexDefinition,
    _ progress: @escaping @Sendable (IndexBuildProgress) throws -> Void
  ) async throws {
    try await performUnlessCancelled { [self] check in
      try build(name, definition, check: check, progress)
    }
  }

  /// Calls a closure on the queue of the database, with a check that throws `CancellationError`
  /// once the task is cancelled.
  func performUnlessCancelled(
    _ build: @escaping @Sendable (_ check: () throws -> Void) throws -> Void
  ) async throws {
    try await database.cancellable { database, check in
      try await database.documents.perform {
        try check()
        try build(check)
      }
    }
  }

  /// - Parameter check: called before and after each step. If it throws, the step is not taken, and
  ///   the index is dropped.
  private func build(
    _ name: String, _ definition: IndexDefinition, check: () throws -> Void,
    _ progress: (IndexBuildProgress) throws -> Void
  ) throws {
    try documents.createIndex(name, definition, in: handle, progress: progress, check: check)
  }

  private static func definition<Value, each Field: IndexFieldSource>(
    _ fields: (QueryDocument<Value>) -> (repeat each Field),
    _ condition: ((QueryDocument<Value>) -> QueryCondition)?, _ isUnique: Bool
  ) throws -> IndexDefinition {
    var list: [IndexField] = []
    for field in repeat each fields(QueryDocument()) { list.append(field.indexField) }
    return try definition(list, condition.map { $0(QueryDocument()) }, isUnique)
  }

  private static func definition(
    _ fields: [IndexField], _ condition: QueryCondition?, _ isUnique: Bool
  ) throws -> IndexDefinition {
    var parts: [IndexDefinition.Part] = []
    for field in fields { parts.append(try field.part.get()) }
    let predicate = try condition?.predicate.get()
    do throws(QueryError) {
      return try IndexDefinition(parts, where: predicate, isUnique: isUnique)
    } catch {
      throw DatabaseError(.invalidParameter, error.description)
    }
  }

  /// Drops an index. O(log n).
  ///
  /// - Returns: false if no index has that name.
  /// - Throws: ``DatabaseError`` `busy` inside a batch; otherwise like every change.
  @discardableResult
  public func dropIndex(_ name: String) throws -> Bool {
    try documents.dropIndex(name, in: handle)
  }

  /// Drops an index without blocking the caller's thread. Otherwise like the blocking form.
  ///
  /// - Returns: false if no index has that name.
  /// - Throws: like every async change; see ``DatabaseError``.
  @discardableResult
  public func dropIndex(_ name: String) async throws -> Bool {
    try await database.cancellable { [handle] database, check in
      try await database.documents.dropIndex(name, in: handle, check: check)
    }
  }

  /// The indexes, by name.
  ///
  /// - Throws: ``DatabaseError`` like every read.
  public var indexes: [DocumentIndex] {
    get throws {
      try reads().indexList()
    }
  }
}
