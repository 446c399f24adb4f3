import LatewoodBytes
import LatewoodConcurrency
import LatewoodFile

/// Transactions that do not block their callers.
///
/// ```
/// tasks -> waiting -> writer lock [ closure, commit, closure, commit ... ]
///    relaxed:      -> flush, publish -> tasks
///    synchronous:  -> unsynced -> sync, publish -> tasks
///    disk full:    -> refused -> roll back -> tasks
/// ```
///
/// One thread runs closures and another waits for syncs, regardless of the number of tasks.
/// Closures continue during a sync, and the next sync covers all that have ended by then.
///
/// Thread safety: all methods may be called from any thread.
final class QueuedWrites: Sendable {
  /// The number of closures that run before the writer lock is released for a moment.
  private static let batchLimit = 128
  /// The number of bytes of log after which the lock is also released.
  private static let batchBytes: UInt64 = 1 << 20

  /// The transactions that wait for their turn.
  private let waiting = SerialWorkQueue<any QueuedTransaction>(label: "latewood.write")
  /// The transactions that have run and wait for a sync.
  private let unsynced = SerialWorkQueue<QueuedOutcome>(label: "latewood.sync")
  /// The transactions for which the disk had no space, until they are undone.
  private let refused = SerialWorkQueue<Settled>(label: "latewood.refused")

  /// The number of transactions that have not run yet.
  var count: Int { waiting.count }

  /// Adds a transaction, which runs in `engine` when its turn comes. Calls `completion` when it is
  /// settled, or immediately if it was already cancelled.
  func add<R: Sendable>(
    _ write: QueuedWrite<R>, in engine: Engine, _ completion: @escaping QueuedWrite<R>.Completion
  ) {
    guard write.wait(completion) else { return }
    waiting.add([write]) { [self] in runNext(in: engine) }
  }

  private func runNext(in engine: Engine) {
    let file: DatabaseFile
    do throws(StorageError) {
      file = try engine.lockForTransaction()
    } catch {
      waiting.takeFirst()?.refuse(engine.publicError(error))
      return
    }
    var outcomes = runBatch(in: engine, file)
    engine.unlockTransaction()
    let refused = outcomes.last?.refused
    let last = refused == nil ? nil : outcomes.popLast()
    settleInOrder(outcomes, in: engine)
    if let refused, let last { runAgain(refused, last, in: engine) }
  }

  /// Repeats the changes of a refused transaction before later ones run. All earlier transactions
  /// are settled, or another thread will settle them.
  private func runAgain(_ refused: RefusedTransaction, _ outcome: QueuedOutcome, in engine: Engine) {
    do throws(StorageError) {
      let ended = try engine.runAgain(refused)
      var outcome = outcome
      outcome.awaited = ended.awaited.map { (ended.transaction, $0) }
      settleInOrder([outcome], in: engine)
    } catch {
      outcome.tell(error)
    }
  }

  /// Settles relaxed transactions on this thread, and leaves synchronous ones to the thread that
  /// syncs.
  private func settleInOrder(_ outcomes: [QueuedOutcome], in engine: Engine) {
    let synchronous = outcomes.filter { $0.awaited?.durability == .synchronous }
    if !synchronous.isEmpty {
      unsynced.add(synchronous) { [self] in settle(unsynced.takeAll(), in: engine) }
    }
    settle(outcomes.filter { $0.awaited?.durability != .synchronous }, in: engine)
  }

  /// Runs closures, each as a separate transaction, until another thread should get the writer
  /// lock, or the log cannot continue. Called under the writer lock, and never waits: the lock is
  /// not released between two closures, because its next owner may be waiting for finished
  /// transactions to be settled.
  private func runBatch(in engine: Engine, _ file: DatabaseFile) -> [QueuedOutcome] {
    var outcomes: [QueuedOutcome] = []
    let start = file.writer.tail
    while outcomes.count < QueuedWrites.batchLimit, file.writer.tail - start < QueuedWrites.batchBytes,
      !file.isInterrupted, let next = waiting.takeFirst()
    {
      if let outcome = next.run(in: engine, file) {
        outcomes.append(outcome)
        if outcome.refused != nil { break }
      }
      // A checkpoint waits for the lock, or writers must slow down.
      if engine.head.isMaintenanceWaiting || engine.pacer.isOwed { break }
    }
    return outcomes
  }

  /// Settles transactions of one durability and resumes their tasks.
  private func settle(_ outcomes: [QueuedOutcome], in engine: Engine) {
    var failures = [StorageError?](repeating: nil, count: outcomes.count)
    // Settle the last one first: its flush includes all others, and its version shows them.
    for (index, outcome) in outcomes.enumerated().reversed() {
      guard let (transaction, durability) = outcome.awaited else { continue }
      do throws(StorageError) {
        try engine.settle(transaction, durability)
      } catch {
        failures[index] = error
      }
    }
    let settled = Settled(outcomes: outcomes, failures: failures)
    if failures.contains(where: { $0?.kind == .outOfSpace }) {
      refused.add([settled]) { [self] in tellRefused(in: engine) }
    } else {
      tell(settled, nil, in: engine)
    }
  }

  /// Undoes commits for which there was no space, then resumes their tasks.
  ///
  /// Runs on a separate thread, because it holds the writer lock while it waits until all other
  /// commits are settled. The two threads that settle them must not wait for that lock.
  private func tellRefused(in engine: Engine) {
    var failure: StorageError?
    do throws(StorageError) { try engine.rollBackRefused() } catch { failure = error }
    if let settled = refused.takeFirst() { tell(settled, failure, in: engine) }
  }

  /// Resumes the tasks of settled transactions.
  ///
  /// - Parameter final: the error that replaces the errors of the transactions; nil to keep these.
  private func tell(_ settled: Settled, _ final: StorageError?, in engine: Engine) {
    // All transactions that waited for the same flush get the original failure.
    let first = settled.failures.last { $0 != nil && $0?.kind != .poisoned } ?? nil
    for (outcome, failure) in zip(settled.outcomes, settled.failures) {
      outcome.tell(failure.map { $0.kind == .poisoned ? first ?? $0 : final ?? $0 })
    }
    if let (transaction, durability) = settled.outcomes.last(where: { $0.awaited != nil })?.awaited {
      engine.followUp(transaction, durability)
    }
  }

  /// Transactions that have been settled, each with its failure; nil if it succeeded.
  private struct Settled: Sendable {
    var outcomes: [QueuedOutcome]
    var failures: [StorageError?]
  }
}

/// A queued transaction, without the type of its result.
protocol QueuedTransaction: Sendable {
  /// Runs the closure. Called under the writer lock. Returns nil if its task was cancelled.
  func run(in engine: Engine, _ file: DatabaseFile) -> QueuedOutcome?
  /// Fails the task because the closure cannot run.
  func refuse(_ error: any Error)
}

/// A queued transaction that has run and must be settled before its task continues.
// SAFETY: used by one thread at a time: first by the thread that runs the transaction, then by the
// thread that settles it.
struct QueuedOutcome: @unchecked Sendable {
  /// The transaction to settle and its durability; nil if there is nothing to settle.
  var awaited: (transaction: Transaction, durability: Durability)?
  /// The changes to repeat once all earlier transactions are settled; nil if the commit was not
  /// refused.
  var refused: RefusedTransaction?
  /// Resumes the task, with the error of settling if it failed.
  let tell: ((any Error)?) -> Void
}

/// A transaction that a caller, usually a task, waits for.
///
/// ```
/// new -> waiting -> taken        the closure runs; `completion` is called at the commit's end
///    \________\-> cancelled      `completion` is called immediately; the closure never runs
/// ```
final class QueuedWrite<R: Sendable>: QueuedTransaction {
  /// A function called once, by any thread, without locks.
  typealias Completion = @Sendable (Result<R, any Error>) -> Void

  private enum Stage {
    case new
    case waiting(Completion)
    case taken, cancelled
  }
  private let stage = Guarded(Stage.new)
  private let durability: Durability
  private let body: @Sendable (Transaction) throws -> R

  init(_ durability: Durability, _ body: @escaping @Sendable (Transaction) throws -> R) {
    self.durability = durability
    self.body = body
  }

  /// Begins to wait. If already cancelled, calls `completion` with the error and returns false.
  func wait(_ completion: @escaping Completion) -> Bool {
    let isWaiting = stage.withLock { stage in
      if case .cancelled = stage { return false }
      stage = .waiting(completion)
      return true
    }
    if !isWaiting { completion(.failure(CancellationError())) }
    return isWaiting
  }

  /// Cancels the closure, unless it has begun to run.
  func cancel() {
    leave(for: .cancelled)?(.failure(CancellationError()))
  }

  /// Moves to another stage, and returns the completion to call if this was waiting for its turn.
  private func leave(for next: Stage) -> Completion? {
    stage.withLock { stage in
      switch stage {
      case .new:
        stage = next
        return nil
      case .waiting(let completion):
        stage = next
        return completion
      case .taken, .cancelled:
        return nil
      }
    }
  }

  func run(in engine: Engine, _ file: DatabaseFile) -> QueuedOutcome? {
    guard let tell = leave(for: .taken) else { return nil }
    var value: R?
    do {
      let ended = try engine.run(in: file, durability) { value = try body($0) }
      return outcome(
        of: value, ended.failure, in: engine, tell, ended.awaited.map { (ended.transaction, $0) })
    } catch let refused as RefusedTransaction {
      return outcome(of: value, nil, in: engine, tell, refused: refused)
    } catch {
      return QueuedOutcome { _ in tell(.failure(engine.publicError(error))) }
    }
  }

  /// - Parameters:
  ///   - value: the result of the closure, unless it failed.
  ///   - failure: the closure's own error, which matters more to the caller than another failure.
  private func outcome(
    of value: R?, _ failure: (any Error)?, in engine: Engine, _ tell: @escaping Completion,
    _ awaited: (transaction: Transaction, durability: Durability)? = nil,
    refused: RefusedTransaction? = nil
  ) -> QueuedOutcome {
    QueuedOutcome(awaited: awaited, refused: refused) { other in
      if let error = failure ?? other { return tell(.failure(engine.publicError(error))) }
      guard let value else { preconditionFailure("the closure has run and has not failed") }
      tell(.success(value))
    }
  }

  func refuse(_ error: any Error) { leave(for: .taken)?(.failure(error)) }
}
