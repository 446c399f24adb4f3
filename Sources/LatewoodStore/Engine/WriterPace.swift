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
/// It never grows to a full stop: whoever is waited for by the one that is behind, such as a thread
/// that a closure of a compaction uses, gets through all the same.
struct Backlog: Equatable {
  /// Bytes of log that wait.
  var bytes: UInt64
  /// How many may wait without any cost.
  var free: UInt64
  /// How many more until writers get one MiB a second and no more.
  var headroom: UInt64

  /// Nanoseconds for each byte that is committed now: 10, which is 100 MB a second, in the middle
  /// of the headroom.
  var price: Double {
    guard bytes > free else { return 0 }
    let fullness = Double(bytes - free) / Double(max(headroom, 1))
    return fullness < 1 ? min(10 * fullness / (1 - fullness), Backlog.highestPrice) : Backlog.highestPrice
  }

  static let highestPrice = 1e9 / Double(1 << 20)
}

/// Slows writers down in proportion to the bytes that they commit, so that log, file and recovery
/// stay bounded at every length of a value.
///
/// A commit that finds a backlog owes its bytes. They are paid with time, at the price of the
/// moment, before the next transaction begins, whoever begins it; when nothing is behind any more,
/// nothing is owed.
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

  /// Takes off what the time has paid since it was last asked; returns the nanoseconds that are
  /// left to wait, or 0.
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
  /// How many bytes of log had come when it began, and how many it has followed; `.max` if none is
  /// running.
  private let begun = Atomic<UInt64>(.max)
  private let followed = Atomic<UInt64>(.max)
  /// Bytes that writers may get ahead of it, in all and since it has followed.
  private let whole = Atomic<UInt64>(.max)
  private let free = Atomic<UInt64>(0)
  private let headroom = Atomic<UInt64>(0)
  private let share = Atomic<UInt64>(0)
  private let divisor = Atomic<UInt64>(1)

  /// Writers may get a part of the live data ahead, and as much again for what has been copied.
  ///
  /// - Parameters:
  ///   - committed: bytes of log that have come until now.
  ///   - live: bytes of live data.
  ///   - divisor: which part of it.
  ///   - least: bytes that they may get ahead in any case.
  ///   - isBounded: so many bytes may come until the end, not only until it has followed: both
  ///     files have them.
  func begin(at committed: UInt64, live: UInt64, divisor: UInt64, least: UInt64, isBounded: Bool) {
    share.store(max(least, live / divisor), ordering: .relaxed)
    self.divisor.store(divisor, ordering: .relaxed)
    whole.store(isBounded ? 0 : .max, ordering: .relaxed)
    allow()
    follow(to: committed)
    begun.store(committed, ordering: .relaxed)
  }

  func end() {
    begun.store(.max, ordering: .relaxed)
    followed.store(.max, ordering: .relaxed)
  }

  func follow(to committed: UInt64) { followed.store(committed, ordering: .relaxed) }

  /// - Parameters:
  ///   - copied: bytes of live data so far.
  ///   - rounds: how often it has followed the log; each time writers get half as much, so that
  ///     little is left for the time when they wait.
  func allow(copied: UInt64 = 0, rounds: Int = 0) {
    let share = share.load(ordering: .relaxed)
    let least = CompactionRun.shortTail
    let all = share + copied / divisor.load(ordering: .relaxed)
    let before = whole.load(ordering: .relaxed)
    whole.store(max(before, all), ordering: .relaxed)
    free.store(max(least, all >> rounds), ordering: .relaxed)
    headroom.store(max(least, share >> rounds), ordering: .relaxed)
  }

  /// What waits when so much has been committed: since the log was followed, and in all.
  func backlogs(at committed: UInt64) -> [Backlog] {
    let (followed, begun) = (followed.load(ordering: .relaxed), begun.load(ordering: .relaxed))
    guard followed < committed || begun < committed else { return [] }
    return [
      Backlog(
        bytes: committed - min(committed, followed), free: free.load(ordering: .relaxed),
        headroom: headroom.load(ordering: .relaxed)),
      Backlog(
        bytes: committed - min(committed, begun), free: whole.load(ordering: .relaxed),
        headroom: share.load(ordering: .relaxed)),
    ]
  }

  /// Nanoseconds that each byte costs when so much has been committed.
  func price(at committed: UInt64) -> Double {
    // Nearly always none is running.
    if begun.load(ordering: .relaxed) == .max { return 0 }
    return backlogs(at: committed).reduce(0) { max($0, $1.price) }
  }
}
