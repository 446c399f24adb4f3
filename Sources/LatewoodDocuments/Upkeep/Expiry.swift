import Dispatch
import LatewoodDevice
import LatewoodStore

/// Wakes the database when the next document expires.
///
/// Thread safety: all calls from any thread.
final class ExpiryAlarm: Sendable {
  private struct State {
    /// In seconds since 1970; nil: nothing is waited for.
    var time: UInt64?
    var isCancelled = false
  }

  /// In microseconds. The clock may be set and the machine may sleep, and not all timers follow
  /// that; so it is looked at as often as this. A purge that has failed is tried again after as
  /// long.
  static let longestWait: UInt64 = 60_000_000

  private let state = Guarded(State())

  func cancel() { state.withLock { $0 = State(isCancelled: true) } }

  /// True if there is none that rings as early: then the caller starts one.
  func wants(_ time: UInt64) -> Bool {
    state.withLock { state in
      if state.isCancelled { return false }
      if let other = state.time, other <= time { return false }
      state.time = time
      return true
    }
  }

  /// Whether the one for this time is still wanted; it has rung then.
  func rings(_ time: UInt64) -> Bool {
    state.withLock { state in
      guard !state.isCancelled, state.time == time else { return false }
      state.time = nil
      return true
    }
  }
}

extension DocumentCore {
  private static let batchSize = 1000

  /// Forgets what has expired, and waits for what will. Called once, when the database is opened.
  func startExpiring() throws(DocumentError) {
    guard !store.isReadOnly else { return }
    do throws(DocumentError) {
      try purgeExpired()
    } catch {
      // A full disk keeps nobody from reading; the alarm tries again.
      guard error.store?.code == .outOfSpace else { throw error }
    }
    if let first = try firstExpiry() { setAlarm(for: first) }
  }

  func firstExpiry() throws(DocumentError) -> UInt64? {
    var first: UInt64?
    for name in try collectionNames(in: store) {
      guard let collection = try collection(name) else { continue }
      do throws(DocumentError) {
        let reads = try DocumentReads(.state(try held()), collection, now: now)
        if let time = try reads.firstExpiry() { first = min(first ?? time, time) }
      } catch {
        // Dropped meanwhile.
        if error.code != .notFound { throw error }
      }
    }
    return first
  }

  /// Wakes the database at a time, unless it wakes before that anyway.
  ///
  /// - Parameter delay: how long to wait at least, in microseconds.
  func setAlarm(for time: UInt64, delay: UInt64 = 0) {
    guard options.expiresByItself, !store.isReadOnly, alarm.wants(time) else { return }
    let now = options.environment.now()
    let (due, overflow) = time.multipliedReportingOverflow(by: 1_000_000)
    // A document is gone when its second has begun.
    let wait = max(delay, overflow ? .max : due > now ? due - now : 0)
    options.wake(min(wait, ExpiryAlarm.longestWait)) { [weak self] in
      guard let self, alarm.rings(time) else { return }
      do throws(DocumentError) {
        try purgeExpired()
        if let next = try firstExpiry() { setAlarm(for: next) }
      } catch {
        // If it is closed, the next open sees to it. A full disk may have room again.
        if error.code != .notOpen { setAlarm(for: time, delay: ExpiryAlarm.longestWait) }
      }
    }
  }

  /// - Returns: how many documents it has forgotten.
  @discardableResult
  func purgeExpired() throws(DocumentError) -> Int {
    var count = 0
    for name in try collectionNames(in: store) {
      guard let collection = try collection(name) else { continue }
      while true {
        let removed = try purgeExpired(in: collection)
        count += removed
        if removed < DocumentCore.batchSize { break }
      }
    }
    return count
  }

  private func purgeExpired(in collection: DocumentCollection) throws(DocumentError) -> Int {
    let end = now &+ 1
    do throws(DocumentError) {
      // Most of the time there is nothing, and no transaction is needed to see that.
      if try DocumentReads(.state(held()), collection, now: now).expiring(
        before: end, limit: 1
      ).isEmpty {
        return 0
      }
      return try batch(.usual) { (writer) throws(DocumentError) in
        let work = try writer.work(collection)
        let due = try writer.reads(collection).expiring(
          before: writer.now &+ 1, limit: DocumentCore.batchSize)
        for (seconds, id) in due {
          guard let record = try writer.storedRecord(id, work), record.expiry == seconds,
            record.isExpired(at: writer.now)
          else {
            // An entry that no document answers to. To refuse because of it would keep the whole
            // database shut; verification tells of it.
            try writer.forgetExpiry(seconds, id, work)
            continue
          }
          try writer.forget(id, work, record, .expired)
        }
        return due.count
      }
    } catch {
      // Dropped meanwhile.
      if error.code == .notFound { return 0 }
      throw error
    }
  }

  private func held() throws(DocumentError) -> HeldState {
    do { return HeldState(try store._reader()) } catch { throw DocumentError(error) }
  }
}

extension DocumentStore {
  /// Forgets the documents whose time has come by the injected clock. Runs by itself too.
  @discardableResult
  package func purgeExpired() throws(DocumentError) -> Int { try openedForWriting().purgeExpired() }
}
