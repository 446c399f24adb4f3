import LatewoodConcurrency

/// A queued transaction, without the type of its result.
protocol QueuedTransaction: Sendable {
  /// Runs the closure. Under the writer lock. Returns nil if its task was cancelled.
  func run(in engine: Engine) -> QueuedOutcome?
  /// Fails the task because the closure cannot run.
  func refuse(_ error: any Error)
}

/// A queued transaction that has run and must be settled before its task continues.
// SAFETY: used by one thread at a time: first by the one that runs the transaction, then by the one
// that settles it.
struct QueuedOutcome: @unchecked Sendable {
  /// The transaction to settle and its durability; nil if there is nothing to settle.
  var awaited: (transaction: Transaction, durability: Durability)?
  /// The changes to repeat once all earlier transactions are settled; nil if there are none.
  var refused: RefusedTransaction?
  /// Resumes the task, with the error of settling if it failed.
  let tell: ((any Error)?) -> Void
}

/// A transaction that a caller, usually a task, waits for.
///
/// ```
/// new -> waiting -> taken        the closure runs; `completion` is called at the commit's end
///    \________\-> cancelled      `completion` is called at once; the closure never runs
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

  func run(in engine: Engine) -> QueuedOutcome? {
    guard let tell = leave(for: .taken) else { return nil }
    var value: R?
    do {
      let ended = try engine.run(durability) { value = try body($0) }
      return outcome(
        of: value, ended.failure, in: engine, tell, ended.awaited.map { (ended.transaction, $0) })
    } catch let refused as RefusedTransaction {
      return outcome(of: value, nil, in: engine, tell, refused: refused)
    } catch {
      return QueuedOutcome { _ in tell(.failure(engine.told(error))) }
    }
  }

  /// - Parameters:
  ///   - value: the result of the closure, unless it failed.
  ///   - failure: the closure's own error, which is more important to the caller than another
  ///     failure.
  private func outcome(
    of value: R?, _ failure: (any Error)?, in engine: Engine, _ tell: @escaping Completion,
    _ awaited: (transaction: Transaction, durability: Durability)? = nil,
    refused: RefusedTransaction? = nil
  ) -> QueuedOutcome {
    QueuedOutcome(awaited: awaited, refused: refused) { other in
      if let error = failure ?? other { return tell(.failure(engine.told(error))) }
      guard let value else { preconditionFailure("the closure has run and has not failed") }
      tell(.success(value))
    }
  }

  func refuse(_ error: any Error) { leave(for: .taken)?(.failure(error)) }
}
