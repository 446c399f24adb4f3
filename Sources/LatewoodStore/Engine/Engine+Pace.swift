import LatewoodBytes
import LatewoodConcurrency
import Synchronization

/// Counts the bytes of writers and slows them down.
extension Engine {
  /// The least threshold of a checkpoint, in bytes. With little live data, the log would otherwise
  /// be merged all the time.
  static let leastThreshold: UInt64 = 8 << 20

  /// The threshold while the disk has little space, so that what waits for a checkpoint does not
  /// need more than the reserve.
  private static let lowThreshold: UInt64 = 1 << 20

  /// The number of bytes of log that start a checkpoint: less than the budget while the live data
  /// is small, so that the log does not outgrow it.
  var checkpointThreshold: UInt64 {
    let budget = UInt64(options.writeBufferBudget)
    if isLowOnSpace.load(ordering: .relaxed) { return min(budget, Engine.lowThreshold) }
    guard options.compaction.isAutomatic else { return budget }
    let live = liveBytes.load(ordering: .relaxed)
    let spare = spareBytes.load(ordering: .relaxed)
    return min(budget, max(Engine.leastThreshold, live / 3, spare / 2))
  }

  /// Starts a checkpoint on the background queue if enough log has gathered.
  func checkpointIfDue() {
    // During an automatic compaction another tree could exceed the bound on space; the new file
    // will have its own.
    let threshold =
      isCompactingItself.load(ordering: .relaxed) ? 2 * checkpointThreshold : checkpointThreshold
    if pendingBytes.load(ordering: .relaxed) >= threshold { checkpointLater() }
  }

  /// Counts bytes of log, of a commit or of the complete frames of an aborted transaction. Under
  /// the writer lock.
  func didLog(_ bytes: UInt64) {
    if bytes == 0 { return }
    head.pendingBytes += bytes
    pendingBytes.store(head.pendingBytes, ordering: .relaxed)
    // No other thread changes it.
    let committed = committedBytes.load(ordering: .relaxed) &+ bytes
    committedBytes.store(committed, ordering: .relaxed)
    if price > 0 { pace.charge(bytes, at: MonotonicClock.nanoseconds) }
  }

  /// Holds a writer back until its debt is paid.
  func slowDown() {
    // A closure called by the compaction must not wait for the compaction.
    guard pace.isAsked, !compaction.isRunningHere else { return }
    checkpointEnded.lock()
    defer { checkpointEnded.unlock() }
    while true {
      let rest = pace.wait(price: price, at: MonotonicClock.nanoseconds)
      if rest == 0 { return }
      // Not every change of the price is signalled.
      _ = checkpointEnded.wait(milliseconds: min(10, rest / 1_000_000 + 1))
    }
  }

  /// The price of a byte now, in nanoseconds.
  private var price: Double { max(checkpointBacklog?.price ?? 0, compactionPrice) }

  /// The log that is not in a checkpoint yet; nil unless one is scheduled or running. At its end
  /// the file has two trees and the log of both checkpoints, together at most three times the live
  /// data.
  var checkpointBacklog: Backlog? {
    guard checkpointScheduled.load(ordering: .relaxed) else { return nil }
    let log = pendingBytes.load(ordering: .relaxed) + frozenBytes.load(ordering: .relaxed)
    let budget = UInt64(options.writeBufferBudget)
    guard options.compaction.isAutomatic else {
      return Backlog(bytes: log, free: 3 * budget, headroom: budget)
    }
    let live = liveBytes.load(ordering: .relaxed)
    let spare = spareBytes.load(ordering: .relaxed)
    let threshold = checkpointThreshold
    if threshold > max(Engine.leastThreshold, live / 3) {
      return Backlog(
        bytes: log, free: min(threshold + 2 * budget, spare / 8 * 7), headroom: min(budget, spare / 8))
    }
    return Backlog(
      bytes: log, free: threshold + min(2 * budget, max(Engine.leastThreshold, live / 12 * 5)),
      headroom: min(budget, max(Engine.leastThreshold, live / 4)))
  }

  /// The price of a byte because of the running compaction, in nanoseconds; 0 while it is paused.
  var compactionPrice: Double {
    let price = compactionLag.price(at: committedBytes.load(ordering: .relaxed))
    return price > 0 && !compaction.isPaused ? price : 0
  }
}
