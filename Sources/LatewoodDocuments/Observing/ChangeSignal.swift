import LatewoodConcurrency

/// Wakes one waiting task when a collection changes.
final class ChangeSignal: Sendable {
  private enum State {
    case silent
    case rung
    case awaited(CheckedContinuation<Bool, Never>)
    case cancelled
  }

  private let state = Guarded(State.silent)
  private let token: Guarded<ListenerToken?> = Guarded(nil)

  /// - Parameter note: called with each event before the bell rings, in the order of commits and
  ///   under a lock: see ``ChangeListener``. All commits that `deliver` has announced are noted.
  init(
    _ store: DocumentStore, _ collection: String, note: @escaping @Sendable (CollectionEvent) -> Void
  ) throws(DocumentError) {
    let token = try store.addListener(bell: collection, note: note) { [weak self] in self?.ring() }
    self.token.withLock { $0 = token }
  }

  deinit { token.withLock { $0 }?.cancel() }

  func mute() {
    state.withLock { state in
      if case .rung = state { state = .silent }
    }
  }

  private func ring() { wake(.rung, true) }

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

  /// Waits until the bell rings. Returns false if the task is cancelled.
  func heard() async -> Bool {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let answer = state.withLock { state -> Bool? in
          switch state {
          case .rung:
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
      wake(.cancelled, false)
    }
  }
}
