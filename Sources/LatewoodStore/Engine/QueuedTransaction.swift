import LatewoodDevice

/// A transaction that waits for its turn, whatever its closure returns.
protocol QueuedTransaction: Sendable {
  /// Runs the closure. Under the writer lock. Nil if the task that wanted it was cancelled.
  func run(in engine: Engine) -> QueuedOutcome?
  /// Tells the task that the closure cannot run.
  func refuse(_ error: any Error)
}

/// A queued transaction that has run, on its way to those who see it and to the task that waits for
/// it.
// SAFETY: it belongs to one thread at a time: to the one that runs the transaction, and then to the
// one that settles it.
struct QueuedOutcome: @unchecked Sendable {
  /// What is to be settled, and how; nil: nothing.
  let awaited: (transaction: Transaction, durability: Durability)?
  /// Tells the task, and what failed meanwhile.
  let tell: ((any Error)?) -> Void
}

/// A transaction that somebody, usually a task, waits for.
///
/// ```
/// new -> waiting -> taken        the closure runs, and who waits is told when the commit is settled
///    \________\-> cancelled      who waits is told at once; the closure never runs
/// ```
final class QueuedWrite<R: Sendable>: QueuedTransaction {
  /// Called once, by any thread, under no lock.
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

  /// Has somebody wait; false if it was cancelled before, which they are told.
  func wait(_ completion: @escaping Completion) -> Bool {
    let isWaiting = stage.withLock { stage in
      if case .cancelled = stage { return false }
      stage = .waiting(completion)
      return true
    }
    if !isWaiting { completion(.failure(CancellationError())) }
    return isWaiting
  }

  /// Gives the closure up, unless it has begun to run.
  func cancel() {
    leave(for: .cancelled)?(.failure(CancellationError()))
  }

  /// Who is to be told, if they still wait for their turn.
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
    do {
      let ended = try engine.run(durability, body)
      return QueuedOutcome(awaited: ended.awaited.map { (ended.transaction, $0) }) { failure in
        // Why the closure threw is what its caller wants to know, whatever else has failed.
        let result = ended.result.flatMap { value in failure.map { .failure($0) } ?? .success(value) }
        tell(result.mapError { engine.told($0) })
      }
    } catch {
      return QueuedOutcome(awaited: nil) { _ in tell(.failure(engine.told(error))) }
    }
  }

  func refuse(_ error: any Error) { leave(for: .taken)?(.failure(error)) }
}
