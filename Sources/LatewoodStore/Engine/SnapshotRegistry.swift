import LatewoodConcurrency

/// The open snapshots of a store, for its statistics and for closing them with the store.
///
/// Thread safety: all methods may be called from any thread.
final class SnapshotRegistry: Sendable {
  private struct Entry {
    let transaction: UInt64
    weak var snapshot: Snapshot?
  }
  private let entries = Guarded<[ObjectIdentifier: Entry]>([:])

  func add(_ snapshot: Snapshot) {
    entries.withLock {
      $0[ObjectIdentifier(snapshot)] = Entry(transaction: snapshot.transaction, snapshot: snapshot)
    }
  }

  func remove(_ snapshot: Snapshot) { entries.withLock { $0[ObjectIdentifier(snapshot)] = nil } }

  /// Closes all open snapshots. Otherwise an unused snapshot would keep space of the file occupied
  /// although its store is closed.
  func closeAll() {
    // Outside the lock: each snapshot removes itself, and the last reference to one may be released
    // here.
    for snapshot in entries.withLock({ $0.values.compactMap(\.snapshot) }) { snapshot.close() }
  }

  /// The number of open snapshots, and the transaction of the oldest.
  var summary: (count: Int, oldest: UInt64?) {
    entries.withLock { ($0.count, $0.values.map(\.transaction).min()) }
  }
}
