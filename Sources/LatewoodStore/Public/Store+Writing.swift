import Dispatch
import LatewoodBytes

extension Store {
  /// Runs a transaction: all that the closure does is committed together when it returns, or not at
  /// all if it throws.
  ///
  /// Transactions run one after the other; each sees what was committed before, and every read that
  /// begins after it has ended sees at least what it saw, unless the disk has refused that since.
  /// Reads go on meanwhile. Transactions that commit at the same time share one sync.
  ///
  /// - Parameters:
  ///   - durability: when the commit counts as done; default: what the store's options say.
  ///   - body: the work. It must not begin another transaction, nor let its argument escape.
  /// - Returns: what the closure returns.
  /// - Throws: what the closure throws; then nothing was changed. ``StoreError``: `outOfSpace`
  ///   (nothing was changed, try again when there is room); `inputOutput`, then the store is
  ///   `poisoned`: whether this transaction is in the file is known only after opening it again;
  ///   `fileMoved` if the file is not at its path any more, which a relaxed commit does not look
  ///   for; `closed`, `readOnly`.
  @discardableResult
  public func write<R>(
    durability: Durability? = nil, _ body: (Transaction) throws -> R
  ) throws -> R {
    try engine.write(durability ?? engine.options.durability, body)
  }

  /// Runs a transaction without blocking the caller's thread. Otherwise as the blocking form.
  ///
  /// Transactions of this form wait in line and run one after the other, in the order in which they
  /// were called, on a Dispatch queue. However many wait, they take two threads, and those that
  /// wait at the same time share a sync.
  ///
  /// - Parameters:
  ///   - durability: when the commit counts as done; default: what the store's options say.
  ///   - body: the work. It must not begin another transaction, nor let its argument escape.
  /// - Returns: what the closure returns.
  /// - Throws: as the blocking form; `CancellationError` if the task is cancelled before the
  ///   closure runs, which then never does. Once it runs a cancellation changes nothing.
  @discardableResult
  public func write<R: Sendable>(
    durability: Durability? = nil, _ body: @escaping @Sendable (Transaction) throws -> R
  ) async throws -> R {
    try await engine.write(durability ?? engine.options.durability, body)
  }

  /// The same for a layer above, which cannot be cancelled.
  ///
  /// - Parameter completion: called once with what the caller is to be told: on a Dispatch queue,
  ///   under no lock, when the commit is settled. Those that come after wait for it, so that it
  ///   must not block.
  package func enqueue<R: Sendable>(
    durability: Durability? = nil, _ body: @escaping @Sendable (Transaction) throws -> R,
    completion: @escaping @Sendable (Result<R, any Error>) -> Void
  ) {
    engine.enqueue(QueuedWrite(durability ?? engine.options.durability, body), completion)
  }

  /// Puts one entry, in a transaction of its own.
  ///
  /// - Parameters:
  ///   - key: 1 to 16,384 bytes.
  ///   - value: 0 bytes to 2 GiB.
  ///   - keyspace: where it belongs.
  ///   - durability: when it counts as done; default: what the store's options say.
  /// - Throws: ``StoreError`` as ``Transaction/put(_:_:in:)`` and a commit do.
  public func put(
    _ key: some ByteSource, _ value: some ByteSource, in keyspace: Keyspace, durability: Durability? = nil
  ) throws(StoreError) {
    do {
      try write(durability: durability) { try $0.put(key, value, in: keyspace) }
    } catch { throw StoreError.from(error) }
  }

  /// Deletes one key, in a transaction of its own. Deleting a key that is not there is no error.
  ///
  /// - Parameters:
  ///   - key: 1 to 16,384 bytes.
  ///   - keyspace: where it is.
  ///   - durability: when it counts as done; default: what the store's options say.
  /// - Throws: ``StoreError`` as ``Transaction/delete(_:in:)`` and a commit do.
  public func delete(
    _ key: some ByteSource, in keyspace: Keyspace, durability: Durability? = nil
  ) throws(StoreError) {
    do {
      try write(durability: durability) { try $0.delete(key, in: keyspace) }
    } catch { throw StoreError.from(error) }
  }

  // MARK: Keyspaces

  /// The keyspace of a name, created if there is none.
  ///
  /// - Parameter name: 1 to 1,024 bytes of UTF-8; names are compared by bytes.
  /// - Throws: ``StoreError`` `invalidName`; `noSuchKeyspace` if it does not exist and the store is
  ///   read-only.
  public func keyspace(_ name: String) throws(StoreError) -> Keyspace {
    if let existing = try existingKeyspace(name) { return existing }
    if isReadOnly {
      throw StoreError(.noSuchKeyspace, "there is no keyspace named \(name), and the store is read-only")
    }
    do {
      let created = try write { try $0.keyspace(name) }
      return try existingKeyspace(name) ?? created
    } catch { throw StoreError.from(error) }
  }

  /// Deletes a keyspace and all that is in it, in a transaction of its own. Its space becomes free
  /// with the next checkpoint.
  public func dropKeyspace(_ keyspace: Keyspace) throws(StoreError) {
    do {
      try write { try $0.dropKeyspace(keyspace) }
    } catch { throw StoreError.from(error) }
  }
}

extension StoreError {
  /// What calls that throw nothing else have caught.
  static func from(_ error: any Error) -> StoreError {
    if let error = error as? StoreError { return error }
    if let fault = error as? Fault { return StoreError(fault) }
    return StoreError(.inputOutput, String(describing: error))
  }
}
