import LatewoodDocuments

/// A collection for a piece of work in the background, as it was when the work began.
///
/// Reads and queries show that state until the end of the work, also beside what others save
/// meanwhile and what the work itself saves, and if the collection is dropped. Changes are kept
/// until then, and committed in one batch. See ``Database/background(retries:_:)``.
public struct BackgroundCollection {
  /// The collection of that state, for reads.
  let documents: DocumentCollection
  /// The newest collection, for changes.
  private let newest: DocumentCollection
  private let work: BackgroundDatabase

  init(
    _ collection: DocumentCollection, in state: DocumentSnapshot, of work: BackgroundDatabase
  ) throws(DatabaseError) {
    newest = collection
    documents = DocumentCollection(collection.spaces, of: collection.database, in: state)
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
    try work.checkCancellation()
    return try documents.document(id)
  }

  /// Returns a copy of a document to be changed and saved; a new document of that id if there is
  /// none.
  ///
  /// - Throws: as ``document(_:)``; ``DatabaseError`` `badDocumentID` if there is no document and
  ///   the id is not valid.
  public func mutableDocument(_ id: String) throws -> MutableDocument {
    try work.checkCancellation()
    return try documents.mutableDocument(id)
  }

  /// Returns whether there is a document that is not deleted. O(log n), reads no content.
  ///
  /// - Throws: as ``document(_:)``.
  public func contains(_ id: String) throws -> Bool {
    try work.checkCancellation()
    return try documents.contains(id)
  }

  /// The number of documents that are not deleted. O(log n).
  ///
  /// - Throws: as ``document(_:)``.
  public var count: Int {
    get throws {
      try work.checkCancellation()
      return try documents.count
    }
  }

  /// Returns the documents that a query wants, by id; default: all.
  ///
  /// - Throws: as ``document(_:)``.
  public func documents(_ query: AllDocumentsQuery = AllDocumentsQuery()) throws -> [Document] {
    try work.checkCancellation()
    return try documents.documents(query)
  }

  /// Calls a closure with the documents that a query wants, by id, until it returns false. Keeps
  /// one in memory at a time.
  ///
  /// - Throws: errors of the closure; otherwise as ``document(_:)``.
  public func forEachDocument(
    _ query: AllDocumentsQuery = AllDocumentsQuery(), _ body: (Document) throws -> Bool
  ) throws {
    try documents.forEachDocument(query) { document in
      try work.checkCancellation()
      return try body(document)
    }
  }

  /// Returns a query for documents as they are. See ``Query``. A live query of it shows what is
  /// committed from then on, not this state.
  public func query() -> Query<Document> { documents.query() }

  /// Returns a query for documents decoded as a type. See ``Query``. A live query of it shows what
  /// is committed from then on, not this state.
  public func query<Value: Decodable & Sendable>(_ type: Value.Type) -> Query<Value> {
    documents.query(type)
  }

  // MARK: Changes

  /// Keeps a document to be saved at the end of the work.
  ///
  /// If somebody else has saved it since it was read, that is a conflict then, as for a save
  /// elsewhere, and nothing of the work is saved.
  ///
  /// - Parameters:
  ///   - document: the changed copy, or a new document.
  ///   - control: the rule if somebody else has saved it.
  /// - Throws: ``DatabaseError`` `invalidParameter` if the work changes the document a second time
  ///   or a value cannot be stored; `corruptRevisionData` if a member has a reserved name;
  ///   `notOpen` once the closure has returned; `CancellationError` if the task is cancelled.
  public func save(_ document: MutableDocument, _ control: ConcurrencyControl = .failOnConflict) throws {
    try add(newest.prepare(document, control))
  }

  /// Keeps documents to be saved at the end of the work.
  ///
  /// - Parameters:
  ///   - documents: the documents.
  ///   - control: the rule if somebody else has saved one of them.
  /// - Throws: as saving one; those before it are kept.
  public func save(
    contentsOf documents: some Sequence<MutableDocument>, _ control: ConcurrencyControl = .failOnConflict
  ) throws {
    for document in documents { try save(document, control) }
  }

  /// Keeps a document to be deleted at the end of the work.
  ///
  /// - Parameters:
  ///   - document: the document as it was read. If somebody has saved it since, that is a conflict.
  ///   - members: the content of the deletion.
  ///   - control: the rule if somebody has saved it since.
  /// - Throws: as saving a document. At the end of the work, `notFound` if it is deleted by then.
  public func delete(
    _ document: Document, keeping members: [String: DocumentValue] = [:],
    _ control: ConcurrencyControl = .failOnConflict
  ) throws {
    try add(newest.prepareDeletion(of: document, keeping: members, control))
  }

  func add(_ edit: PreparedEdit) throws { try work.add(edit, in: newest) }

  /// Makes it a conflict if a document is changed by somebody else before the end of the work, or
  /// if there is one by then and was none. For documents that the work has decided by and does not
  /// save.
  ///
  /// - Throws: as ``document(_:)``.
  public func requireUnchanged(_ id: String) throws {
    let (newest, revision) = (newest, try documents.revision(of: id))
    try work.add {
      guard try newest.revision(of: id) != revision else { return }
      throw DatabaseError(
        .conflict, "the document \(id) has changed since the work in the background began")
    }
  }

  /// Makes it a conflict if any document of the collection is saved, deleted, purged or expires
  /// before the end of the work. For work that has decided by the results of queries, or by the
  /// absence of documents.
  ///
  /// - Throws: as ``document(_:)``.
  public func requireUnchanged() throws {
    let (newest, mark) = (newest, try documents.mark())
    try work.add {
      guard try newest.mark() != mark else { return }
      throw DatabaseError(
        .conflict, "the collection \(newest.name) has changed since the work in the background began")
    }
  }
}

extension DocumentCollection {
  /// Returns the mark of the state that reads see.
  fileprivate func mark() throws(DatabaseError) -> CollectionMark {
    let reads = try reads()
    return try translating { () throws(DocumentError) in try reads.mark() }
  }

  /// Returns the current revision of a document, which may be a deletion; nil if there is none.
  fileprivate func revision(of id: String) throws(DatabaseError) -> RevisionID? {
    let reads = try reads()
    return try translating { () throws(DocumentError) in try reads.head(of: id)?.winner }
  }
}
