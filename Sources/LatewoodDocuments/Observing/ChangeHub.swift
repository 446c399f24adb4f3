import Dispatch
import LatewoodDevice

/// Tells observers of what was committed: after the commit, in the order of commits, each on the queue that it chose, and never inside a batch.
///
/// A batch takes a ticket while it has the writer lock, so that tickets are in the order of commits; it hands in what it has done, or
/// nothing, when it has been committed or has failed. What is handed in waits for the tickets before it.
///
/// Thread safety: all calls from any thread.
final class ChangeHub: Sendable {
  fileprivate struct Observer {
    var token: ObserverToken
    /// Nil: all of them.
    var collection: String?
    var queue: DispatchQueue
    var handler: @Sendable (CollectionEvent) -> Void
  }

  fileprivate struct State {
    var observers: [Observer] = []
    var nextTicket: UInt64 = 0
    var nextDelivery: UInt64 = 0
    var waiting: [UInt64: [CollectionEvent]] = [:]
  }

  private let state = Guarded(State())

  func takeTicket() -> UInt64 {
    state.withLock { state in
      defer { state.nextTicket += 1 }
      return state.nextTicket
    }
  }

  /// Hands in what the batch of a ticket has done: once for each ticket.
  func deliver(_ ticket: UInt64, _ events: [CollectionEvent]) {
    // Queued under the lock, so that another thread cannot come between; a queue only takes the work here.
    state.withLock { state in
      state.waiting[ticket] = events
      while let events = state.waiting.removeValue(forKey: state.nextDelivery) {
        state.nextDelivery += 1
        for event in events {
          for observer in state.observers where observer.wants(event) { observer.tell(event) }
        }
      }
    }
  }

  func observe(
    _ collection: String?, on queue: DispatchQueue, _ handler: @escaping @Sendable (CollectionEvent) -> Void
  ) -> ObserverToken {
    let token = ObserverToken { [weak self] token in
      // It goes outside of the lock: its handler may be the last reference to much, this database
      // included.
      let removed = self?.state.withLock { state -> Observer? in
        guard let index = state.observers.firstIndex(where: { $0.token === token }) else { return nil }
        return state.observers.remove(at: index)
      }
      withExtendedLifetime(removed) {}
    }
    state.withLock {
      $0.observers.append(Observer(token: token, collection: collection, queue: queue, handler: handler))
    }
    return token
  }

  /// Tells all observers something about the whole database.
  func tellAll(_ kind: CollectionEvent.Kind) {
    // Their handlers go outside of the lock: they may be the last references to much.
    let observers = state.withLock { state in
      defer { if kind == .closed { state.observers = [] } }
      return state.observers
    }
    for observer in observers {
      observer.tell(CollectionEvent(kind: kind, collection: observer.collection ?? ""))
    }
  }
}

extension ChangeHub.Observer {
  fileprivate func wants(_ event: CollectionEvent) -> Bool {
    !token.isCancelled && (collection == nil || collection == event.collection)
  }

  fileprivate func tell(_ event: CollectionEvent) {
    queue.async { [token, handler] in
      if !token.isCancelled { handler(event) }
    }
  }
}

/// Keeps an observer until it is cancelled. On the observer's own queue, no call comes after `cancel` has returned.
package final class ObserverToken: Sendable {
  private let onCancel: Guarded<(@Sendable (ObserverToken) -> Void)?>

  fileprivate init(_ onCancel: @escaping @Sendable (ObserverToken) -> Void) {
    self.onCancel = Guarded(onCancel)
  }

  package var isCancelled: Bool { onCancel.withLock { $0 == nil } }

  /// Ends the observation. Idempotent.
  package func cancel() {
    let action = onCancel.withLock { action in
      defer { action = nil }
      return action
    }
    action?(self)
  }
}

extension DocumentStore {
  /// Calls a handler after each batch that has changed a collection, on a queue of the caller's choice.
  ///
  /// - Parameters:
  ///   - collection: its name; nil for all.
  ///   - queue: should be serial; then the calls come in the order of the commits.
  /// - Returns: what ends it: it does not end by itself.
  package func observe(
    collection: String? = nil, on queue: DispatchQueue,
    _ handler: @escaping @Sendable (CollectionEvent) -> Void
  ) throws(DocumentError) -> ObserverToken {
    try opened().hub.observe(collection, on: queue, handler)
  }
}
