import LatewoodDocuments

/// Changes without blocking the caller's thread. They run one after the other on a Dispatch queue,
/// and those that wait at the same time share a sync: many concurrent calls are far faster than the
/// same calls one after the other, and need no more threads.
extension DocumentCollection {
  /// Saves a document without blocking the caller's thread. Otherwise like the blocking form.
  @discardableResult
  public func save(
    _ document: MutableDocument, _ control: ConcurrencyControl = .failOnConflict
  ) async throws -> Document {
    try await save(prepare(document, control))
  }

  /// Saves a document without blocking the caller's thread, and asks a handler if somebody else has
  /// saved it since. Otherwise like the blocking form; the handler runs on a Dispatch queue.
  @discardableResult
  public func save(
    _ document: MutableDocument,
    conflictHandler handler: @escaping @Sendable (inout MutableDocument, Document?) throws -> Bool
  ) async throws -> Document? {
    var document = document
    while true {
      do throws(DatabaseError) {
        return try await save(prepare(document, .failOnConflict))
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

  /// Reads a document, changes it and saves it, without blocking the caller's thread. Otherwise
  /// like the blocking form; the change runs on a Dispatch queue.
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

  /// Saves an `Encodable` value under an id without blocking the caller's thread, replacing an
  /// existing document.
  @discardableResult
  public func save(_ value: some Encodable, as id: String) async throws -> Document {
    let document = try MutableDocument(id: id, encoding: value)
    return try await save(document, .lastWriteWins)
  }

  /// Deletes a document without blocking the caller's thread. Otherwise like the blocking form.
  public func delete(
    _ document: Document, keeping members: [String: DocumentValue] = [:],
    _ control: ConcurrencyControl = .failOnConflict
  ) async throws {
    try await save(prepareDeletion(of: document, keeping: members, control))
  }

  /// Deletes a document without blocking the caller's thread, whatever its current revision is.
  /// Returns false if there was none.
  @discardableResult
  public func delete(_ id: String) async throws -> Bool {
    try await database.inBatch { try self.delete(id) }
  }

  /// Purges a document without blocking the caller's thread. Otherwise like the blocking form.
  /// Returns false if there was none.
  @discardableResult
  public func purge(_ id: String) async throws -> Bool {
    try await database.inBatch { try self.purge(id) }
  }
}

extension Database {
  /// Commits everything that a closure saves, deletes and purges as one transaction, without
  /// blocking the caller's thread. Otherwise like the blocking form; the closure runs on a Dispatch
  /// queue.
  @discardableResult
  public func inBatch<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    do {
      return try await documents.write { _ in try body() }
    } catch { throw DatabaseError.translated(error) }
  }

  /// Runs a reading call on a Dispatch queue; also throws the errors of the caller's closures.
  func performing<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    do { return try await documents.perform(body) } catch { throw DatabaseError.translated(error) }
  }

  /// Runs a changing call in its turn, as a batch. Throws only errors of the database.
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
