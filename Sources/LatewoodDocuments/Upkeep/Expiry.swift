import Dispatch
import LatewoodConcurrency
import LatewoodStore

/// Wakes the database when the next document expires.
///
/// Thread safety: all calls from any thread.
final class ExpiryAlarm: Sendable {
  private struct State {
    /// The time in seconds since 1970; nil if no alarm is set.
    var time: UInt64?
    /// The number of alarms that were set so far, which is that of the last one.
    var number: UInt64 = 0
    /// The timer of the alarm, which does not fire once it is released.
    var timer: (any AnyObject & Sendable)?
    var isCancelled = false
  }

  /// The longest wait in microseconds. Some timers do not notice that the clock was changed or that
  /// the machine slept, so the alarm checks at least this often. A failed purge is retried after
  /// the same time.
  static let longestWait: UInt64 = 60_000_000

  private let state = Guarded(State())

  func cancel() { state.withLock { $0 = State(isCancelled: true) } }

  /// Keeps the timer of an alarm until the alarm rings or is cancelled, or one for an earlier time
  /// is set.
  func keep(_ timer: any AnyObject & Sendable, of number: UInt64) {
    state.withLock { if $0.time != nil, $0.number == number { $0.timer = timer } }
  }

  /// Registers an alarm, and returns its number if the caller must start its timer; nil if an alarm
  /// is set for this time or earlier, or after `cancel`.
  func set(_ time: UInt64) -> UInt64? {
    state.withLock { state in
      if state.isCancelled { return nil }
      if let other = state.time, other <= time { return nil }
      state.time = time
      state.number += 1
      return state.number
    }
  }

  /// Whether the alarm with this number is still wanted when its timer fires; clears it.
  func rings(_ number: UInt64) -> Bool {
    state.withLock { state in
      guard !state.isCancelled, state.time != nil, state.number == number else { return false }
      state.time = nil
      state.timer = nil
      return true
    }
  }
}

extension DocumentCore {
  private static let batchSize = 1000

  /// Purges documents that have expired, and sets the alarm for the next. Called once, when the
  /// database is opened.
  func startExpiring() throws(DatabaseError) {
    guard !store.isReadOnly else { return }
    do throws(DatabaseError) {
      try purgeExpired()
    } catch {
      // Ignore a full disk, so that the database can be read. The alarm tries again.
      guard error.store?.code == .outOfSpace else { throw error }
    }
    if let first = try firstExpiry() { setAlarm(for: first) }
  }

  func firstExpiry() throws(DatabaseError) -> UInt64? {
    var first: UInt64?
    for name in try expiringCollections() {
      guard let collection = try collection(name) else { continue }
      do throws(DatabaseError) {
        let reads = try DocumentReads(.state(try store.pinned()), collection, now: now)
        if let time = try reads.firstExpiry() { first = min(first ?? time, time) }
      } catch {
        // The collection was dropped in the meantime.
        if error.code != .notFound { throw error }
      }
    }
    return first
  }

  /// Wakes the database at a time, unless an earlier alarm is set.
  ///
  /// - Parameter delay: the least time to wait, in microseconds.
  func setAlarm(for time: UInt64, delay: UInt64 = 0) {
    guard options.expiresByItself, !store.isReadOnly, let number = alarm.set(time) else { return }
    let now = options.environment.now()
    let (due, overflow) = time.multipliedReportingOverflow(by: 1_000_000)
    // A document expires at the beginning of its second.
    let wait = max(delay, overflow ? .max : due > now ? due - now : 0)
    let timer = options.wake(min(wait, ExpiryAlarm.longestWait)) { [weak self] in
      guard let self, alarm.rings(number) else { return }
      do throws(DatabaseError) {
        try purgeExpired()
        if let next = try firstExpiry() { setAlarm(for: next) }
      } catch {
        // After a close, the next open purges. A full disk may have space again.
        if error.code != .notOpen { setAlarm(for: time, delay: ExpiryAlarm.longestWait) }
      }
    }
    alarm.keep(timer, of: number)
  }

  /// - Returns: the number of documents that were purged.
  @discardableResult
  func purgeExpired() throws(DatabaseError) -> Int {
    var count = 0
    for name in try expiringCollections() {
      guard let collection = try collection(name) else { continue }
      while true {
        let removed = try purgeExpired(in: collection)
        count += removed
        if removed < DocumentCore.batchSize { break }
      }
    }
    return count
  }

  private func purgeExpired(in collection: CollectionHandle) throws(DatabaseError) -> Int {
    let end = now &+ 1
    do throws(DatabaseError) {
      // Usually there is nothing to purge, and checking this does not need a transaction.
      if try DocumentReads(.state(store.pinned()), collection, now: now).expiring(
        before: end, limit: 1
      ).isEmpty {
        return 0
      }
      return try batch(.usual) { batch in
        let part = try batch.part(for: collection)
        let due = try batch.reads(collection).expiring(
          before: batch.now &+ 1, limit: DocumentCore.batchSize)
        for (seconds, id) in due {
          guard let record = try DocumentWriter(batch).storedRecord(id, part), record.expiry == seconds,
            record.isExpired(at: batch.now)
          else {
            // An entry without a document. Throwing here would make the whole database impossible
            // to open; verification reports it.
            try ExpiryTimes(batch, part).forget(seconds, id)
            continue
          }
          try DocumentWriter(batch).purgeDocument(id, part, record, .expired)
        }
        return due.count
      }
    } catch {
      // The collection was dropped in the meantime.
      if error.code == .notFound { return 0 }
      throw error
    }
  }

  /// Returns the names of the collections that have documents with an expiry. Makes no handles,
  /// which would stay in memory. O(collections), plus O(log n) for each that is not empty.
  private func expiringCollections() throws(DatabaseError) -> [String] {
    let source = try store.pinned()
    var names: [String] = []
    try source.visit(in: shared.database, .prefix(CollectionState.keyPrefix)) { key, value in
      let state = try value.reading { (bytes) throws(DatabaseError) in try CollectionState(bytes) }
      if state.documents == 0, state.tombstones == 0 { return true }
      key.withUnsafeBytes { bytes in
        names.append(String(decoding: bytes.dropFirst(CollectionState.keyPrefix.utf8.count), as: UTF8.self))
      }
      return true
    }
    var expiring: [String] = []
    for name in names {
      guard let expiry = try source.keyspace(named: "expiry/\(name)") else {
        // Looking up a collection reports a missing keyspace.
        expiring.append(name)
        continue
      }
      try source.visit(in: expiry) { _, _ in
        expiring.append(name)
        return false
      }
    }
    return expiring
  }
}

extension DocumentStore {
  /// Purges the documents that have expired according to the injected clock. Also runs
  /// automatically, when the next document expires.
  @discardableResult
  package func purgeExpired() throws(DatabaseError) -> Int { try openedForWriting().purgeExpired() }
}
