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
/// These numbers determine the price of a byte (`Backlog`). A commit during a price owes its bytes
/// (`WriterDebt`), and the next transaction waits until they are paid with time.
///
/// Thread safety: all methods may be called from any thread.
final class WritePacer: Sendable {
  /// The minimum threshold of a checkpoint, in bytes. Otherwise the log would be merged all the
  /// time with little live data.
  static let leastThreshold: UInt64 = 8 << 20

  /// The threshold while the disk has little space, so that the next checkpoint does not need more
  /// than the reserve.
  private static let lowThreshold: UInt64 = 1 << 20

  private let budget: UInt64
  private let isBounded: Bool
  private let disk: DiskSpace
  /// The lag of the running compaction behind the commits.
  let lag = CompactionLag()
  private let debt = WriterDebt()

  private let pending = Atomic<UInt64>(0)
  private let frozen = Atomic<UInt64>(0)
  private let committed = Atomic<UInt64>(0)
  private let live = Atomic<UInt64>(0)
  private let spare = Atomic<UInt64>(0)
  /// Whether a checkpoint is scheduled on the background queue, or runs there.
  private let awaitsCheckpoint = Atomic<Bool>(false)

  private let monitor = Monitor()
  private let waiting = Atomic<Int>(0)

  init(_ options: Store.Options, _ disk: DiskSpace) {
    budget = UInt64(options.writeBufferBudget)
    isBounded = options.compaction.isAutomatic
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

  /// Counts bytes of log, of a commit or of the complete frames of an aborted transaction. Under
  /// the writer lock.
  func didLog(_ bytes: UInt64) {
    if bytes == 0 { return }
    // No other thread changes them.
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

  /// Records that a checkpoint has frozen the write buffer. Under the writer lock.
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
  func setSpare(_ bytes: UInt64) {
    spare.store(bytes + pendingBytes, ordering: .relaxed)
    wake()
  }

  // MARK: Checkpoints

  /// The number of bytes of log that start a checkpoint: less than the budget while the live data
  /// is small, so that the log does not outgrow it.
  var checkpointThreshold: UInt64 {
    if disk.isLow { return min(budget, WritePacer.lowThreshold) }
    guard isBounded else { return budget }
    return min(budget, max(WritePacer.leastThreshold, liveBytes / 3, spare.load(ordering: .relaxed) / 2))
  }

  /// Whether there is enough log for a checkpoint.
  var isCheckpointDue: Bool {
    // During an automatic compaction another tree could exceed the bound on space; the new file
    // will have its own.
    pendingBytes >= (lag.isBounded ? 2 * checkpointThreshold : checkpointThreshold)
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
    let (live, spare) = (liveBytes, spare.load(ordering: .relaxed))
    let (threshold, least) = (checkpointThreshold, WritePacer.leastThreshold)
    if threshold > max(least, live / 3) {
      return Backlog(
        bytes: log, free: min(threshold + 2 * budget, spare / 8 * 7), headroom: min(budget, spare / 8))
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

  /// Wakes waiting writers after the price has dropped. They notice a rise when their wait ends.
  func wake() {
    // Either this sees the waiter, or the waiter sees what has changed before.
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    if hasWaiters { monitor.withLock { monitor.broadcast() } }
  }
}
