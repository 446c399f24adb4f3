import LatewoodDevice
import LatewoodStore

extension DocumentCore {
  /// The batch that this thread runs.
  var currentWriter: DocumentWriter? {
    guard writingThread.load(ordering: .relaxed) == Monitor.currentThread else { return nil }
    return writing.withLock { $0 }
  }

  /// Runs a batch, or joins the one that this thread is in.
  func write<R>(_ durability: BatchDurability, _ body: (DocumentWriter) throws -> R) throws -> R {
    if let outer = currentWriter { return try outer.join(durability, body) }
    let batch = RunningBatch(self, durability)
    let result = Result {
      try store.write(durability: durability.forStore) { try batch.run(in: $0, body) }
    }
    return try batch.end(result).get()
  }

  /// Runs a batch in its turn, without blocking the caller's thread: those that wait at the same
  /// time share a sync.
  func write<R: Sendable>(
    _ durability: BatchDurability, _ body: @escaping @Sendable (DocumentWriter) throws -> R
  ) async throws -> R {
    let batch = RunningBatch(self, durability)
    return try await withCheckedThrowingContinuation { continuation in
      store.enqueue(durability: durability.forStore) {
        try batch.run(in: $0, body)
      } completion: {
        continuation.resume(with: batch.end($0))
      }
    }
  }

  /// Runs what a caller does outside of batches, and what may block, on a Dispatch queue, so that
  /// the caller's thread does not.
  func perform<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { continuation.resume(with: Result { try body() }) }
    }
  }

  /// Runs a batch that throws nothing else.
  func batch<R>(
    _ durability: BatchDurability, _ body: (DocumentWriter) throws(DocumentError) -> R
  ) throws(DocumentError) -> R {
    do {
      return try write(durability) { writer throws -> R in try body(writer) }
    } catch { throw DocumentError.from(error) }
  }
}

/// When the commit of a batch counts as done.
struct BatchDurability: Sendable, Equatable {
  /// For this batch; nil: what is usual.
  var asked: Durability?
  /// For all batches of a handle that say nothing else; nil: what the options of the store say.
  var usual: Durability?

  /// Nil: what the options of the store say.
  var forStore: Durability? { asked ?? usual }

  /// For the work of the database itself.
  static let usual = BatchDurability()
  /// The same, where what comes after in the log makes it durable with it.
  static let relaxed = BatchDurability(asked: .relaxed)
}
