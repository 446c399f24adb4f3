import LatewoodConcurrency
import LatewoodStore

extension DocumentCore {
  /// The batch that the current thread runs; nil if there is none.
  var currentWriter: DocumentWriter? {
    guard writingThread.load(ordering: .relaxed) == Monitor.currentThread else { return nil }
    return writing.withLock { $0 }
  }

  /// Runs a batch, or joins the one that the current thread runs.
  func write<R>(_ durability: BatchDurability, _ body: (DocumentWriter) throws -> R) throws -> R {
    var result: R?
    try run(durability) { result = try body($0) }
    guard let result else { preconditionFailure("the closure of a committed batch has run") }
    return result
  }

  /// Runs a batch without a result, or joins the one that the current thread runs.
  func run(_ durability: BatchDurability, _ body: (DocumentWriter) throws -> Void) throws {
    if let outer = currentWriter { return try outer.join(durability, body) }
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
    _ durability: BatchDurability, _ body: @escaping @Sendable (DocumentWriter) throws -> R
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
    try await withCheckedThrowingContinuation { continuation in
      queue.async { continuation.resume(with: Result { try body() }) }
    }
  }

  /// Runs a batch that throws only `DocumentError`.
  func batch<R>(
    _ durability: BatchDurability, _ body: (DocumentWriter) throws(DocumentError) -> R
  ) throws(DocumentError) -> R {
    try DocumentError.typed {
      try write(durability) { writer throws -> R in try body(writer) }
    }
  }
}

/// An outermost batch, from its beginning until its end has been announced.
// SAFETY: used by one thread at a time: the one that runs the batch, then the one that ends it.
final class RunningBatch: @unchecked Sendable {
  private let core: DocumentCore
  private let durability: Durability?
  private var ticket: UInt64?
  private var writer: DocumentWriter?
  private var announcements: [Announcement] = []
  private var alarmTime: UInt64?

  init(_ core: DocumentCore, _ durability: BatchDurability) {
    self.core = core
    self.durability = durability.usual
  }

  /// Runs the closure, once. The caller holds the writer lock.
  func run<R>(in transaction: Transaction, _ body: (DocumentWriter) throws -> R) throws -> R {
    // The writer lock is held, so tickets are in the order of commits.
    ticket = core.hub.takeTicket()
    let writer = DocumentWriter(core, transaction, durability)
    self.writer = writer
    core.writing.withLock { $0 = writer }
    core.writingThread.store(Monitor.currentThread, ordering: .relaxed)
    defer {
      core.writingThread.store(0, ordering: .relaxed)
      // `self.writer` still holds the writer: it may have the last reference to a caller's error,
      // which must not be released under a lock.
      core.writing.withLock { $0 = nil }
    }
    let result = try body(writer)
    try writer.finish()
    (announcements, alarmTime) = (writer.announcements, writer.firstExpiry)
    return result
  }

  /// Announces the end of the batch to the parts of the database, then to listeners. Called once,
  /// without locks.
  ///
  /// - Parameter failure: the reason why the batch was not committed; nil if it was.
  /// - Returns: the error for the caller.
  func end(_ failure: (any Error)?) -> (any Error)? {
    defer { if let ticket { core.hub.deliver(ticket, announcements) } }
    guard let failure else {
      // The batch is committed: nothing after this may report a failure.
      writer?.end(isCommitted: true)
      if let alarmTime { core.setAlarm(for: alarmTime) }
      return nil
    }
    announcements = []
    writer?.end(isCommitted: false)
    return (failure as? StoreError).map { DocumentError($0) } ?? failure
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
