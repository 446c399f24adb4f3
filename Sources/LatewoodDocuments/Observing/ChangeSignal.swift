import LatewoodConcurrency

/// Wakes one waiting task when a collection changes.
final class ChangeSignal: Sendable {
  private enum State {
    case silent
    case signalled
    case awaited(CheckedContinuation<Bool, Never>)
    case cancelled
  }

  private let state = Guarded(State.silent)
  private let token: Guarded<ListenerToken?> = Guarded(nil)

  /// - Parameter note: called with each event before the signal is given, in the order of commits
  ///   and under a lock: see ``ChangeListener``. It has been told of all commits that
  ///   `deliver` has announced.
  init(
    _ store: DocumentStore, _ collection: String, note: @escaping @Sendable (CollectionChange) -> Void
  ) throws(DatabaseError) {
    let token = try store.addListener(bell: collection, note: note) { [weak self] in self?.signal() }
    self.token.withLock { $0 = token }
  }

  /// Takes back a signal that nobody has waited for.
  func reset() {
    state.withLock { state in
      if case .signalled = state { state = .silent }
    }
  }

  private func signal() { wake(.signalled, true) }

  /// Ends all waiting, now and later.
  func cancel() { wake(.cancelled, false) }

  private func wake(_ next: State, _ answer: Bool) {
    let waiting = state.withLock { state -> CheckedContinuation<Bool, Never>? in
      if case .cancelled = state { return nil }
      if case .awaited(let continuation) = state {
        state = if case .cancelled = next { .cancelled } else { .silent }
        return continuation
      }
      state = next
      return nil
    }
    waiting?.resume(returning: answer)
  }

  /// Waits for the signal. Returns false if the task is cancelled.
  func wait() async -> Bool {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let answer = state.withLock { state -> Bool? in
          switch state {
          case .signalled:
            state = .silent
            return true
          case .cancelled: return false
          case .silent, .awaited:
            state = .awaited(continuation)
            return nil
          }
        }
        if let answer { continuation.resume(returning: answer) }
      }
    } onCancel: {
      cancel()
    }
  }
}
