import Dispatch
import LatewoodConcurrency
import LatewoodStore
import Synchronization

/// Keeps a read-only database up to date with the process that writes it.
///
/// A read that begins `readInterval` or more after the last check first checks the log for new
/// commits. While there are listeners, a timer checks every `timerInterval` and notifies them. One
/// thread checks at a time; reads of other threads use the known state.
///
/// Thread safety: all methods may be called from any thread. The checking thread holds `turn` and
/// takes locks of the store; no code of a caller runs under it.
final class Following: Sendable {
  /// The minimum interval between two checks by reads, in nanoseconds.
  static let readInterval: UInt64 = 10_000_000
  /// The interval between two checks by the timer, in milliseconds.
  static let timerInterval = 50

  fileprivate struct State {
    /// The error of the last check. Reads throw it until a check succeeds, because they might miss
    /// commits.
    var failure: DatabaseError?
    /// The states of the collections that have been announced to listeners, by name; nil without
    /// listeners.
    var known: [String: CollectionState]?
    var isTimerOn = false
  }

  fileprivate let turn = Monitor()
  fileprivate let state = Guarded(State())
  /// The monotonic time of the next check by a read, in nanoseconds.
  fileprivate let nextLook = Atomic<UInt64>(0)
  fileprivate let hasFailed = Atomic<Bool>(false)
  fileprivate let queue = DispatchQueue(label: "latewood.follow")
}

extension DocumentCore {
  /// Makes commits of another process that are older than 10 ms visible to subsequent reads.
  func catchUp() throws(DatabaseError) {
    guard let following else { return }
    if MonotonicClock.nanoseconds >= following.nextLook.load(ordering: .relaxed), following.turn.tryLock() {
      defer { following.turn.unlock() }
      try look(following)
    } else if following.hasFailed.load(ordering: .relaxed),
      let failure = following.state.withLock({ $0.failure })
    {
      throw failure
    }
  }

  /// Checks for commits of another process immediately. Returns whether there were new commits.
  func catchUpNow() throws(DatabaseError) -> Bool {
    guard let following else { return false }
    following.turn.lock()
    defer { following.turn.unlock() }
    return try look(following)
  }

  /// Starts notifying listeners of commits by another process.
  func startFollowing() throws(DatabaseError) {
    guard let following else { return }
    following.turn.lock()
    defer { following.turn.unlock() }
    if following.state.withLock({ $0.known }) == nil {
      try look(following)
      let known = try knownCollections()
      following.state.withLock { $0.known = known }
    }
    let startsTimer = following.state.withLock { state in
      defer { state.isTimerOn = true }
      return !state.isTimerOn
    }
    if startsTimer { setTimer(following) }
  }

  private func setTimer(_ following: Following) {
    following.queue.asyncAfter(deadline: .now() + .milliseconds(Following.timerInterval)) { [weak self] in
      self?.timerRings(following)
    }
  }

  private func timerRings(_ following: Following) {
    following.turn.lock()
    defer { following.turn.unlock() }
    var isOver = !hub.hasListeners
    do throws(DatabaseError) {
      if !isOver { try look(following) }
    } catch {
      // Reads will throw the error. Any error may be temporary, except the one for a closed store.
      isOver = error.code == .notOpen
    }
    if isOver {
      following.state.withLock { ($0.known, $0.isTimerOn) = (nil, false) }
    } else {
      setTimer(following)
    }
  }

  /// Loads new commits and announces them. Returns whether there were new commits. The caller holds
  /// `turn`.
  @discardableResult
  private func look(_ following: Following) throws(DatabaseError) -> Bool {
    defer {
      following.nextLook.store(MonotonicClock.nanoseconds + Following.readInterval, ordering: .relaxed)
    }
    do throws(DatabaseError) {
      let isNew = try DatabaseError.typed { try store.refresh() }
      if isNew { try takeIn(following) }
      following.hasFailed.store(false, ordering: .relaxed)
      return isNew
    } catch {
      following.state.withLock { $0.failure = error }
      following.hasFailed.store(true, ordering: .relaxed)
      throw error
    }
  }

  private func takeIn(_ following: Following) throws(DatabaseError) {
    guard let old = following.state.withLock({ $0.known }) else { return }
    let new = try knownCollections()
    var announcements: [Announcement] = []
    for name in old.keys.sorted() where new[name]?.identity != old[name]?.identity {
      announcements.append(.event(CollectionChange(kind: .dropped, collection: name), nil))
    }
    for name in new.keys.sorted() {
      guard let now = new[name], let collection = try collection(name) else { continue }
      let before = old[name].flatMap { $0.identity == now.identity ? $0 : nil }
      guard now.showsOthers(than: before ?? CollectionState(now.identity)) else { continue }
      announcements.append(
        .range(
          ChangeRange(
            changes(of: collection), since: before?.lastSequence ?? 0,
            through: now.lastSequence, isComplete: false)))
    }
    following.state.withLock { $0.known = new }
    hub.announce(announcements)
  }

  private func knownCollections() throws(DatabaseError) -> [String: CollectionState] {
    var known: [String: CollectionState] = [:]
    for name in try collectionNames(in: store) {
      known[name] = try DatabaseRecords.state(of: name, in: shared, store)
    }
    return known
  }
}

extension CollectionState {
  /// Returns whether documents were saved, deleted or purged since an earlier state.
  fileprivate func showsOthers(than before: CollectionState) -> Bool {
    lastSequence != before.lastSequence || documents != before.documents || tombstones != before.tombstones
  }
}
