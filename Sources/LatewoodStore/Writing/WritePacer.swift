import LatewoodConcurrency
import Synchronization

/// Counts the log that waits for a checkpoint or a compaction, and slows writers down when these do
/// not keep up.
///
/// ```
/// pending    committed since the newest checkpoint froze the write buffer
/// frozen     in the buffer that a checkpoint merges, until its dead blocks are reclaimed
/// committed  all log since the store was opened
/// ```
///
/// These numbers determine the price of a byte (`Backlog`). While the price is above zero, a commit
/// owes its bytes (`WriterDebt`), and the next transaction waits until the debt is paid off.
///
/// Thread safety: all methods may be called from any thread.
final class WritePacer: Sendable {
  /// The minimum threshold of a checkpoint, in bytes. Without it, a store with little live data
  /// would write checkpoints constantly.
  static let leastThreshold: UInt64 = 8 << 20

  /// The threshold while the disk has little space, so that the next checkpoint does not need more
  /// than the reserve.
  private static let lowThreshold: UInt64 = 1 << 20

  private let budget: UInt64
  private let isBounded: Bool
  /// The number of bytes of log after which a commit considers a compaction.
  private let compactionStep: UInt64
  private let disk: DiskSpace
  /// The lag of the running compaction behind the commits.
  let lag = CompactionLag()
  private let debt = WriterDebt()

  private let pending = Atomic<UInt64>(0)
  private let frozen = Atomic<UInt64>(0)
  private let committed = Atomic<UInt64>(0)
  private let live = Atomic<UInt64>(0)
  private let headroom = Atomic<UInt64>(0)
  /// The end of the log when a commit last considered a compaction.
  private let considered = Atomic<UInt64>(0)
  /// Whether a checkpoint is scheduled on the background queue, or runs there.
  private let awaitsCheckpoint = Atomic<Bool>(false)

  private let monitor = Monitor()
  private let waiting = Atomic<Int>(0)

  init(_ options: Store.Options, _ disk: DiskSpace) {
    budget = UInt64(options.writeBufferBudget)
    isBounded = options.compaction.isAutomatic
    compactionStep = options.compaction.minimumSize
    self.disk = disk
  }

  // MARK: Counting

  /// The number of bytes of log that no checkpoint has frozen yet.
  var pendingBytes: UInt64 { pending.load(ordering: .relaxed) }
  /// The number of bytes of log that the running checkpoint merges, until its dead blocks are
  /// reclaimed.
  var frozenBytes: UInt64 { frozen.load(ordering: .relaxed) }
  /// The number of bytes of log written since the store was opened.
  var committedBytes: UInt64 { committed.load(ordering: .relaxed) }
  /// The number of live bytes of the newest checkpoint's tree.
  var liveBytes: UInt64 { live.load(ordering: .relaxed) }

  /// Counts bytes of log, of a commit or of the complete frames of an aborted transaction. Called
  /// under the writer lock.
  func didLog(_ bytes: UInt64) {
    if bytes == 0 { return }
    // Only this thread changes them.
    pending.store(pendingBytes &+ bytes, ordering: .relaxed)
    committed.store(committedBytes &+ bytes, ordering: .relaxed)
    if price > 0 { debt.charge(bytes, at: MonotonicClock.nanoseconds) }
  }

  /// Starts with a file: the log after its newest checkpoint, and the live bytes of that
  /// checkpoint.
  func start(pending bytes: UInt64, live: UInt64) {
    pending.store(bytes, ordering: .relaxed)
    frozen.store(0, ordering: .relaxed)
    self.live.store(live, ordering: .relaxed)
    wake()
  }

  /// Records that a checkpoint has frozen the write buffer. Called under the writer lock.
  func didFreeze() {
    frozen.store(pendingBytes, ordering: .relaxed)
    pending.store(0, ordering: .relaxed)
  }

  /// Records the live bytes of a new tree.
  func didInstall(live bytes: UInt64) {
    live.store(bytes, ordering: .relaxed)
    wake()
  }

  /// Records that the dead blocks of a checkpoint have been reclaimed.
  func didReclaim() {
    frozen.store(0, ordering: .relaxed)
    wake()
  }

  /// Sets the limit on log until the end of the next checkpoint. Called right after a checkpoint,
  /// when its dead blocks have been reclaimed.
  func setLogHeadroom(_ bytes: UInt64) {
    headroom.store(bytes + pendingBytes, ordering: .relaxed)
    wake()
  }

  // MARK: Checkpoints

  /// The number of bytes of log that start a checkpoint: less than the budget while the live data
  /// is small, so that the log does not outgrow it.
  var checkpointThreshold: UInt64 {
    if disk.isLow { return min(budget, WritePacer.lowThreshold) }
    guard isBounded else { return budget }
    return min(budget, max(WritePacer.leastThreshold, liveBytes / 3, headroom.load(ordering: .relaxed) / 2))
  }

  /// Whether there is enough log for a checkpoint.
  var isCheckpointDue: Bool {
    // During an automatic compaction, another tree could exceed the bound on space; the new file
    // will have a separate tree.
    pendingBytes >= (lag.isBounded ? 2 * checkpointThreshold : checkpointThreshold)
  }

  /// Returns whether a commit should consider a compaction: once for each `minimumSize` of log.
  func shouldConsiderCompaction(at end: UInt64) -> Bool {
    let last = considered.load(ordering: .relaxed)
    guard end < last || end - last >= compactionStep else { return false }
    considered.store(end, ordering: .relaxed)
    return true
  }

  /// Records that a checkpoint will run in the background. Returns false if one is already
  /// scheduled or running.
  func awaitCheckpoint() -> Bool {
    awaitsCheckpoint.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing)
      .exchanged
  }

  /// Records that the awaited checkpoint has ended.
  func endCheckpoint() {
    awaitsCheckpoint.store(false, ordering: .releasing)
    wake()
  }

  /// The log that is not in a checkpoint yet; nil unless one is scheduled or running. At its end
  /// the file has two trees and the log of both checkpoints, together at most three times the live
  /// data.
  var checkpointBacklog: Backlog? {
    guard awaitsCheckpoint.load(ordering: .relaxed) else { return nil }
    let log = pendingBytes + frozenBytes
    guard isBounded else { return Backlog(bytes: log, free: 3 * budget, headroom: budget) }
    let (live, headroom) = (liveBytes, headroom.load(ordering: .relaxed))
    let (threshold, least) = (checkpointThreshold, WritePacer.leastThreshold)
    if threshold > max(least, live / 3) {
      return Backlog(
        bytes: log, free: min(threshold + 2 * budget, headroom / 8 * 7), headroom: min(budget, headroom / 8))
    }
    return Backlog(
      bytes: log, free: threshold + min(2 * budget, max(least, live / 12 * 5)),
      headroom: min(budget, max(least, live / 4)))
  }

  // MARK: Slowing down

  /// The price of a byte now, in nanoseconds.
  var price: Double { max(checkpointBacklog?.price ?? 0, compactionPrice) }

  /// The price of a byte because of the running compaction, in nanoseconds; 0 while it is paused.
  var compactionPrice: Double { lag.price(at: committedBytes) }

  /// Whether the next transaction must wait.
  @inline(__always) var isOwed: Bool { debt.isOwed }

  /// Whether a writer is waiting.
  var hasWaiters: Bool { waiting.load(ordering: .sequentiallyConsistent) > 0 }

  /// Blocks a writer until the debt is paid. Must not be called by a thread that the checkpoint or
  /// compaction waits for.
  func slowDown() {
    guard debt.isOwed else { return }
    waiting.add(1, ordering: .sequentiallyConsistent)
    monitor.lock()
    defer {
      monitor.unlock()
      waiting.subtract(1, ordering: .relaxed)
    }
    while true {
      let rest = debt.wait(price: price, at: MonotonicClock.nanoseconds)
      if rest == 0 { return }
      _ = monitor.wait(milliseconds: rest / 1_000_000 + 1)
    }
  }

  /// Wakes waiting writers after the price has dropped. Writers notice a rise when their wait ends.
  func wake() {
    // Either this sees the waiter, or the waiter sees the preceding change.
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    if hasWaiters { monitor.withLock { monitor.broadcast() } }
  }
}

/// Slows writers down in proportion to the bytes that they commit, so that the log, the file and
/// the recovery time stay bounded for values of every length.
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

/// The bytes by which a background task is behind the writers, and the price that a writer pays for
/// them.
///
/// ```
/// bytes   |......... free .........|........ headroom ........|
/// price          none              | grows without a bound    | 1 µs a byte
/// ```
///
/// The price is limited, so that writers are never stopped completely: the lagging task may itself
/// wait for a writer, such as a thread used by a compaction's closure.
struct Backlog: Equatable {
  /// The number of waiting bytes of log.
  var bytes: UInt64
  /// The number of bytes that may wait without any cost.
  var free: UInt64
  /// The number of further bytes at which writers are slowed down to one MiB per second.
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
