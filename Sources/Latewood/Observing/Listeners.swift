import Dispatch
import LatewoodDocuments

extension Database {
  /// Calls a handler after each commit that has changed documents, once for each changed
  /// collection; never inside a batch.
  ///
  /// Up to 4,096 documents, or one commit if that is larger, wait for a slow handler; beyond that
  /// several commits are combined: see ``CollectionChange/isComplete``. If the database is opened
  /// read-only and another process writes to it, the handler is called within 100 ms after a
  /// commit. Once the database handle through which it was added is closed, the handler is not
  /// called again, even if other handles of the same file are open.
  ///
  /// - Parameters:
  ///   - queue: the queue for the calls. On a serial queue they are in the order of the commits.
  ///     Default: a separate serial queue for each listener.
  ///   - handler: may use the database, even to save.
  /// - Returns: a token, which the caller must retain: the listener ends with it.
  /// - Throws: ``DatabaseError`` `notOpen` once the database is closed; `corruptData` or
  ///   `inputOutput` if it was opened read-only and the file cannot be read.
  public func addListener(
    on queue: DispatchQueue? = nil, _ handler: @escaping @Sendable (CollectionChange) -> Void
  ) throws -> ListenerToken {
    try listen(to: nil, on: queue, handler)
  }

  fileprivate func listen(
    to collection: String?, on queue: DispatchQueue?,
    _ handler: @escaping @Sendable (CollectionChange) -> Void
  ) throws(DatabaseError) -> ListenerToken {
    // A queue without a target would have a thread of its own whenever its listener is called.
    let queue = queue ?? DispatchQueue(label: "latewood.listener", target: .global())
    return try documents.addListener(collection: collection, on: queue) { change in
      if change.kind != .closed { handler(change) }
    }
  }
}

extension DocumentCollection {
  /// Calls a handler after each commit that has changed documents of this collection. Otherwise
  /// like ``Database/addListener(on:_:)``.
  ///
  /// - Throws: ``DatabaseError`` `notOpen` once the database is closed; `notFound` once the
  ///   collection is dropped, even if another one has its name; `corruptData` or `inputOutput` if
  ///   the file cannot be read.
  public func addListener(
    on queue: DispatchQueue? = nil, _ handler: @escaping @Sendable (CollectionChange) -> Void
  ) throws -> ListenerToken {
    try listen(on: queue, handler)
  }

  /// Calls a handler after each commit that has changed one document. Otherwise like
  /// ``Database/addListener(on:_:)``.
  ///
  /// - Throws: ``DatabaseError`` `notOpen` once the database is closed; `notFound` once the
  ///   collection is dropped, even if another one has its name; `corruptData` or `inputOutput` if
  ///   the file cannot be read.
  public func addListener(
    for id: String, on queue: DispatchQueue? = nil,
    _ handler: @escaping @Sendable (CollectionChange.Entry) -> Void
  ) throws -> ListenerToken {
    let bytes = Array(id.utf8)
    return try listen(on: queue) { change in
      for entry in change.entries where entry.id.utf8.elementsEqual(bytes) { handler(entry) }
    }
  }

  private func listen(
    on queue: DispatchQueue?, _ handler: @escaping @Sendable (CollectionChange) -> Void
  ) throws -> ListenerToken {
    let token = try database.listen(to: name, on: queue, handler)
    // The collection is checked afterwards, because a later drop notifies the listener.
    do { try checkExists() } catch {
      token.cancel()
      throw error
    }
    return token
  }

  /// Throws `notFound` if the collection has been dropped.
  private func checkExists() throws {
    let reads = try reads()
    _ = try reads.lastSequence()
  }
}
