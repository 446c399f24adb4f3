import LatewoodDocuments

/// Calls that do not block the caller's thread. Changes run serially on a Dispatch queue, and those
/// that wait at the same time share a sync: many concurrent calls are far faster than the same
/// calls in sequence, and need no more threads.
///
/// If the task is cancelled before a change is committed, nothing is changed, and the call throws
/// `CancellationError`.
extension DocumentCollection {
  /// Saves a document without blocking the caller's thread. Otherwise like the blocking form.
  ///
  /// - Throws: like every async change; see ``DatabaseError``.
  @discardableResult
  public func save(
    _ document: MutableDocument, _ control: ConcurrencyControl = .failOnConflict
  ) async throws -> Document {
    try await save(prepare(document, control))
  }

  /// Saves a document without blocking the caller's thread, and calls a handler if someone else has
  /// saved it since. Otherwise like the blocking form; the handler runs on a Dispatch queue.
  ///
  /// - Throws: like every async change; see ``DatabaseError``.
  @discardableResult
  public func save(
    _ document: MutableDocument,
    conflictHandler handler: @escaping @Sendable (inout MutableDocument, Document?) throws -> Bool
  ) async throws -> Document? {
    var document = document
    while true {
      do {
        return try await save(prepare(document, .failOnConflict))
      } catch let error as DatabaseError where error.code == .conflict {}
      guard
        let next = try await database.performing({ [document] in try self.rebased(document, by: handler) })
      else { return nil }
      document = next
    }
  }

  /// Reads a document, changes it and saves it, without blocking the caller's thread. Otherwise
  /// like the blocking form; the change runs on a Dispatch queue.
  ///
  /// - Throws: like every async change; see ``DatabaseError``.
  @discardableResult
  public func update<Answer>(
    _ id: String, _ change: @escaping @Sendable (inout MutableDocument) throws -> Answer
  ) async throws -> Document? {
    while true {
      guard let edit = try await database.performing({ try self.edited(id, change) }) else { return nil }
      do { return try await save(edit) } catch let error as DatabaseError where error.code == .conflict {}
    }
  }

  /// Saves an `Encodable` value under an id without blocking the caller's thread. Otherwise like
  /// the blocking form.
  ///
  /// - Throws: like every async change; see ``DatabaseError``.
  @discardableResult
  public func save(
    _ value: some Encodable, as id: String, _ control: ConcurrencyControl = .lastWriteWins
  ) async throws -> Document {
    let document = try MutableDocument(id: id, encoding: value)
    return try await save(document, control)
  }

  /// Saves documents in one batch without blocking the caller's thread. Otherwise like the blocking
  /// form.
  ///
  /// - Throws: like every async change; see ``DatabaseError``.
  @discardableResult
  public func save(
    contentsOf documents: some Sequence<MutableDocument>, _ control: ConcurrencyControl = .failOnConflict
  ) async throws -> [Document] {
    let edits = try documents.map { try prepare($0, control) }
    return try await database.inBatch { [self] in try edits.map { try save($0) } }
  }

  /// Deletes a document without blocking the caller's thread. Otherwise like the blocking form.
  ///
  /// - Throws: like every async change; see ``DatabaseError``.
  public func delete(
    _ document: Document, keeping members: [String: DocumentValue] = [:],
    _ control: ConcurrencyControl = .failOnConflict
  ) async throws {
    try await save(prepareDeletion(of: document, keeping: members, control))
  }

  /// Deletes a document without blocking the caller's thread, regardless of its current revision.
  /// Returns false if there was none.
  ///
  /// - Throws: like every async change; see ``DatabaseError``.
  @discardableResult
  public func delete(_ id: String) async throws -> Bool {
    try await database.inBatch { try self.delete(id) }
  }

  /// Purges a document without blocking the caller's thread. Otherwise like the blocking form.
  /// Returns false if there was none.
  ///
  /// - Throws: like every async change; see ``DatabaseError``.
  @discardableResult
  public func purge(_ id: String) async throws -> Bool {
    try await database.inBatch { try self.purge(id) }
  }

  /// Purges a document without blocking the caller's thread, including revisions saved since it was
  /// read. Returns false if there was none.
  ///
  /// - Throws: like every async change; see ``DatabaseError``.
  @discardableResult
  public func purge(_ document: some DocumentContent) async throws -> Bool {
    try await purge(document.id)
  }

  // MARK: Reading

  /// Returns the current revision of a document without blocking the caller's thread; nil if there
  /// is none or it is deleted.
  ///
  /// - Throws: like every async read; see ``DatabaseError``.
  public func document(_ id: String) async throws -> Document? {
    try await database.performing { [self] in try document(id) }
  }

  /// Returns an editable copy of a document, without blocking the caller's thread; a new document
  /// with that id if none exists.
  ///
  /// - Throws: like every async read; see ``DatabaseError``.
  public func mutableDocument(_ id: String) async throws -> MutableDocument {
    try await database.performing { [self] in try mutableDocument(id) }
  }

  /// Returns whether there is a document that is not deleted, without blocking the caller's thread.
  ///
  /// - Throws: like every async read; see ``DatabaseError``.
  public func contains(_ id: String) async throws -> Bool {
    try await database.performing { [self] in try contains(id) }
  }

  /// Returns a document decoded as any `Decodable` type, without blocking the caller's thread; nil
  /// if there is none.
  ///
  /// - Throws: like every async read; see ``DatabaseError``.
  public func decode<T: Decodable & Sendable>(_ type: T.Type, from id: String) async throws -> T? {
    try await database.performing { [self] in try decode(type, from: id) }
  }

  /// Returns the documents that match a query, without blocking the caller's thread.
  ///
  /// - Throws: like every async read; see ``DatabaseError``.
  public func documents(_ query: AllDocumentsQuery = AllDocumentsQuery()) async throws -> [Document] {
    try await database.performing { [self] in try documents(query) }
  }

  /// Returns the ids of the documents that match a query, without blocking the caller's thread.
  ///
  /// - Throws: like every async read; see ``DatabaseError``.
  public func documentIDs(_ query: AllDocumentsQuery = AllDocumentsQuery()) async throws -> [String] {
    try await database.performing { [self] in try documentIDs(query) }
  }

  /// Returns the number of documents that match a query, ignoring its limit, without blocking the
  /// caller's thread.
  ///
  /// - Throws: like every async read; see ``DatabaseError``.
  public func count(_ query: AllDocumentsQuery) async throws -> Int {
    try await database.performing { [self] in try count(query) }
  }

  // MARK: Revisions

  /// Returns all kept revisions of a document, the newest generation first, without blocking the
  /// caller's thread; empty if the document does not exist.
  ///
  /// - Throws: like every async read; see ``DatabaseError``.
  public func revisions(of id: String) async throws -> [Revision] {
    try await database.performing { [self] in try revisions(of: id) }
  }

  /// Returns a given revision without blocking the caller's thread; nil if it is no longer kept, or
  /// its content was removed.
  ///
  /// - Throws: like every async read; see ``DatabaseError``.
  public func document(_ id: String, revision: String) async throws -> Document? {
    try await database.performing { [self] in try document(id, revision: revision) }
  }

  /// Returns the parent revision of a document, without blocking the caller's thread; nil if it is
  /// no longer kept.
  ///
  /// - Throws: like every async read; see ``DatabaseError``.
  public func parent(of document: Document) async throws -> Document? {
    try await database.performing { [self] in try parent(of: document) }
  }

  /// Returns the newest common ancestor of two revisions of a document, without blocking the
  /// caller's thread; nil if it is no longer kept.
  ///
  /// - Throws: like every async read; see ``DatabaseError``.
  public func commonAncestor(_ a: Document, _ b: Document) async throws -> Document? {
    try await database.performing { [self] in try commonAncestor(a, b) }
  }

  /// Returns the conflicting revisions of a document other than the current one, without blocking
  /// the caller's thread; empty if there is no conflict.
  ///
  /// - Throws: like every async read; see ``DatabaseError``.
  public func conflicts(of id: String) async throws -> [Document] {
    try await database.performing { [self] in try conflicts(of: id) }
  }

  /// Resolves a conflict without blocking the caller's thread. Otherwise like the blocking form.
  ///
  /// - Throws: like every async change; see ``DatabaseError``.
  @discardableResult
  public func resolveConflicts(with merged: MutableDocument) async throws -> Document {
    try await database.inBatch { [self] in try resolveConflicts(with: merged) }
  }

  /// Resolves a conflict by choosing one of the revisions, without blocking the caller's thread.
  /// Otherwise like the blocking form.
  ///
  /// - Throws: like every async change; see ``DatabaseError``.
  public func resolveConflicts(choosing document: Document) async throws {
    try await database.inBatch { [self] in try resolveConflicts(choosing: document) }
  }

  /// Inserts a revision of another replica without blocking the caller's thread. Otherwise like the
  /// blocking form.
  ///
  /// - Throws: like every async change; see ``DatabaseError``.
  @discardableResult
  public func insert(
    _ document: MutableDocument, history: [String], isDeleted: Bool = false
  ) async throws -> Bool {
    try await database.inBatch { [self] in
      try insert(document, history: history, isDeleted: isDeleted)
    }
  }
  /// Returns which of some revisions of a document are not in this database, and the existing ones
  /// from which they may descend, without blocking the caller's thread.
  ///
  /// - Throws: like every async read; see ``DatabaseError``.
  public func missingRevisions(
    of id: String, among revisions: [String]
  ) async throws -> (missing: [String], possibleAncestors: [String]) {
    try await database.performing { [self] in try missingRevisions(of: id, among: revisions) }
  }

  /// Removes single branches of a document without blocking the caller's thread. Otherwise like the
  /// blocking form.
  ///
  /// - Returns: the leaves that were removed.
  /// - Throws: like every async change; see ``DatabaseError``.
  @discardableResult
  public func purge(_ id: String, leaves: [String]) async throws -> [String] {
    try await database.inBatch { [self] in try purge(id, leaves: leaves) }
  }
}
