import Dispatch
import LatewoodDevice

/// Tells observers of what was committed: after the commit, in the order of commits, each on the
/// queue that it chose, and never inside a batch.
///
/// A batch takes a ticket while it has the writer lock, so that tickets are in the order of
/// commits; it hands in what it has done, or nothing, when it has been committed or has failed.
/// What is handed in waits for the tickets before it.
///
/// An observer belongs to the handle of the database by which it was added, and ends with that.
///
/// Thread safety: all calls from any thread. Under the lock observers are only given what they will
/// tell later: no handler runs, and none is let go of.
final class ChangeHub: Sendable {
  fileprivate struct State {
    /// Handles of the database that are open.
    var handles: Set<UInt64> = []
    var nextHandle: UInt64 = 0
    var observers: [ChangeObserver] = []
    var nextTicket: UInt64 = 0
    var nextDelivery: UInt64 = 0
    var waiting: [UInt64: [Announcement]] = [:]
  }

  private let state = Guarded(State())

  // MARK: Handles

  /// Notes a handle that observers may belong to, and returns its number.
  func openHandle() -> UInt64 {
    state.withLock { state in
      state.nextHandle += 1
      state.handles.insert(state.nextHandle)
      return state.nextHandle
    }
  }

  /// Ends the observers of a handle: `closed` is the last that they hear.
  func closeHandle(_ handle: UInt64) {
    let ended = state.withLock { state in
      state.handles.remove(handle)
      let ended = state.observers.filter { $0.handle == handle }
      state.observers.removeAll { $0.handle == handle }
      for observer in ended {
        observer.add(.event(CollectionEvent(kind: .closed, collection: observer.collection ?? ""), nil))
      }
      return ended
    }
    // They go outside of the lock: a handler may be the last reference to much, this database
    // included.
    withExtendedLifetime(ended) {}
  }

  // MARK: Observers

  func add(_ observer: ChangeObserver) throws(DocumentError) {
    let isOpen = state.withLock { state in
      guard state.handles.contains(observer.handle) else { return false }
      state.observers.append(observer)
      return true
    }
    if !isOpen { throw DocumentError(.notOpen, "the database has been closed") }
  }

  func remove(_ observer: ChangeObserver) {
    let removed = state.withLock { state -> ChangeObserver? in
      guard let index = state.observers.firstIndex(where: { $0 === observer }) else { return nil }
      return state.observers.remove(at: index)
    }
    withExtendedLifetime(removed) {}
  }

  /// Whether anybody is told of anything.
  var hasObservers: Bool { state.withLock { !$0.observers.isEmpty } }

  // MARK: Deliveries

  func takeTicket() -> UInt64 {
    state.withLock { state in
      defer { state.nextTicket += 1 }
      return state.nextTicket
    }
  }

  /// Hands in what the batch of a ticket has done: once for each ticket.
  func deliver(_ ticket: UInt64, _ announcements: [Announcement]) {
    // Under the lock, so that another thread cannot come between.
    state.withLock { state in
      state.waiting[ticket] = announcements
      while let announcements = state.waiting.removeValue(forKey: state.nextDelivery) {
        state.nextDelivery += 1
        state.tell(announcements)
      }
    }
  }

  /// Tells of what another process has done: no batch of this one, so there are no tickets.
  func announce(_ announcements: [Announcement]) { state.withLock { $0.tell(announcements) } }
}

extension ChangeHub.State {
  fileprivate func tell(_ announcements: [Announcement]) {
    for announcement in announcements {
      for observer in observers where observer.wants(announcement) { observer.add(announcement) }
    }
  }
}

extension DocumentStore {
  /// Calls a handler after each batch that has changed a collection, on a queue of the caller's
  /// choice.
  ///
  /// What a slow handler has not been told of is kept up to a bound, and beyond that read from the
  /// collection when its turn comes: see ``CollectionEvent/isComplete``. Of a database that is only
  /// read, it is called within 100 ms after another process has committed.
  ///
  /// - Parameters:
  ///   - collection: its name; nil for all.
  ///   - queue: should be serial; then the calls come in the order of the commits.
  /// - Returns: what ends it. It ends with ``close()`` too, and not by itself.
  package func observe(
    collection: String? = nil, on queue: DispatchQueue,
    _ handler: @escaping @Sendable (CollectionEvent) -> Void
  ) throws(DocumentError) -> ObserverToken {
    let core = try opened()
    let observer = ChangeObserver(of: handle, collection, on: queue, handler)
    try core.hub.add(observer)
    let token = ObserverToken(observer, core.hub)
    do throws(DocumentError) { try core.startFollowing() } catch {
      token.cancel()
      throw error
    }
    return token
  }
}

/// Keeps an observer until it is cancelled. On the observer's own queue, no call comes after
/// `cancel` has returned.
package final class ObserverToken: Sendable {
  private let observer: ChangeObserver
  private let hub: ChangeHub

  fileprivate init(_ observer: ChangeObserver, _ hub: ChangeHub) {
    self.observer = observer
    self.hub = hub
  }

  /// Ends the observation. Idempotent.
  package func cancel() {
    hub.remove(observer)
    observer.end()
  }
}
