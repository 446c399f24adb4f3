import Synchronization

/// The number of bytes by which the running compaction lags behind the commits, and its limit.
///
/// Thread safety: changed by the thread that compacts, read by all.
final class CompactionLag: Sendable {
  /// The number of bytes committed when the compaction began; `followed` is the number of committed
  /// bytes that it has followed. Both are `.max` if no compaction is running.
  private let begun = Atomic<UInt64>(.max)
  private let followed = Atomic<UInt64>(.max)
  /// The number of bytes that writers may get ahead in total; `free` is the number since the last
  /// round of following.
  private let whole = Atomic<UInt64>(.max)
  private let free = Atomic<UInt64>(0)
  private let headroom = Atomic<UInt64>(0)
  private let share = Atomic<UInt64>(0)
  private let divisor = Atomic<UInt64>(1)
  private let bounded = Atomic<Bool>(false)
  private let paused = Atomic<Bool>(false)

  /// Whether a compaction is running that obeys the bounds of `CompactionPolicy`.
  var isBounded: Bool { bounded.load(ordering: .relaxed) }

  /// Sets whether the compaction is paused. Writers do not wait for a paused one.
  func setPaused(_ isPaused: Bool) { paused.store(isPaused, ordering: .relaxed) }

  /// Begins a compaction. Writers may get ahead by a part of the live data, plus the same part of
  /// the bytes already copied.
  ///
  /// - Parameters:
  ///   - committed: number of bytes of log committed so far.
  ///   - live: number of bytes of live data.
  ///   - divisor: the divisor of the part.
  ///   - least: number of bytes that writers may always get ahead.
  ///   - isBounded: whether the limit applies to the entire compaction, not only since the last
  ///     round. Both files contain these bytes.
  func begin(at committed: UInt64, live: UInt64, divisor: UInt64, least: UInt64, isBounded: Bool) {
    share.store(max(least, live / divisor), ordering: .relaxed)
    self.divisor.store(divisor, ordering: .relaxed)
    whole.store(isBounded ? 0 : .max, ordering: .relaxed)
    bounded.store(isBounded, ordering: .relaxed)
    allow()
    follow(to: committed)
    begun.store(committed, ordering: .relaxed)
  }

  func end() {
    begun.store(.max, ordering: .relaxed)
    followed.store(.max, ordering: .relaxed)
    bounded.store(false, ordering: .relaxed)
  }

  func follow(to committed: UInt64) { followed.store(committed, ordering: .relaxed) }

  /// - Parameters:
  ///   - copied: number of bytes of live data copied so far.
  ///   - rounds: the number of rounds of following the log. Each one halves the limit for writers,
  ///     so that little is left for the switch, during which they wait.
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

  /// The price of a byte, in nanoseconds, at a number of committed bytes; 0 during a pause.
  func price(at committed: UInt64) -> Double {
    // Usually no compaction is running.
    if begun.load(ordering: .relaxed) == .max || paused.load(ordering: .relaxed) { return 0 }
    return backlogs(at: committed).reduce(0) { max($0, $1.price) }
  }
}
