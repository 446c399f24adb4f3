import LatewoodDocuments

/// A collection in the state in which a piece of background work began.
///
/// Reads and queries show that state until the end of the work, even if documents are saved in the
/// meantime, by others or by the work itself, or the collection is dropped. Changes are collected
/// until then, and committed in one batch. See ``Database/background(retries:_:)``.
public struct BackgroundCollection {
  /// The collection in that state, for reads.
  let documents: DocumentCollection
  /// The newest collection, for changes.
  private let newest: DocumentCollection
  private let work: BackgroundDatabase

  init(
    _ collection: DocumentCollection, in state: BackgroundState, of work: BackgroundDatabase
  ) throws {
    newest = collection
    documents = DocumentCollection(collection.handle, of: collection.database, in: state)
    self.work = work
    _ = try documents.mark()
  }

  /// The name of the collection.
  public var name: String { documents.name }

  // MARK: Reading

  /// Returns a document; nil if there is none or it is deleted. O(log n).
  ///
  /// - Throws: ``DatabaseError`` `notOpen` once the closure has returned or the database is closed;
  ///   `corruptData` or `inputOutput` if the file cannot be read; `CancellationError` if the task
  ///   is cancelled.
  public func document(_ id: String) throws -> Document? {
    try documents.document(id)
  }

  /// Returns a copy of a document to change and save; a new document with that id if none exists.
  ///
  /// - Throws: like ``document(_:)``; ``DatabaseError`` `badDocumentID` if the document does not
  ///   exist and the id is not valid.
  public func mutableDocument(_ id: String) throws -> MutableDocument {
    try documents.mutableDocument(id)
  }

  /// Returns whether an undeleted document with an id exists. O(log n); does not read content.
  ///
  /// - Throws: like ``document(_:)``.
  public func contains(_ id: String) throws -> Bool {
    try documents.contains(id)
  }

  /// The number of undeleted documents. O(log n).
  ///
  /// - Throws: like ``document(_:)``.
  public var count: Int {
    get throws { try documents.count }
  }

  /// Returns the documents that match a query, by id; default: all.
  ///
  /// - Throws: like ``document(_:)``.
  public func documents(_ query: AllDocumentsQuery = AllDocumentsQuery()) throws -> [Document] {
    try documents.documents(query)
  }

  /// Calls a closure with the documents that match a query, by id, until it returns false. Keeps
  /// one in memory at a time.
  ///
  /// - Throws: errors of the closure; otherwise like ``document(_:)``.
  public func forEachDocument(
    _ query: AllDocumentsQuery = AllDocumentsQuery(), _ body: (Document) throws -> Bool
  ) throws {
    try documents.forEachDocument(query) { document in
      try checkCancellation()
      return try body(document)
    }
  }

  /// Returns a query for documents without a type. See ``Query``. Its live query shows the newest
  /// documents, not this state.
  public func query() -> Query<Document> { documents.query() }

  /// Returns a query for documents decoded as a type. See ``Query``. Its live query shows the
  /// newest documents, not this state.
  public func query<Value: Decodable & Sendable>(_ type: Value.Type) -> Query<Value> {
    documents.query(type)
  }

  // MARK: Changes

  /// Schedules a document to be saved at the end of the work.
  ///
  /// If it has been saved elsewhere since it was read, that is a conflict, as for any save, and no
  /// changes of the work are committed.
  ///
  /// - Parameters:
  ///   - document: the changed copy, or a new document.
  ///   - control: the rule for a conflict.
  /// - Throws: ``DatabaseError`` `invalidParameter` if the work changes the document a second time
  ///   or a value cannot be stored; `corruptRevisionData` if a member has a reserved name;
  ///   `notOpen` once the closure has returned; `CancellationError` if the task is cancelled.
  public func save(_ document: MutableDocument, _ control: ConcurrencyControl = .failOnConflict) throws {
    try add(newest.prepare(document, control))
  }

  /// Schedules documents to be saved at the end of the work.
  ///
  /// - Parameters:
  ///   - documents: the documents.
  ///   - control: the rule for a conflict.
  /// - Throws: like saving one; earlier documents stay scheduled.
  public func save(
    contentsOf documents: some Sequence<MutableDocument>, _ control: ConcurrencyControl = .failOnConflict
  ) throws {
    for document in documents { try save(document, control) }
  }

  /// Schedules a document to be deleted at the end of the work.
  ///
  /// - Parameters:
  ///   - document: the document. If it has been saved elsewhere since it was read, that is a
  ///     conflict.
  ///   - members: the content of the deletion.
  ///   - control: the rule for a conflict.
  /// - Throws: like saving a document. At the end of the work, `notFound` if the document has
  ///   already been deleted.
  public func delete(
    _ document: Document, keeping members: [String: DocumentValue] = [:],
    _ control: ConcurrencyControl = .failOnConflict
  ) throws {
    try add(newest.prepareDeletion(of: document, keeping: members, control))
  }

  func checkCancellation() throws { try work.checkCancellation() }

  func add(_ edit: PreparedEdit) throws { try work.add(edit, in: newest) }

  /// Treats it as a conflict if a document is changed or created elsewhere before the end of the
  /// work. For documents that the work depends on but does not save.
  ///
  /// - Throws: like ``document(_:)``.
  public func requireUnchanged(_ id: String) throws {
    let (newest, revision) = (newest, try documents.revision(of: id))
    try work.add {
      guard try newest.revision(of: id) != revision else { return }
      throw DatabaseError(
        .conflict, "the document \(id) has changed since the background work began")
    }
  }

  /// Treats it as a conflict if any document of the collection is saved, deleted or purged, or
  /// expires, before the end of the work. For work that depends on the results of queries or the
  /// absence of documents.
  ///
  /// - Throws: like ``document(_:)``.
  public func requireUnchanged() throws {
    let (newest, mark) = (newest, try documents.mark())
    try work.add {
      guard try newest.mark() != mark else { return }
      throw DatabaseError(
        .conflict, "the collection \(newest.name) has changed since the background work began")
    }
  }
}

extension DocumentCollection {
  /// Returns the mark of the state that reads see.
  fileprivate func mark() throws -> CollectionMark {
    let reads = try reads()
    return try reads.mark()
  }

  /// Returns the current revision of a document, which may be a deletion; nil if there is none.
  fileprivate func revision(of id: String) throws -> RevisionID? {
    let reads = try reads()
    return try reads.head(of: id)?.winner
  }
}
