import LatewoodBytes
import LatewoodDevice
import Synchronization

/// How far something that has to keep up with writers is behind them, and what that costs a writer.
///
/// ```
/// bytes   |......... free .........|........ headroom ........|
/// price          none              | grows without a bound    | 1 µs a byte
/// ```
///
/// It never grows to a full stop: whoever is waited for by the one that is behind, such as a thread that a closure of a compaction uses, gets
/// through all the same.
struct Backlog: Equatable {
  /// Bytes of log that wait.
  var bytes: UInt64
  /// How many may wait without any cost.
  var free: UInt64
  /// How many more until writers get one MiB a second and no more.
  var headroom: UInt64

  /// Nanoseconds for each byte that is committed now: 10, which is 100 MB a second, in the middle of the headroom.
  var price: Double {
    guard bytes > free else { return 0 }
    let fullness = Double(bytes - free) / Double(max(headroom, 1))
    return fullness < 1 ? min(10 * fullness / (1 - fullness), Backlog.highestPrice) : Backlog.highestPrice
  }

  static let highestPrice = 1e9 / Double(1 << 20)
}

/// Slows writers down in proportion to the bytes that they commit, so that log, file and recovery stay bounded at every length of a value.
///
/// A commit that finds a backlog owes its bytes. They are paid with time, at the price of the moment, before the next transaction begins,
/// whoever begins it; when nothing is behind any more, nothing is owed.
///
/// Thread safety: all calls from any thread.
final class WriterPace: Sendable {
  private struct Debt {
    var bytes = 0.0
    /// When it was last paid, in nanoseconds.
    var time: UInt64 = 0
  }
  /// Shorter waits are not worth their calls: what is owed is kept until it is as much.
  private static let shortestWait = 1e6

  private let debt = Guarded(Debt())
  private let isOwed = Atomic<Bool>(false)

  /// Whether `wait` has to be asked.
  @inline(__always) var isAsked: Bool { isOwed.load(ordering: .relaxed) }

  /// So many bytes were committed at a time when they had a price.
  func charge(_ bytes: UInt64, at now: UInt64) {
    debt.withLock { debt in
      if debt.bytes == 0 { debt.time = now }
      debt.bytes += Double(bytes)
    }
    isOwed.store(true, ordering: .relaxed)
  }

  /// Takes off what the time has paid since it was last asked; returns the nanoseconds that are left to wait, or 0.
  func wait(price: Double, at now: UInt64) -> UInt64 {
    debt.withLock { debt in
      let elapsed = Double(now > debt.time ? now - debt.time : 0)
      debt.time = max(debt.time, now)
      debt.bytes = price > 0 ? max(0, debt.bytes - elapsed / price) : 0
      if debt.bytes == 0 { isOwed.store(false, ordering: .relaxed) }
      let rest = debt.bytes * price
      return rest >= WriterPace.shortestWait ? UInt64(rest) : 0
    }
  }
}

/// How far the compaction that is running is behind the commits, and how far it may be.
///
/// Thread safety: changed by the thread that compacts, read by all.
final class CompactionLag: Sendable {
  /// How many bytes of log it has followed; `.max` if none is running.
  private let followed = Atomic<UInt64>(.max)
  private let free = Atomic<UInt64>(0)
  private let headroom = Atomic<UInt64>(0)

  var isRunning: Bool { followed.load(ordering: .relaxed) != .max }

  /// - Parameter committed: bytes of log that commits have written until now.
  func begin(at committed: UInt64) { follow(to: committed) }
  func end() { followed.store(.max, ordering: .relaxed) }

  func follow(to committed: UInt64) { followed.store(committed, ordering: .relaxed) }

  func allow(free: UInt64, headroom: UInt64) {
    self.free.store(free, ordering: .relaxed)
    self.headroom.store(headroom, ordering: .relaxed)
  }

  /// What waits when so much has been committed; nil if none is running, or nothing is behind.
  func backlog(at committed: UInt64) -> Backlog? {
    let followed = followed.load(ordering: .relaxed)
    guard followed < committed else { return nil }
    return Backlog(
      bytes: committed - followed, free: free.load(ordering: .relaxed),
      headroom: headroom.load(ordering: .relaxed))
  }
}
