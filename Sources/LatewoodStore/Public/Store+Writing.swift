import Dispatch
import LatewoodBytes
import LatewoodConcurrency

extension Store {
  /// Runs a transaction: everything that the closure does is committed together when it returns, or
  /// not at all if it throws.
  ///
  /// Transactions run one after the other. Each transaction sees everything committed before it.
  /// Every read that begins after its end sees at least the state that it saw, unless writing that
  /// state to the disk has failed since. Reads continue during transactions. Transactions that
  /// commit at the same time share one sync.
  ///
  /// - Parameters:
  ///   - durability: the durability of the commit; default: the store's option.
  ///   - body: the work. It must not begin another transaction or let its argument escape.
  /// - Returns: the result of the closure.
  /// - Throws: errors of the closure, in which case the store is unchanged. ``StoreError``:
  ///   `outOfSpace`, in which case the store is also unchanged: try again when there is space;
  ///   `inputOutput`, after which the store is `poisoned`: only opening it again shows whether this
  ///   transaction is in the file; `fileMoved` if the file is no longer at its path, which a
  ///   relaxed commit does not check, and which a commit within 2 milliseconds after another may
  ///   not notice; `closed`, `readOnly`.
  @discardableResult
  @inlinable public func write<R>(
    durability: Durability? = nil, _ body: (Transaction) throws -> R
  ) throws -> R {
    var result = ClosureResult<R>()
    try engine.write(durability) { result.value = try body($0) }
    return result.get()
  }

  /// Runs a transaction without blocking the caller's thread. Otherwise the same as the blocking
  /// form.
  ///
  /// Transactions of this form run in the order of the calls, one at a time, on a Dispatch queue.
  /// However many are queued, they use two threads, and transactions that wait at the same time
  /// share a sync.
  ///
  /// - Parameters:
  ///   - durability: the durability of the commit; default: the store's option.
  ///   - body: the work. It must not begin another transaction or let its argument escape.
  /// - Returns: the result of the closure.
  /// - Throws: as the blocking form; `CancellationError` if the task is cancelled before the
  ///   closure runs; the closure then never runs. Once it runs, a cancellation has no effect.
  @discardableResult
  public func write<R: Sendable>(
    durability: Durability? = nil, _ body: @escaping @Sendable (Transaction) throws -> R
  ) async throws -> R {
    let write = QueuedWrite(durability ?? engine.options.durability, body)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        engine.queuedWrites.add(write, in: engine) { continuation.resume(with: $0) }
      }
    } onCancel: {
      write.cancel()
    }
  }

  /// Runs a transaction without blocking the caller's thread and without a task, for a layer above.
  /// It cannot be cancelled.
  ///
  /// - Parameter completion: called once with the result when the commit is settled, on a Dispatch
  ///   queue and without locks. Later transactions wait for it, so it must not block.
  package func enqueue<R: Sendable>(
    durability: Durability? = nil, _ body: @escaping @Sendable (Transaction) throws -> R,
    completion: @escaping @Sendable (Result<R, any Error>) -> Void
  ) {
    let write = QueuedWrite(durability ?? engine.options.durability, body)
    engine.queuedWrites.add(write, in: engine, completion)
  }

  /// Puts one entry, in a separate transaction.
  ///
  /// - Parameters:
  ///   - key: 1 to 16,384 bytes.
  ///   - value: 0 bytes to 2 GiB.
  ///   - keyspace: the keyspace of the entry.
  ///   - durability: the durability of the commit; default: the store's option.
  /// - Throws: ``StoreError`` as for ``Transaction/put(_:_:in:)`` and for a commit.
  public func put(
    _ key: some ByteSource, _ value: some ByteSource, in keyspace: Keyspace, durability: Durability? = nil
  ) throws {
    do {
      try write(durability: durability) { try $0.put(key, value, in: keyspace) }
    } catch {
      let error = StoreError.from(error, path: engine.path)
      // A large value is refused before the commit, so free space here and try again.
      guard error.code == .outOfSpace, engine.disk.isReliefHopeful else { throw error }
      do {
        try write(durability: durability) { try $0.put(key, value, in: keyspace) }
      } catch { throw StoreError.from(error, path: engine.path) }
    }
  }

  /// Deletes one key, in a separate transaction. Deleting a key that does not exist is not an
  /// error.
  ///
  /// - Parameters:
  ///   - key: 1 to 16,384 bytes.
  ///   - keyspace: the keyspace of the key.
  ///   - durability: the durability of the commit; default: the store's option.
  /// - Throws: ``StoreError`` as for ``Transaction/delete(_:in:)`` and for a commit.
  public func delete(
    _ key: some ByteSource, in keyspace: Keyspace, durability: Durability? = nil
  ) throws {
    do {
      try write(durability: durability) { try $0.delete(key, in: keyspace) }
    } catch { throw StoreError.from(error, path: engine.path) }
  }

  // MARK: Keyspaces

  /// Returns the keyspace with this name, and creates it if it does not exist.
  ///
  /// - Parameter name: 1 to 1,024 bytes of UTF-8; names are compared by bytes.
  /// - Throws: ``StoreError`` `invalidName`; `noSuchKeyspace` if it does not exist and the store is
  ///   read-only.
  public func keyspace(_ name: String) throws -> Keyspace {
    if let existing = try existingKeyspace(name) { return existing }
    if isReadOnly {
      throw StoreError(
        .noSuchKeyspace, "the keyspace \(name) does not exist, and a read-only store cannot create it")
    }
    do {
      let created = try write { try $0.keyspace(name) }
      return try existingKeyspace(name) ?? created
    } catch { throw StoreError.from(error, path: engine.path) }
  }

  /// Deletes a keyspace and all its entries, in a separate transaction. Its space becomes free with
  /// the next checkpoint.
  ///
  /// - Throws: ``StoreError`` `noSuchKeyspace` if it has already been dropped or belongs to another
  ///   store; and as for a commit.
  public func dropKeyspace(_ keyspace: Keyspace) throws {
    do {
      try write { try $0.dropKeyspace(keyspace) }
    } catch { throw StoreError.from(error, path: engine.path) }
  }
}

extension StoreError {
  /// Converts an error of a closure that throws only `StoreError` and `StorageError`.
  static func from(_ error: any Error, path: String?) -> StoreError {
    if let error = error as? StoreError { return error }
    if let failure = error as? StorageError { return StoreError(failure, path: path) }
    return StoreError(.inputOutput, String(describing: error))
  }
}
