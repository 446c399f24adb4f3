/// A collection of values of one `Codable` type for a piece of work in the background, as it was
/// when the work began.
///
/// Reads and queries show that state until the end of the work, also beside what others save
/// meanwhile and what the work itself saves, and if the collection is dropped. Changes are kept
/// until then, and committed in one batch. See ``Database/background(retries:_:)``.
public struct TypedBackgroundCollection<Value: Codable & Identifiable & Sendable> where Value.ID: Sendable {
  /// The collection without the type.
  public let documents: BackgroundCollection
  private let values: TypedCollection<Value>
  private let work: BackgroundDatabase

  init(_ documents: BackgroundCollection, _ values: TypedCollection<Value>, of work: BackgroundDatabase) {
    self.documents = documents
    self.values = values
    self.work = work
  }

  // MARK: Reading

  /// Returns a document with its revision; nil if there is none. O(log n).
  ///
  /// - Throws: ``DatabaseError`` `notOpen` once the closure has returned or the database is closed;
  ///   `corruptData` or `inputOutput` if the file cannot be read; the `DecodingError` of a document
  ///   that is not of the type; `CancellationError` if the task is cancelled.
  public func document(_ id: Value.ID) throws -> Stored<Value>? {
    try work.checkCancellation()
    return try values.document(id)
  }

  /// Returns whether there is a document of an id. O(log n), reads no content.
  ///
  /// - Throws: as ``document(_:)``, but no `DecodingError`.
  public func contains(_ id: Value.ID) throws -> Bool {
    try work.checkCancellation()
    return try values.contains(id)
  }

  /// The number of documents. O(log n).
  ///
  /// - Throws: as ``document(_:)``, but no `DecodingError`.
  public var count: Int { get throws { try documents.count } }

  /// Returns the documents that a query wants, by id; default: all.
  ///
  /// - Throws: as ``document(_:)``.
  public func all(_ query: AllDocumentsQuery = AllDocumentsQuery()) throws -> [Stored<Value>] {
    try work.checkCancellation()
    return try values.all(query)
  }

  /// Calls a closure with the documents that a query wants, by id, until it returns false. Keeps
  /// one in memory at a time. Deleted documents are left out, whatever the query says.
  ///
  /// - Throws: errors of the closure; otherwise as ``document(_:)``.
  public func forEach(
    _ query: AllDocumentsQuery = AllDocumentsQuery(), _ body: (Stored<Value>) throws -> Bool
  ) throws {
    try values.forEach(query) { document in
      try work.checkCancellation()
      return try body(document)
    }
  }

  /// Returns a query of the collection: see ``Query``. Its results know their revisions. A live
  /// query of it shows what is committed from then on, not this state.
  public func query() -> Query<Stored<Value>> { values.query() }

  // MARK: Changes

  /// Keeps a new value to be saved at the end of the work. If there is a document of its id by
  /// then, that is a conflict: then nothing of the work is saved.
  ///
  /// - Parameters:
  ///   - value: the value.
  ///   - control: the rule if there is a document; `.lastWriteWins` replaces it.
  /// - Throws: ``DatabaseError`` `invalidParameter` if the work changes the document a second time;
  ///   `badDocumentID` if the id of the value is not valid; `notOpen` once the closure has
  ///   returned; the `EncodingError` of a value that cannot be stored; `CancellationError` if the
  ///   task is cancelled.
  public func save(_ value: Value, _ control: ConcurrencyControl = .failOnConflict) throws {
    try documents.add(values.prepare(value, control))
  }

  /// Keeps a changed value to be saved at the end of the work. If somebody else has saved or
  /// deleted the document since the work began, that is a conflict: then nothing of the work is
  /// saved.
  ///
  /// - Parameters:
  ///   - document: the changed value.
  ///   - control: the rule if somebody else has saved it.
  /// - Throws: as saving a new value; ``DatabaseError`` `invalidParameter` if the id of the value
  ///   was changed.
  public func save(_ document: Stored<Value>, _ control: ConcurrencyControl = .failOnConflict) throws {
    try documents.add(values.prepare(document, control))
  }

  /// Keeps new values to be saved at the end of the work.
  ///
  /// - Parameters:
  ///   - values: the values.
  ///   - control: the rule if there is a document of one of the ids.
  /// - Throws: as saving one; those before it are kept.
  public func save(
    contentsOf values: some Sequence<Value>, _ control: ConcurrencyControl = .failOnConflict
  ) throws {
    for value in values { try save(value, control) }
  }

  /// Keeps a document to be deleted at the end of the work.
  ///
  /// - Parameters:
  ///   - document: the document as it was read. If somebody has saved it since, that is a conflict.
  ///   - control: the rule if somebody has saved it since.
  /// - Throws: ``DatabaseError`` `invalidParameter` if the work changes the document a second time;
  ///   `notOpen` once the closure has returned; `CancellationError` if the task is cancelled. At
  ///   the end of the work, `notFound` if it is deleted by then.
  public func delete(_ document: Stored<Value>, _ control: ConcurrencyControl = .failOnConflict) throws {
    try documents.add(values.prepareDeletion(document, control))
  }

  /// Makes it a conflict if a document is changed by somebody else before the end of the work, or
  /// if there is one by then and was none. For documents that the work has decided by and does not
  /// save.
  ///
  /// - Throws: as ``document(_:)``, but no `DecodingError`.
  public func requireUnchanged(_ id: Value.ID) throws {
    try documents.requireUnchanged(values.documentID(id))
  }

  /// Makes it a conflict if any document of the collection is saved, deleted, purged or expires
  /// before the end of the work. For work that has decided by the results of queries, or by the
  /// absence of documents.
  ///
  /// - Throws: as ``document(_:)``, but no `DecodingError`.
  public func requireUnchanged() throws { try documents.requireUnchanged() }
}
