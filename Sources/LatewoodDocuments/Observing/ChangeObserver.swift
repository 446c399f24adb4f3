import Dispatch
import LatewoodDevice

/// One observer: what it has not been told of yet, and how it is told.
///
/// Each announcement that waits has a block on the observer's queue. Where several have become one
/// there are more blocks than announcements, and no new ones are queued before those have run: so
/// the queue does not grow without bound either.
///
/// Thread safety: all calls from any thread. The handler is called and let go of without a lock.
final class ChangeObserver: Sendable {
  typealias Handler = @Sendable (CollectionEvent) -> Void

  private struct State {
    /// Nil when the observer has ended.
    var handler: Handler?
    var backlog = ChangeBacklog()
    /// Blocks on the queue that have not begun.
    var blocks = 0
  }

  /// The handle of the database by which it was added.
  let handle: UInt64
  /// Nil: all of them.
  let collection: String?
  private let queue: DispatchQueue
  private let state: Guarded<State>

  init(of handle: UInt64, _ collection: String?, on queue: DispatchQueue, _ handler: @escaping Handler) {
    self.handle = handle
    self.collection = collection
    self.queue = queue
    state = Guarded(State(handler: handler))
  }

  func wants(_ announcement: Announcement) -> Bool {
    collection == nil || collection == announcement.collection
  }

  /// Has the handler called, later and on its queue.
  func add(_ announcement: Announcement) {
    let needsBlock = state.withLock { state in
      guard state.handler != nil else { return false }
      state.backlog.append(announcement)
      guard state.blocks < state.backlog.count else { return false }
      state.blocks += 1
      return true
    }
    if needsBlock { queue.async { self.tellNext() } }
  }

  /// No call of the handler begins after this.
  func end() {
    // Both go outside of the lock: the handler may be the last reference to much.
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

  /// False if the observer has ended.
  @discardableResult
  private func tell(_ event: CollectionEvent) -> Bool {
    guard let handler = state.withLock({ $0.handler }) else { return false }
    handler(event)
    return true
  }
}
