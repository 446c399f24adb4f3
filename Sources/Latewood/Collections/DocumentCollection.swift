import LatewoodConcurrency
import LatewoodDocuments
import LatewoodFleece

/// A named collection of documents in a database.
///
/// After the collection is dropped, every call throws `notFound`, even if another collection has
/// its name by then. The same applies if it was created in a batch that failed.
///
/// Thread safety: all calls from any thread.
public final class DocumentCollection: Sendable {
  /// The database that the collection belongs to.
  public let database: Database
  package let handle: CollectionHandle
  /// The name of the collection.
  public var name: String { handle.name }
  /// The identity of the collection: 32 hexadecimal digits that no other collection has, not even a
  /// later one with the same name. Use it as a key for records about the collection that are kept
  /// elsewhere, such as how far a replica has read its feed. A copy of the database keeps the
  /// identities of its collections, but has a different ``Database/identity``.
  public var identity: String {
    handle.identity.bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  /// The state that all reads see; nil for the newest state, or the state of this thread's batch.
  private let state: BackgroundState?

  init(_ handle: CollectionHandle, of database: Database, in state: BackgroundState? = nil) {
    self.handle = handle
    self.database = database
    self.state = state
  }

  var documents: DocumentStore { database.documents }

  func reads() throws -> DocumentReads {
    if let state { return try state.reads(handle) }
    return try documents.reads(handle)
  }

  // MARK: Reading

  /// Returns the current revision of a document; nil if there is none or it is deleted. O(log n).
  ///
  /// - Throws: ``DatabaseError`` like every read.
  public func document(_ id: String) throws -> Document? {
    guard let (head, body) = try reads().document(id) else { return nil }
    return Document(id, head, body)
  }

  /// The current revision of a document; nil if there is none, or it is deleted or unreadable.
  public subscript(id: String) -> Document? {
    do { return try document(id) } catch { return nil }
  }

  /// Returns an editable copy of a document; a new document with that id if none exists.
  ///
  /// ```swift
  /// var settings = try await people.mutableDocument("settings")
  /// settings["theme"] = "dark"
  /// try await people.save(settings)
  /// ```
  ///
  /// - Throws: ``DatabaseError`` `badDocumentID` if the id is not valid.
  public func mutableDocument(_ id: String) throws -> MutableDocument {
    try document(id)?.toMutable() ?? MutableDocument(id: id)
  }

  /// Returns whether an undeleted document with an id exists. O(log n); does not read content.
  ///
  /// - Throws: ``DatabaseError`` like every read.
  public func contains(_ id: String) throws -> Bool {
    let reads = try reads()
    return try reads.head(of: id)?.isDeleted == false
  }

  /// The number of documents that are not deleted. O(log n).
  ///
  /// - Throws: ``DatabaseError`` like every read.
  public var count: Int {
    get throws {
      let reads = try reads()
      return try reads.totals().documents
    }
  }

  // MARK: Writing

  /// Runs a change, alone or as part of the batch that this thread is in.
  func write<R>(_ body: (DocumentWriter) throws -> R) throws(DatabaseError) -> R {
    do {
      // Not `write` of the layer below, which the compiler does not specialize here.
      var result = ClosureResult<R>()
      try documents.run { writer in result.value = try body(writer) }
      return result.get()
    } catch { throw DatabaseError.from(error) }
  }

  /// Saves a document as a new revision.
  ///
  /// Saving a copy of a revision that is no longer current is a conflict, and so is saving a new
  /// document whose id is taken, even if the content is equal. A new document with the id of a
  /// deleted one continues its history. The content of its blobs need not be in this database: see
  /// ``Database/content(of:)-810bu``.
  ///
  /// - Returns: the saved document. Change a copy of it to save again.
  /// - Throws: ``DatabaseError`` `conflict`; `corruptRevisionData` if a member has a reserved name;
  ///   `invalidParameter` if a value cannot be stored; `notWritable`, `notOpen`, `inputOutput`.
  @discardableResult
  public func save(
    _ document: MutableDocument, _ control: ConcurrencyControl = .failOnConflict
  ) throws -> Document {
    try save(prepare(document, control))
  }

  /// Saves a document, and calls a handler if someone else has saved it since it was read.
  ///
  /// - Parameters:
  ///   - document: the changed copy.
  ///   - handler: receives the document to save, which it can change, and the current revision,
  ///     which is nil if the document is deleted. If it returns true, its document replaces the
  ///     current revision; otherwise nothing is saved. It is called again if someone else has saved
  ///     in the meantime. It must not save.
  /// - Returns: the saved document; nil if the handler returned false.
  /// - Throws: any error of the handler; the errors of saving a document, except `conflict`.
  @discardableResult
  public func save(
    _ document: MutableDocument, conflictHandler handler: (inout MutableDocument, Document?) throws -> Bool
  ) throws -> Document? {
    var document = document
    while true {
      do throws(DatabaseError) {
        return try save(prepare(document, .failOnConflict))
      } catch {
        guard error.code == .conflict else { throw error }
      }
      guard let next = try rebased(document, by: handler) else { return nil }
      document = next
    }
  }

  /// Returns what a handler makes of a document that someone else has saved; nil if it refuses.
  func rebased(
    _ document: MutableDocument, by handler: (inout MutableDocument, Document?) throws -> Bool
  ) throws -> MutableDocument? {
    var document = document
    let current = try self.document(document.id)
    return try handler(&document, current) ? document.rebased(on: current) : nil
  }

  /// Reads, changes and saves a document. Repeats that if someone else has saved in between, so
  /// that no change is lost.
  ///
  /// ```swift
  /// try people.update("anna") { $0["city"] = "Lisboa" }
  /// try counters.update("visits") { counter in
  ///   guard counter.int("count") < limit else { return false }     // saves nothing
  ///   counter["count"].int = counter.int("count") + 1
  ///   return true
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - id: the id of the document; if it does not exist, the change begins with an empty
  ///     document.
  ///   - change: changes the document, or sets ``MutableDocument/isDeleted`` to delete it. It
  ///     returns false if nothing should be saved, otherwise true or no value. It may be called
  ///     more than once. It must not save.
  /// - Returns: the saved document; nil if the change returned false.
  /// - Throws: any error of the change; the errors of saving a document, except `conflict`;
  ///   `badDocumentID` if the document does not exist and the id is not valid.
  @discardableResult
  public func update<Answer>(
    _ id: String, _ change: (inout MutableDocument) throws -> Answer
  ) throws -> Document? {
    while true {
      guard let edit = try edited(id, change) else { return nil }
      do throws(DatabaseError) { return try save(edit) } catch {
        guard error.code == .conflict else { throw error }
      }
    }
  }

  /// Reads and changes a document; returns nil if the change returned false.
  func edited<Answer>(
    _ id: String, _ change: (inout MutableDocument) throws -> Answer
  ) throws -> PreparedEdit? {
    var document = try mutableDocument(id)
    return try change(&document) as? Bool ?? true ? prepare(document, .failOnConflict) : nil
  }

  /// Saves an `Encodable` value under an id. In a ``TypedCollection``, values carry their
  /// revisions.
  ///
  /// - Parameters:
  ///   - value: the value; see ``MutableDocument/init(id:encoding:)``.
  ///   - id: the id of the document.
  ///   - control: the rule if there is a document; default: the value replaces it.
  /// - Throws: the `EncodingError` of a value that cannot be stored; ``DatabaseError``
  ///   `badDocumentID` if the id is not valid; the errors of saving a document.
  @discardableResult
  public func save(
    _ value: some Encodable, as id: String, _ control: ConcurrencyControl = .lastWriteWins
  ) throws -> Document {
    try save(MutableDocument(id: id, encoding: value), control)
  }

  /// Saves documents in one batch: all or none, and far faster than individually.
  ///
  /// - Parameters:
  ///   - documents: the documents to save.
  ///   - control: the rule if someone else has saved one of them since it was read. With
  ///     `.failOnConflict` nothing is saved then.
  /// - Returns: the saved documents, in the same order.
  /// - Throws: the errors of saving a document; then nothing is saved.
  @discardableResult
  public func save(
    contentsOf documents: some Sequence<MutableDocument>, _ control: ConcurrencyControl = .failOnConflict
  ) throws -> [Document] {
    let edits = try documents.map { try prepare($0, control) }
    return try database.inBatch { try edits.map { try save($0) } }
  }

  /// Returns a document decoded as any `Decodable` type; nil if there is none.
  ///
  /// - Throws: ``DatabaseError`` like every read; the `DecodingError` of a document that is not of
  ///   the type.
  public func decode<T: Decodable>(_ type: T.Type, from id: String) throws -> T? {
    try document(id)?.decode(as: type, in: name)
  }

  /// Deletes a document by adding a revision, so that other replicas receive the deletion.
  ///
  /// - Parameters:
  ///   - document: the document as it was read. If someone has saved it since, that is a conflict.
  ///   - members: the content of the deletion. Its blobs are kept.
  ///   - control: the rule if someone has saved it since.
  /// - Throws: ``DatabaseError`` `conflict`; `notFound` if it is already deleted, by anyone.
  public func delete(
    _ document: Document, keeping members: [String: DocumentValue] = [:],
    _ control: ConcurrencyControl = .failOnConflict
  ) throws {
    try save(prepareDeletion(of: document, keeping: members, control))
  }

  /// Deletes a document, regardless of its current revision. Returns false if there was none.
  ///
  /// - Throws: ``DatabaseError`` `badDocumentID` if the id is not valid; otherwise like every
  ///   change.
  @discardableResult
  public func delete(_ id: String) throws -> Bool {
    let body = try MutableDocument(id: id).encodedBody()
    return try write { writer in
      guard let head = try writer.reads(handle).head(of: id), !head.isDeleted else { return false }
      _ = try writer.save(
        id, in: handle, body: body, parent: head.winner, isDeleted: true, policy: .lastWriteWins)
      return true
    }
  }

  /// Removes a document and all its revisions without a trace. Other replicas are not notified.
  /// Returns false if there was none.
  ///
  /// - Throws: ``DatabaseError`` like every change.
  @discardableResult
  public func purge(_ id: String) throws -> Bool {
    try write { writer in try writer.purge(id, in: handle) }
  }

  /// Removes a document and all its revisions without a trace, including those saved since it was
  /// read. Other replicas are not notified. Returns false if there was none.
  ///
  /// - Throws: ``DatabaseError`` like every change.
  @discardableResult
  public func purge(_ document: some DocumentContent) throws -> Bool { try purge(document.id) }
}

extension Document {
  init(_ id: String, _ head: DocumentRecord.Head, _ body: [UInt8]) {
    var flags: DocumentFlags = []
    if head.isDeleted { flags.insert(.deleted) }
    if head.hasConflicts { flags.insert(.conflicted) }
    self.init(
      id: id, revision: head.winner, sequence: head.sequence, flags: flags, body: body)
  }

  init(_ id: String, _ saved: SavedRevision, _ body: [UInt8], isDeleted: Bool = false) {
    var flags: DocumentFlags = saved.hasConflicts ? .conflicted : []
    if isDeleted { flags.insert(.deleted) }
    self.init(id: id, revision: saved.revision, sequence: saved.sequence, flags: flags, body: body)
  }

  var parsedRevision: RevisionID {
    get throws(DatabaseError) {
      if let revision { return revision }
      throw DatabaseError(.badRevisionID, "\(id) is not a document with revisions")
    }
  }
}
