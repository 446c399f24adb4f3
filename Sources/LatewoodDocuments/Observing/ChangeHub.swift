import Dispatch
import LatewoodConcurrency

/// Notifies listeners after each commit, in the order of the commits, each on the queue that it
/// chose, and never inside a batch.
///
/// A batch takes a ticket while it holds the writer lock, so that tickets are in the order of
/// commits. When it has been committed or has failed, it hands in its announcements, or none; they
/// wait for those of all earlier tickets.
///
/// A listener belongs to the database handle that added it, and ends with that handle. Adding or
/// removing one costs O(1), and an announcement O(n log n) for the n listeners that it concerns.
///
/// Thread safety: all calls from any thread. The lock is held only to queue announcements and to
/// ring bells. Handlers of callers are neither called nor released under it.
final class ChangeHub: Sendable {
  fileprivate struct State {
    /// The open handles of the database, each with its listeners by number.
    var handles: [UInt64: [UInt64: ChangeListener]] = [:]
    var nextHandle: UInt64 = 0
    /// The listeners of each collection, and under nil those of all, by number.
    var listeners: [String?: [UInt64: ChangeListener]] = [:]
    var nextTicket: UInt64 = 0
    var nextDelivery: UInt64 = 0
    var waiting: [UInt64: [Announcement]] = [:]
  }

  private let state = Guarded(State())

  // MARK: Handles

  /// Registers a handle that listeners may belong to, and returns its number.
  func openHandle() -> UInt64 {
    state.withLock { state in
      state.nextHandle += 1
      state.handles[state.nextHandle] = [:]
      return state.nextHandle
    }
  }

  /// Ends the listeners of a handle; `closed` is the last event that they receive.
  func closeHandle(_ handle: UInt64) {
    let (ended, bells) = state.withLock { state in
      let ended = ChangeListener.inOrder(state.handles.removeValue(forKey: handle) ?? [:])
      for listener in ended { state.forget(listener) }
      let bells = ended.filter { listener in
        listener.add(.event(CollectionChange(kind: .closed, collection: listener.collection ?? ""), nil))
      }
      return (ended, bells)
    }
    for bell in bells { bell.ring() }
    // Release them outside the lock: a handler may hold the last reference to other objects, even
    // to this database.
    withExtendedLifetime(ended) {}
  }

  // MARK: Observers

  func add(_ listener: ChangeListener) throws(DatabaseError) {
    let isOpen = state.withLock { state in
      guard state.handles[listener.handle] != nil else { return false }
      state.handles[listener.handle]?[listener.number] = listener
      state.listeners[listener.collection, default: [:]][listener.number] = listener
      return true
    }
    if !isOpen { throw DatabaseError(.notOpen, "the database has been closed") }
  }

  func remove(_ listener: ChangeListener) {
    let removed = state.withLock { state -> ChangeListener? in
      state.forget(listener)
      return state.handles[listener.handle]?.removeValue(forKey: listener.number)
    }
    withExtendedLifetime(removed) {}
  }

  /// Whether there are listeners.
  var hasListeners: Bool { state.withLock { !$0.listeners.isEmpty } }

  // MARK: Deliveries

  func takeTicket() -> UInt64 {
    state.withLock { state in
      defer { state.nextTicket += 1 }
      return state.nextTicket
    }
  }

  /// Submits the announcements of a ticket's batch. Called exactly once for each ticket.
  func deliver(_ ticket: UInt64, _ announcements: [Announcement]) {
    // Queue them under the lock, so that no other thread can get in between.
    let bells = state.withLock { state in
      var bells: [ChangeListener] = []
      state.waiting[ticket] = announcements
      while let announcements = state.waiting.removeValue(forKey: state.nextDelivery) {
        state.nextDelivery += 1
        state.tell(announcements, &bells)
      }
      return bells
    }
    for bell in bells { bell.ring() }
  }

  /// Announces changes by another process, which have no batch, and therefore no ticket, in this
  /// process.
  func announce(_ announcements: [Announcement]) {
    let bells = state.withLock { state in
      var bells: [ChangeListener] = []
      state.tell(announcements, &bells)
      return bells
    }
    for bell in bells { bell.ring() }
  }
}

extension ChangeHub.State {
  /// - Parameter bells: receives the bells to ring.
  fileprivate func tell(_ announcements: [Announcement], _ bells: inout [ChangeListener]) {
    if listeners.isEmpty { return }
    for announcement in announcements {
      for listener in concerned(by: announcement) where listener.add(announcement) {
        bells.append(listener)
      }
    }
  }

  /// The listeners of one collection and of all, in the order in which they were created.
  private func concerned(by announcement: Announcement) -> [ChangeListener] {
    let own = listeners[announcement.collection] ?? [:]
    guard let general = listeners[nil] else { return ChangeListener.inOrder(own) }
    return ChangeListener.inOrder(own.merging(general) { own, _ in own })
  }

  /// Removes a listener from those of its collection.
  fileprivate mutating func forget(_ listener: ChangeListener) {
    listeners[listener.collection]?[listener.number] = nil
    if listeners[listener.collection]?.isEmpty == true { listeners[listener.collection] = nil }
  }
}

extension DocumentStore {
  /// Calls a handler after each batch that has changed a collection, on a queue of the caller's
  /// choice.
  ///
  /// Up to a limit, events wait in memory for a slow handler; beyond that, its changes are read
  /// from the collection when their turn comes: see ``CollectionChange/isComplete``. In a read-only
  /// database, the handler is called within 100 ms after another process has committed.
  ///
  /// - Parameters:
  ///   - collection: the name of the collection; nil for all.
  ///   - queue: should be serial, so that calls are made in the order of the commits.
  /// - Returns: a token, which the caller must retain: the listener ends with it.
  package func addListener(
    collection: String? = nil, on queue: DispatchQueue,
    _ handler: @escaping @Sendable (CollectionChange) -> Void
  ) throws(DatabaseError) -> ListenerToken {
    try addListener(ChangeListener(of: handle, collection, on: queue, handler))
  }

  /// Listens with a bell: see ``ChangeListener``.
  func addListener(
    bell collection: String, note: @escaping @Sendable (CollectionChange) -> Void,
    ring: @escaping @Sendable () -> Void
  ) throws(DatabaseError) -> ListenerToken {
    try addListener(ChangeListener(of: handle, bell: collection, note: note, ring: ring))
  }

  private func addListener(_ listener: ChangeListener) throws(DatabaseError) -> ListenerToken {
    let core = try opened()
    try core.hub.add(listener)
    let token = ListenerToken(listener, core.hub)
    do throws(DatabaseError) { try core.startFollowing() } catch {
      token.cancel()
      throw error
    }
    return token
  }
}

/// The handle of a listener, which ends with ``cancel()`` or with the last reference to the token.
public final class ListenerToken: Sendable {
  private let listener: ChangeListener
  private let hub: ChangeHub

  fileprivate init(_ listener: ChangeListener, _ hub: ChangeHub) {
    self.listener = listener
    self.hub = hub
  }

  deinit { cancel() }

  /// Ends the listener. Once this returns on the listener's queue, the handler is not called again.
  /// Idempotent.
  public func cancel() {
    hub.remove(listener)
    listener.end()
  }
}
