import LatewoodDocuments

/// The same changes for code that must not block its thread: they wait for the disk on a Dispatch
/// queue. Many that run at once share their waits, and so are far faster than one after the other.
extension DocumentCollection {
  /// Saves a document without blocking the caller's thread. Otherwise as the blocking form.
  @discardableResult
  public func save(
    _ document: MutableDocument, _ control: ConcurrencyControl = .failOnConflict
  ) async throws(DatabaseError) -> Document {
    try await database.perform { try self.save(document, control) }
  }

  /// Saves a document without blocking the caller's thread, and asks a handler when somebody else
  /// has saved it since. Otherwise as the blocking form; the handler runs on a Dispatch queue.
  @discardableResult
  public func save(
    _ document: MutableDocument,
    conflictHandler handler: @escaping @Sendable (inout MutableDocument, Document?) throws -> Bool
  ) async throws -> Document? {
    try await database.performing { try self.save(document, conflictHandler: handler) }
  }

  /// Reads a document, has it changed and saves it, without blocking the caller's thread. Otherwise
  /// as the blocking form; the change runs on a Dispatch queue.
  @discardableResult
  public func update(
    _ id: String, _ change: @escaping @Sendable (inout MutableDocument) throws -> Bool
  ) async throws -> Document? {
    try await database.performing { try self.update(id, change) }
  }

  /// Saves what an `Encodable` encodes under an id, without blocking the caller's thread, in the
  /// place of what there is.
  @discardableResult
  public func save(_ value: some Encodable, as id: String) async throws -> Document {
    let document = try MutableDocument(id: id, encoding: value)
    return try await save(document, .lastWriteWins)
  }

  /// Deletes a document without blocking the caller's thread. Otherwise as the blocking form.
  public func delete(
    _ document: Document, keeping members: [String: DocumentValue] = [:],
    _ control: ConcurrencyControl = .failOnConflict
  ) async throws(DatabaseError) {
    try await database.perform { try self.delete(document, keeping: members, control) }
  }

  /// Deletes a document without blocking the caller's thread, whatever its current revision is.
  /// False if there is none.
  @discardableResult
  public func delete(_ id: String) async throws(DatabaseError) -> Bool {
    try await database.perform { try self.delete(id) }
  }

  /// Forgets a document without blocking the caller's thread. Otherwise as the blocking form. False
  /// if there is none.
  @discardableResult
  public func purge(_ id: String) async throws(DatabaseError) -> Bool {
    try await database.perform { try self.purge(id) }
  }
}

extension Database {
  /// Commits all that a closure saves, deletes and purges together, without blocking the caller's
  /// thread. Otherwise as the blocking form; the closure runs on a Dispatch queue.
  @discardableResult
  public func inBatch<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    try await performing { try self.inBatch(body) }
  }

  /// Runs a call that throws what the closures of the caller throw, too.
  func performing<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    do { return try await documents.perform(body) } catch { throw DatabaseError.translated(error) }
  }

  /// Runs a call that throws nothing else than errors of the database.
  func perform<R: Sendable>(
    _ body: @escaping @Sendable () throws -> R
  ) async throws(DatabaseError) -> R {
    do { return try await documents.perform(body) } catch let error as DatabaseError {
      throw error
    } catch let error as DocumentError {
      throw DatabaseError(error)
    } catch { throw DatabaseError(.inputOutput, "\(error)") }
  }
}
