import LatewoodDevice

/// Which transactions snapshots are held of; for the statistics.
final class SnapshotRegistry: Sendable {
  private let counts = Guarded<[UInt64: Int]>([:])

  func add(_ transaction: UInt64) { counts.withLock { $0[transaction, default: 0] += 1 } }

  func remove(_ transaction: UInt64) {
    counts.withLock { counts in
      guard let count = counts[transaction] else { return }
      counts[transaction] = count > 1 ? count - 1 : nil
    }
  }

  /// How many are held, and of which transaction the oldest is.
  var summary: (count: Int, oldest: UInt64?) {
    counts.withLock { ($0.values.reduce(0, +), $0.keys.min()) }
  }
}
