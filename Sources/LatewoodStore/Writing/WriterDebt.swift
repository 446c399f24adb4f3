import LatewoodConcurrency
import Synchronization

/// Slows writers down in proportion to the bytes that they commit, so that log, file and recovery
/// time stay bounded for values of every length.
///
/// A commit during a backlog owes its bytes. The debt is paid with time, at the current price,
/// before the next transaction of any thread begins. Without a backlog there is no debt.
///
/// Thread safety: all methods may be called from any thread.
final class WriterDebt: Sendable {
  private struct Debt {
    var bytes = 0.0
    /// The time of the last payment, in nanoseconds.
    var time: UInt64 = 0
  }
  /// The shortest wait, in nanoseconds. A smaller debt is kept until it has grown.
  private static let shortestWait = 1e6

  private let debt = Guarded(Debt())
  private let owed = Atomic<Bool>(false)

  /// Whether `wait` must be called.
  @inline(__always) var isOwed: Bool { owed.load(ordering: .relaxed) }

  /// Charges bytes committed during a backlog.
  func charge(_ bytes: UInt64, at now: UInt64) {
    debt.withLock { debt in
      if debt.bytes == 0 { debt.time = now }
      debt.bytes += Double(bytes)
    }
    owed.store(true, ordering: .relaxed)
  }

  /// Deducts the time since the last call. Returns the remaining wait in nanoseconds, or 0.
  func wait(price: Double, at now: UInt64) -> UInt64 {
    debt.withLock { debt in
      let elapsed = Double(now > debt.time ? now - debt.time : 0)
      debt.time = max(debt.time, now)
      debt.bytes = price > 0 ? max(0, debt.bytes - elapsed / price) : 0
      if debt.bytes == 0 { owed.store(false, ordering: .relaxed) }
      let rest = debt.bytes * price
      return rest >= WriterDebt.shortestWait ? UInt64(rest) : 0
    }
  }
}
