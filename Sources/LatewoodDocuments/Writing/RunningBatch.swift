import LatewoodConcurrency
import LatewoodStore

/// An outermost batch, from its beginning until its end has been announced.
// SAFETY: used by one thread at a time: first the thread that runs the batch, then the thread that
// ends it.
final class RunningBatch: @unchecked Sendable {
  private let core: DocumentCore
  private let durability: Durability?
  private var ticket: UInt64?
  private var batch: DocumentBatch?
  private var announcements: [Announcement] = []
  private var alarmTime: UInt64?

  init(_ core: DocumentCore, _ durability: BatchDurability) {
    self.core = core
    self.durability = durability.usual
  }

  /// Runs the closure, once. The caller holds the writer lock.
  func run<R>(in transaction: Transaction, _ body: (DocumentBatch) throws -> R) throws -> R {
    // The writer lock is held, so tickets are in the order of commits.
    ticket = core.hub.takeTicket()
    let batch = DocumentBatch(core, transaction, durability)
    self.batch = batch
    core.writing.withLock { $0 = batch }
    core.writingThread.store(Monitor.currentThread, ordering: .relaxed)
    defer {
      core.writingThread.store(0, ordering: .relaxed)
      // `self.batch` still holds the batch: it may hold the last reference to an error of the
      // caller, and releasing that under a lock is forbidden.
      core.writing.withLock { $0 = nil }
    }
    let result = try body(batch)
    try batch.finish()
    (announcements, alarmTime) = (batch.announcements, batch.firstExpiry)
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
      batch?.end(isCommitted: true)
      if let alarmTime { core.setAlarm(for: alarmTime) }
      return nil
    }
    announcements = []
    batch?.end(isCommitted: false)
    return DatabaseError.translated(failure)
  }
}
