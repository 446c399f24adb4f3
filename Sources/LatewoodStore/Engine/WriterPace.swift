import LatewoodBytes
import LatewoodConcurrency
import Synchronization

/// The bytes by which a background task is behind the writers, and the price that a writer pays for
/// them.
///
/// ```
/// bytes   |......... free .........|........ headroom ........|
/// price          none              | grows without a bound    | 1 µs a byte
/// ```
///
/// The price is limited, so that writers are never stopped completely: the task that is behind may
/// itself wait for a writer, such as a thread used by a compaction's closure.
struct Backlog: Equatable {
  /// The number of bytes of log that wait.
  var bytes: UInt64
  /// The number of bytes that may wait without any cost.
  var free: UInt64
  /// The number of further bytes at which writers are down to one MiB per second.
  var headroom: UInt64

  /// The price of each byte committed now, in nanoseconds. In the middle of the headroom it is 10,
  /// which is 100 MB per second.
  var price: Double {
    guard bytes > free else { return 0 }
    let fullness = Double(bytes - free) / Double(max(headroom, 1))
    return fullness < 1 ? min(10 * fullness / (1 - fullness), Backlog.highestPrice) : Backlog.highestPrice
  }

  static let highestPrice = 1e9 / Double(1 << 20)
}

/// Slows writers down in proportion to the bytes that they commit, so that log, file and recovery
/// time stay bounded for values of every length.
///
/// A commit that finds a backlog owes its bytes. The debt is paid with time, at the current price,
/// before the next transaction of any thread begins. Without a backlog there is no debt.
///
/// Thread safety: all calls from any thread.
final class WriterPace: Sendable {
  private struct Debt {
    var bytes = 0.0
    /// The time of the last payment, in nanoseconds.
    var time: UInt64 = 0
  }
  /// The shortest wait, in nanoseconds. A smaller debt is kept until it has grown.
  private static let shortestWait = 1e6

  private let debt = Guarded(Debt())
  private let isOwed = Atomic<Bool>(false)

  /// Whether `wait` must be called.
  @inline(__always) var isAsked: Bool { isOwed.load(ordering: .relaxed) }

  /// Charges bytes that were committed while they had a price.
  func charge(_ bytes: UInt64, at now: UInt64) {
    debt.withLock { debt in
      if debt.bytes == 0 { debt.time = now }
      debt.bytes += Double(bytes)
    }
    isOwed.store(true, ordering: .relaxed)
  }

  /// Deducts the time that has passed since the last call; returns the nanoseconds left to wait, or
  /// 0.
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

/// The bytes by which the running compaction is behind the commits, and the bytes by which it may
/// be.
///
/// Thread safety: changed by the thread that compacts, read by all.
final class CompactionLag: Sendable {
  /// The number of bytes committed when the compaction began; `followed` is how many of the
  /// committed bytes it has followed. Both are `.max` if none is running.
  private let begun = Atomic<UInt64>(.max)
  private let followed = Atomic<UInt64>(.max)
  /// The number of bytes that writers may get ahead of it in total; `free` is how many since it
  /// last followed.
  private let whole = Atomic<UInt64>(.max)
  private let free = Atomic<UInt64>(0)
  private let headroom = Atomic<UInt64>(0)
  private let share = Atomic<UInt64>(0)
  private let divisor = Atomic<UInt64>(1)

  /// Begins a compaction. Writers may get ahead by a part of the live data, plus the same part of
  /// the bytes already copied.
  ///
  /// - Parameters:
  ///   - committed: number of bytes of log committed so far.
  ///   - live: number of bytes of live data.
  ///   - divisor: the divisor that gives the part.
  ///   - least: number of bytes that writers may get ahead in any case.
  ///   - isBounded: whether the limit is for the whole compaction, and not only since it last
  ///     followed. Both files hold these bytes.
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
  ///   - copied: number of bytes of live data copied so far.
  ///   - rounds: how often the compaction has followed the log. Each time writers get half as much,
  ///     so that little is left for the time when they wait.
  func allow(copied: UInt64 = 0, rounds: Int = 0) {
    let share = share.load(ordering: .relaxed)
    let least = CompactionRun.shortTail
    let all = share + copied / divisor.load(ordering: .relaxed)
    let before = whole.load(ordering: .relaxed)
    whole.store(max(before, all), ordering: .relaxed)
    free.store(max(least, all >> rounds), ordering: .relaxed)
    headroom.store(max(least, share >> rounds), ordering: .relaxed)
  }

  /// The backlogs at a number of committed bytes: since the log was last followed, and in total.
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

  /// The price of a byte, in nanoseconds, at a number of committed bytes.
  func price(at committed: UInt64) -> Double {
    // Nearly always no compaction is running.
    if begun.load(ordering: .relaxed) == .max { return 0 }
    return backlogs(at: committed).reduce(0) { max($0, $1.price) }
  }
}
