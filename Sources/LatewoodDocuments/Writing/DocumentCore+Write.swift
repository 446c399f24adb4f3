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
    let ticket = Guarded<UInt64?>(nil)
    var announcements: [Announcement] = []
    var alarmTime: UInt64?
    var running: DocumentWriter?
    defer { if let ticket = ticket.withLock({ $0 }) { hub.deliver(ticket, announcements) } }
    let result: R
    do {
      result = try store.write(durability: durability.asked ?? durability.usual) { transaction in
        // Under the writer lock: tickets are in the order of commits.
        ticket.withLock { $0 = hub.takeTicket() }
        let writer = DocumentWriter(self, transaction, durability.usual)
        running = writer
        writing.withLock { $0 = writer }
        writingThread.store(Monitor.currentThread, ordering: .relaxed)
        defer {
          writingThread.store(0, ordering: .relaxed)
          // It goes outside of the lock: it may have the last reference to an error of the
          // caller's.
          let ended = writing.withLock { writing in
            defer { writing = nil }
            return writing
          }
          withExtendedLifetime(ended) {}
        }
        let result = try body(writer)
        try writer.finish()
        (announcements, alarmTime) = (writer.announcements, writer.firstExpiry)
        return result
      }
    } catch {
      announcements = []
      running?.end(isCommitted: false)
      throw (error as? StoreError).map { DocumentError($0) } ?? error
    }
    // It is committed: nothing from here on may say otherwise.
    running?.end(isCommitted: true)
    if let alarmTime { setAlarm(for: alarmTime) }
    return result
  }

  /// Runs work that may block on a Dispatch queue, so that the caller's thread does not.
  func perform<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { continuation.resume(with: Result { try body() }) }
    }
  }

  /// The same for work that throws nothing else.
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

  /// For the work of the database itself.
  static let usual = BatchDurability()
  /// The same, where what comes after in the log makes it durable with it.
  static let relaxed = BatchDurability(asked: .relaxed)
}
