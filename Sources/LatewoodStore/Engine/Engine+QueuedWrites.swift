import LatewoodBytes
import LatewoodFile

/// Transactions that do not block their callers.
///
/// ```
/// tasks -> queuedWrites -> writer lock [ closure, commit, closure, commit ... ] -> flush, publish -> tasks      relaxed
///                                                                              \-> queuedSyncs -> sync, publish -> tasks
/// ```
///
/// One thread runs closures and another waits for syncs, however many tasks wait: closures go on
/// during a sync, and the next sync takes along all that have ended meanwhile.
extension Engine {
  /// Closures that run before the writer lock is given to others for a moment.
  private static let batchLimit = 128
  /// Bytes of log after which it is too.
  private static let batchBytes: UInt64 = 1 << 20

  /// Runs a transaction in its turn. Throws `CancellationError` if the task is cancelled before
  /// that.
  func write<R: Sendable>(
    _ durability: Durability, _ body: @escaping @Sendable (Transaction) throws -> R
  ) async throws -> R {
    let write = QueuedWrite(durability, body)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        enqueue(write) { continuation.resume(with: $0) }
      }
    } onCancel: {
      write.cancel()
    }
  }

  /// Runs a transaction in its turn, and tells when it is settled.
  func enqueue<R: Sendable>(
    _ write: QueuedWrite<R>, _ completion: @escaping QueuedWrite<R>.Completion
  ) {
    guard write.wait(completion) else { return }
    queuedWrites.add([write]) { [self] in runQueued() }
  }

  private func runQueued() {
    do throws(Fault) {
      try lockForTransaction()
    } catch {
      queuedWrites.takeFirst()?.refuse(told(error))
      return
    }
    let outcomes = runBatch()
    unlockTransaction()
    let synchronous = outcomes.filter { $0.awaited?.durability == .synchronous }
    if !synchronous.isEmpty { queuedSyncs.add(synchronous) { [self] in settle(queuedSyncs.takeAll()) } }
    settle(outcomes.filter { $0.awaited?.durability != .synchronous })
  }

  /// Runs closures, each as a transaction of its own, until somebody else should have the writer
  /// lock, or the log cannot go on. Under that lock, and with nothing to wait for: it is not given
  /// back between two of them, because whoever has it may be waiting for what has run to be
  /// settled.
  private func runBatch() -> [QueuedOutcome] {
    var outcomes: [QueuedOutcome] = []
    let start = log.tail
    while outcomes.count < Engine.batchLimit, log.tail - start < Engine.batchBytes, !log.isInterrupted,
      let next = queuedWrites.takeFirst()
    {
      if let outcome = next.run(in: self) { outcomes.append(outcome) }
      // A checkpoint wants the lock, or writers are to slow down.
      if !services.isNone || pace.isAsked { break }
    }
    return outcomes
  }

  /// Settles transactions of one durability and tells the tasks.
  private func settle(_ outcomes: [QueuedOutcome]) {
    var failures = [Fault?](repeating: nil, count: outcomes.count)
    // The last one first: its flush takes all the others along, and its version shows them.
    for (index, outcome) in outcomes.enumerated().reversed() {
      guard let (transaction, durability) = outcome.awaited else { continue }
      do throws(Fault) {
        try settle(transaction, durability)
      } catch {
        failures[index] = error
      }
    }
    // Those who wait together are told the failure itself.
    let first = failures.last { $0 != nil && $0?.kind != .poisoned } ?? nil
    var final: Fault?
    if failures.contains(where: { $0?.kind == .outOfSpace }) {
      do throws(Fault) { try takeBackRefused() } catch { final = error }
    }
    for (outcome, failure) in zip(outcomes, failures) {
      outcome.tell(failure.map { $0.kind == .poisoned ? first ?? $0 : final ?? $0 })
    }
    if let (transaction, durability) = outcomes.last(where: { $0.awaited != nil })?.awaited {
      followUp(transaction, durability)
    }
  }
}
