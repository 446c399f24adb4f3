import LatewoodDevice
import LatewoodDocuments
import LatewoodQuery

/// An index of a collection.
public struct DocumentIndex: Sendable, Equatable {
  public let name: String
  /// Its fields as they are written: `address.city`, `age:desc`, `cast[]`.
  public let fields: [String]
  public let isUnique: Bool
  /// Whether it has only the documents that obey a condition.
  public let isPartial: Bool
  /// Whether it has been built. Queries do not use it before.
  public let isReady: Bool
  /// How many entries it has.
  public let count: Int
}

/// How far the making of an index has come.
public struct IndexBuildProgress: Sendable, Equatable {
  /// Documents that have been looked at, deleted ones among them.
  public let completed: Int
  /// Documents that there are, deleted ones among them.
  public let total: Int
}

/// Indexes: fields of documents in order, kept up to date with every save.
extension DocumentCollection {
  /// Makes an index, which queries use by themselves.
  ///
  /// ```swift
  /// try people.createIndex("by city", on: ["address.city", .descending("age")])
  /// try people.createIndex("by mail", on: ["mail"], where: { $0["isActive"] == true }, unique: true)
  /// ```
  ///
  /// It changes in the same transaction as a document, so it always agrees with them. One that is
  /// there already with the same definition stays as it is. On a collection with documents it is
  /// built in many small transactions, between which others read and write; if that is interrupted
  /// by a crash or a full disk, another call goes on. In a batch it is part of the batch.
  /// O(documents · log n).
  ///
  /// - Parameters:
  ///   - name: 1 to 251 bytes of UTF-8 without control characters.
  ///   - fields: 1 to 8 of them; the first decides before the others.
  ///   - condition: what documents must obey to be in the index. A query uses it if it has the same
  ///     conditions among its own.
  ///   - unique: whether saving throws `notUnique` if another document has the same values. A
  ///     document that lacks one, or has null there, is never a duplicate; and what another replica
  ///     has made is never refused.
  ///   - progress: called after each step outside of a batch. If it throws, the index is dropped.
  /// - Throws: what `progress` throws; ``DatabaseError`` `invalidParameter` if there can be no such
  ///   index, `conflict` if another has the name, `notUnique` if two documents have the same
  ///   values; `notWritable`, `notOpen`.
  public func createIndex(
    _ name: String, on fields: [IndexField],
    where condition: ((QueryDocument<Document>) -> QueryCondition)? = nil, unique: Bool = false,
    progress: (IndexBuildProgress) throws -> Void = { _ in }
  ) throws {
    let definition = try Self.definition(fields, condition.map { $0(QueryDocument()) }, unique)
    try createIndex(name, definition, progress)
  }

  /// Makes an index of the stored members of a type: see
  /// ``createIndex(_:on:where:unique:progress:)``.
  ///
  /// ```swift
  /// try movies.createIndex("by year", of: Movie.self) { ($0.year.descending, $0.title) }
  /// try movies.createIndex("by actor", of: Movie.self) { $0.cast.each }
  /// ```
  public func createIndex<Value, each Field: IndexFieldSource>(
    _ name: String, of type: Value.Type,
    where condition: ((QueryDocument<Value>) -> QueryCondition)? = nil, unique: Bool = false,
    on fields: (QueryDocument<Value>) -> (repeat each Field)
  ) throws {
    var list: [IndexField] = []
    for field in repeat each fields(QueryDocument()) { list.append(field.indexField) }
    let definition = try Self.definition(list, condition.map { $0(QueryDocument()) }, unique)
    try createIndex(name, definition) { _ in }
  }

  /// Makes an index without blocking the caller's thread. If the task is cancelled before it is
  /// built, there is none, and this throws `CancellationError`.
  public func createIndex(
    _ name: String, on fields: [IndexField],
    where condition: ((QueryDocument<Document>) -> QueryCondition)? = nil, unique: Bool = false
  ) async throws {
    let definition = try Self.definition(fields, condition.map { $0(QueryDocument()) }, unique)
    let isCancelled = Guarded(Task.isCancelled)
    try await withTaskCancellationHandler {
      try await database.performing { [self] in
        try createIndex(name, definition) { _ in
          if isCancelled.withLock({ $0 }) { throw CancellationError() }
        }
      }
    } onCancel: {
      isCancelled.withLock { $0 = true }
    }
  }

  private func createIndex(
    _ name: String, _ definition: IndexDefinition, _ progress: (IndexBuildProgress) throws -> Void
  ) throws {
    do {
      try documents.createIndex(name, definition, in: spaces) { step in
        try progress(IndexBuildProgress(completed: step.documents, total: step.total))
      }
    } catch { throw DatabaseError.translated(error) }
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

  /// Drops an index. O(log n). Throws `busy` in a batch.
  ///
  /// - Returns: false if there is none of the name.
  @discardableResult
  public func dropIndex(_ name: String) throws(DatabaseError) -> Bool {
    try translating { () throws(DocumentError) in try documents.dropIndex(name, in: spaces) }
  }

  /// The indexes, by name.
  public var indexes: [DocumentIndex] {
    get throws(DatabaseError) {
      let reads = try reads()
      return try translating { () throws(DocumentError) in
        try reads.indexList().map { index in
          DocumentIndex(
            name: index.name, fields: index.definition.parts.map(\.text),
            isUnique: index.definition.isUnique, isPartial: index.definition.condition != nil,
            isReady: index.isReady, count: index.entries)
        }
      }
    }
  }
}
