import LatewoodDocuments

/// A collection of values of one `Codable` type, in the state in which a piece of background work
/// began.
///
/// Reads and queries show that state until the end of the work, even if documents are saved in the
/// meantime, by others or by the work itself, or the collection is dropped. Changes are collected
/// until then, and committed in one batch. See ``Database/background(retries:_:)``.
public struct TypedBackgroundCollection<Value: Codable & Identifiable & Sendable> where Value.ID: Sendable {
  /// The collection without the type.
  public let documents: BackgroundCollection
  private let values: TypedCollection<Value>

  init(_ documents: BackgroundCollection, _ values: TypedCollection<Value>) {
    self.documents = documents
    self.values = values
  }

  // MARK: Reading

  /// Returns a document with its revision; nil if there is none. O(log n).
  ///
  /// - Throws: ``DatabaseError`` `notOpen` once the closure has returned or the database is closed;
  ///   `corruptData` or `inputOutput` if the file cannot be read; the `DecodingError` of a document
  ///   that is not of the type; `CancellationError` if the task is cancelled.
  public func document(_ id: Value.ID) throws -> Stored<Value>? {
    try values.document(id)
  }

  /// Returns whether a document with an id exists. O(log n); does not read content.
  ///
  /// - Throws: like ``document(_:)``, but no `DecodingError`.
  public func contains(_ id: Value.ID) throws -> Bool {
    try values.contains(id)
  }

  /// The number of documents. O(log n).
  ///
  /// - Throws: like ``document(_:)``, but no `DecodingError`.
  public var count: Int { get throws { try documents.count } }

  /// Returns the documents that match a query, by id; default: all.
  ///
  /// - Throws: like ``document(_:)``.
  public func all(_ query: AllDocumentsQuery = AllDocumentsQuery()) throws -> [Stored<Value>] {
    try values.all(query)
  }

  /// Calls a closure with the documents that match a query, by id, until it returns false. Keeps
  /// one in memory at a time. Deleted documents are left out, regardless of the query.
  ///
  /// - Throws: errors of the closure; otherwise like ``document(_:)``.
  public func forEach(
    _ query: AllDocumentsQuery = AllDocumentsQuery(), _ body: (Stored<Value>) throws -> Bool
  ) throws {
    try values.forEach(query) { document in
      try documents.checkCancellation()
      return try body(document)
    }
  }

  /// Returns a query of the collection: see ``Query``. Its results include their revisions. Its
  /// live query shows the newest documents, not this state.
  public func query() -> Query<Stored<Value>> { values.query() }

  // MARK: Changes

  /// Schedules a new value to be saved at the end of the work. If a document with its id exists by
  /// then, that is a conflict, and no changes of the work are committed.
  ///
  /// - Parameters:
  ///   - value: the value.
  ///   - control: the rule for a conflict; `.lastWriteWins` replaces the document.
  /// - Throws: ``DatabaseError`` `invalidParameter` if the work changes the document a second time;
  ///   `badDocumentID` if the id of the value is not valid; `notOpen` once the closure has
  ///   returned; the `EncodingError` of a value that cannot be stored; `CancellationError` if the
  ///   task is cancelled.
  public func save(_ value: Value, _ control: ConcurrencyControl = .failOnConflict) throws {
    try documents.add(values.prepare(value, control))
  }

  /// Schedules a changed value to be saved at the end of the work. If the document has been saved
  /// or deleted elsewhere since it was read, that is a conflict, and no changes of the work are
  /// committed.
  ///
  /// - Parameters:
  ///   - document: the changed value.
  ///   - control: the rule for a conflict.
  /// - Throws: like saving a new value; ``DatabaseError`` `invalidParameter` if the id of the value
  ///   was changed.
  public func save(_ document: Stored<Value>, _ control: ConcurrencyControl = .failOnConflict) throws {
    try documents.add(values.prepare(document, control))
  }

  /// Schedules new values to be saved at the end of the work.
  ///
  /// - Parameters:
  ///   - values: the values.
  ///   - control: the rule for a conflict.
  /// - Throws: like saving one; earlier values stay scheduled.
  public func save(
    contentsOf values: some Sequence<Value>, _ control: ConcurrencyControl = .failOnConflict
  ) throws {
    for value in values { try save(value, control) }
  }

  /// Schedules a document to be deleted at the end of the work.
  ///
  /// - Parameters:
  ///   - document: the document. If it has been saved elsewhere since it was read, that is a
  ///     conflict.
  ///   - control: the rule for a conflict.
  /// - Throws: ``DatabaseError`` `invalidParameter` if the work changes the document a second time;
  ///   `notOpen` once the closure has returned; `CancellationError` if the task is cancelled. At
  ///   the end of the work, `notFound` if the document has already been deleted.
  public func delete(_ document: Stored<Value>, _ control: ConcurrencyControl = .failOnConflict) throws {
    try documents.add(values.prepareDeletion(document, control))
  }

  /// Treats it as a conflict if a document is changed or created elsewhere before the end of the
  /// work. For documents that the work depends on but does not save.
  ///
  /// - Throws: like ``document(_:)``, but no `DecodingError`.
  public func requireUnchanged(_ id: Value.ID) throws {
    try documents.requireUnchanged(values.documentID(id))
  }

  /// Treats it as a conflict if any document of the collection is saved, deleted or purged, or
  /// expires, before the end of the work. For work that depends on the results of queries or the
  /// absence of documents.
  ///
  /// - Throws: like ``document(_:)``, but no `DecodingError`.
  public func requireUnchanged() throws { try documents.requireUnchanged() }
}
