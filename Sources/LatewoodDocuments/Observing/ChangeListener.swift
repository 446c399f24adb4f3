import Dispatch
import LatewoodConcurrency
import Synchronization

/// One listener: its backlog and its handler; or, for a bell, a handler that is called immediately.
///
/// The handler of a bell belongs to this library. It notes each event at the time of the
/// announcement, so that no thread has to wake up for it, and it needs no backlog. `ring` is called
/// afterwards, without any lock.
///
/// For others, each waiting announcement has a block on the listener's queue. When several
/// announcements become one, there are more blocks than announcements, and new blocks are queued
/// only after the surplus has run. The queue is therefore bounded, too.
///
/// Thread safety: all calls from any thread. A handler is called and released without a lock; the
/// handler of a bell is called under one.
final class ChangeListener: Sendable {
  typealias Handler = @Sendable (CollectionChange) -> Void

  private struct State {
    /// Nil once the listener has ended.
    var handler: Handler?
    var backlog = ChangeBacklog()
    /// The number of blocks on the queue that have not begun.
    var blocks = 0
  }

  private static let lastNumber = Atomic<UInt64>(0)

  /// A number greater than those of all listeners that were created earlier.
  let number = lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
  /// The number of the database handle that added it.
  let handle: UInt64
  /// The name of the collection; nil for all.
  let collection: String?
  /// Nil for a bell.
  private let queue: DispatchQueue?
  /// Called after the handler of a bell.
  let ring: @Sendable () -> Void
  private let state: Guarded<State>

  init(of handle: UInt64, _ collection: String?, on queue: DispatchQueue, _ handler: @escaping Handler) {
    self.handle = handle
    self.collection = collection
    self.queue = queue
    ring = {}
    state = Guarded(State(handler: handler))
  }

  /// Creates a bell.
  ///
  /// - Parameters:
  ///   - note: called with each event, in the order of commits and under a lock: it must be short
  ///     and must not release objects of a caller.
  ///   - ring: called after one or more events, without a lock.
  init(
    of handle: UInt64, bell collection: String, note: @escaping Handler,
    ring: @escaping @Sendable () -> Void
  ) {
    self.handle = handle
    self.collection = collection
    queue = nil
    self.ring = ring
    state = Guarded(State(handler: note))
  }

  /// Returns listeners in the order in which they were created.
  static func inOrder(_ listeners: [UInt64: ChangeListener]) -> [ChangeListener] {
    listeners.values.sorted { $0.number < $1.number }
  }

  /// Queues an announcement for the handler. Returns whether to call `ring`.
  func add(_ announcement: Announcement) -> Bool {
    guard let queue else {
      state.withLock { $0.handler }?(announcement.unread)
      return true
    }
    let needsBlock = state.withLock { state in
      guard state.handler != nil else { return false }
      state.backlog.append(announcement)
      guard state.blocks < state.backlog.count else { return false }
      state.blocks += 1
      return true
    }
    if needsBlock { queue.async { self.tellNext() } }
    return false
  }

  /// Ends the listener: no call of the handler begins after this.
  func end() {
    // Both are released outside the lock: the handler may hold the last reference to other objects.
    let ended = state.withLock { state in
      defer {
        state.handler = nil
        state.backlog = ChangeBacklog()
      }
      return (state.handler, state.backlog)
    }
    withExtendedLifetime(ended) {}
  }

  private func tellNext() {
    let next = state.withLock { state in
      state.blocks -= 1
      return state.backlog.popFirst()
    }
    switch next {
    case nil: break
    case .range(let range)?: range.forEachEvent { tell($0) }
    case .event(let event, _)?:
      tell(event)
      if event.kind == .closed { end() }
    }
  }

  /// Calls the handler; returns false if the listener has ended.
  @discardableResult
  private func tell(_ event: CollectionChange) -> Bool {
    guard let handler = state.withLock({ $0.handler }) else { return false }
    handler(event)
    return true
  }
}
