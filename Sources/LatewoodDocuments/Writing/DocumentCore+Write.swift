import LatewoodConcurrency
import LatewoodStore

extension DocumentCore {
  /// The batch that the current thread runs; nil if it runs none.
  var currentBatch: DocumentBatch? {
    guard writingThread.load(ordering: .relaxed) == Monitor.currentThread else { return nil }
    return writing.withLock { $0 }
  }

  /// Runs a batch, or joins the batch that the current thread runs.
  func write<R>(_ durability: BatchDurability, _ body: (DocumentBatch) throws -> R) throws -> R {
    var result = ClosureResult<R>()
    try run(durability) { result.value = try body($0) }
    return result.get()
  }

  /// Runs a batch without a result, or joins the batch that the current thread runs.
  func run(_ durability: BatchDurability, _ body: (DocumentBatch) throws -> Void) throws {
    if let outer = currentBatch { return try outer.join(durability, body) }
    let batch = RunningBatch(self, durability)
    var failure: (any Error)?
    do {
      try store.write(durability: durability.forStore) { try batch.run(in: $0, body) }
    } catch { failure = error }
    if let failure = batch.end(failure) { throw failure }
  }

  /// Enqueues a batch and waits for it without blocking the caller's thread. Batches that wait at
  /// the same time share a sync.
  func write<R: Sendable>(
    _ durability: BatchDurability, _ body: @escaping @Sendable (DocumentBatch) throws -> R
  ) async throws -> R {
    let batch = RunningBatch(self, durability)
    return try await withCheckedThrowingContinuation { continuation in
      store.enqueue(durability: durability.forStore) {
        try batch.run(in: $0, body)
      } completion: {
        switch $0 {
        case .success(let value):
          _ = batch.end(nil)
          continuation.resume(returning: value)
        case .failure(let error):
          continuation.resume(throwing: batch.end(error) ?? error)
        }
      }
    }
  }

  /// Runs a closure that may block on a Dispatch queue instead of the caller's thread, outside any
  /// batch.
  func perform<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    try await queue.perform(body)
  }

  /// Runs a batch of this layer, whose closure only throws errors of this layer and of the store.
  func batch<R>(
    _ durability: BatchDurability, _ body: (DocumentBatch) throws -> R
  ) throws(DatabaseError) -> R {
    try DatabaseError.typed { try write(durability, body) }
  }
}

/// The durability of a batch, which determines when its commit is complete.
struct BatchDurability: Sendable, Equatable {
  /// The durability requested for this batch; nil for the usual one.
  var asked: Durability?
  /// The usual durability of the handle; nil for the store's default.
  var usual: Durability?

  /// The durability to pass to the store; nil for its default.
  var forStore: Durability? { asked ?? usual }

  /// The durability of the database's internal work.
  static let usual = BatchDurability()
  /// The durability of work that may become durable together with a later write.
  static let relaxed = BatchDurability(asked: .relaxed)
}
