import LatewoodDocuments

/// The same changes for code that must not block its thread: they wait in line, run one after the
/// other on a Dispatch queue, and those that wait at the same time share a sync. Many that run at
/// once are far faster than one after the other, and need no more threads.
extension DocumentCollection {
  /// Saves a document without blocking the caller's thread. Otherwise as the blocking form.
  @discardableResult
  public func save(
    _ document: MutableDocument, _ control: ConcurrencyControl = .failOnConflict
  ) async throws(DatabaseError) -> Document {
    try await save(prepare(document, control))
  }

  /// Saves a document without blocking the caller's thread, and asks a handler when somebody else
  /// has saved it since. Otherwise as the blocking form; the handler runs on a Dispatch queue.
  @discardableResult
  public func save(
    _ document: MutableDocument,
    conflictHandler handler: @escaping @Sendable (inout MutableDocument, Document?) throws -> Bool
  ) async throws -> Document? {
    var document = document
    while true {
      do throws(DatabaseError) {
        return try await save(document, .failOnConflict)
      } catch {
        guard error.code == .conflict else { throw error }
      }
      let answer = try await database.performing { [self, document] () -> MutableDocument? in
        var document = document
        let current = try self.document(document.id)
        return try handler(&document, current) ? document.rebased(on: current) : nil
      }
      guard let answer else { return nil }
      document = answer
    }
  }

  /// Reads a document, has it changed and saves it, without blocking the caller's thread. Otherwise
  /// as the blocking form; the change runs on a Dispatch queue.
  @discardableResult
  public func update(
    _ id: String, _ change: @escaping @Sendable (inout MutableDocument) throws -> Bool
  ) async throws -> Document? {
    while true {
      let edit = try await database.performing { [self] () -> PreparedEdit? in
        var document = try self.document(id)?.toMutable() ?? MutableDocument(id: id)
        return try change(&document) ? prepare(document, .failOnConflict) : nil
      }
      guard let edit else { return nil }
      do throws(DatabaseError) {
        return try await save(edit)
      } catch {
        guard error.code == .conflict else { throw error }
      }
    }
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
    try await save(prepareDeletion(of: document, keeping: members, control))
  }

  /// Deletes a document without blocking the caller's thread, whatever its current revision is.
  /// False if there is none.
  @discardableResult
  public func delete(_ id: String) async throws(DatabaseError) -> Bool {
    try await database.queueing { () throws(DatabaseError) in try self.delete(id) }
  }

  /// Forgets a document without blocking the caller's thread. Otherwise as the blocking form. False
  /// if there is none.
  @discardableResult
  public func purge(_ id: String) async throws(DatabaseError) -> Bool {
    try await database.queueing { () throws(DatabaseError) in try self.purge(id) }
  }
}

extension Database {
  /// Commits all that a closure saves, deletes and purges together, without blocking the caller's
  /// thread. Otherwise as the blocking form; the closure runs on a Dispatch queue.
  @discardableResult
  public func inBatch<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    do {
      return try await documents.write { _ in try body() }
    } catch { throw DatabaseError.translated(error) }
  }

  /// Runs a call that reads, and throws what the closures of the caller throw, too.
  func performing<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    do { return try await documents.perform(body) } catch { throw DatabaseError.translated(error) }
  }

  /// Runs a call that changes something in its turn, as a batch. It throws nothing else than errors
  /// of the database.
  func queueing<R: Sendable>(
    _ body: @escaping @Sendable () throws(DatabaseError) -> R
  ) async throws(DatabaseError) -> R {
    do { return try await documents.write { _ in try body() } } catch let error as DatabaseError {
      throw error
    } catch let error as DocumentError {
      throw DatabaseError(error)
    } catch { throw DatabaseError(.inputOutput, "\(error)") }
  }
}
