import LatewoodBytes
import LatewoodDevice
import Synchronization

/// What writers are counted and slowed down by.
extension Engine {
  /// Live data of less than some MiB is treated as if it were more, or its log would be merged all
  /// the time.
  static let leastThreshold: UInt64 = 8 << 20

  /// Bytes of log that a checkpoint gathers: fewer than the budget while the live data is small, so
  /// that the log does not outgrow it.
  var checkpointThreshold: UInt64 {
    let budget = UInt64(options.writeBufferBudget)
    guard options.compaction.isAutomatic else { return budget }
    return min(budget, max(Engine.leastThreshold, liveBytes.load(ordering: .relaxed) / 3))
  }

  /// Starts a checkpoint on the background queue when enough log has gathered.
  func checkpointIfDue() {
    // While the file is compacted by itself a tree more would be the one that is too much; the new
    // file has its own.
    let threshold =
      isCompactingItself.load(ordering: .relaxed) ? 2 * checkpointThreshold : checkpointThreshold
    if pendingBytes.load(ordering: .relaxed) >= threshold { checkpointLater() }
  }

  /// So many bytes of log have come: of a commit, or of a transaction that was given up when part
  /// of it was complete. Under the writer lock.
  func didLog(_ bytes: UInt64) {
    if bytes == 0 { return }
    head.pendingBytes += bytes
    pendingBytes.store(head.pendingBytes, ordering: .relaxed)
    // Nobody else adds.
    let committed = committedBytes.load(ordering: .relaxed) &+ bytes
    committedBytes.store(committed, ordering: .relaxed)
    if price > 0 { pace.charge(bytes, at: MonotonicClock.nanoseconds) }
  }

  /// Holds a writer back until what was committed is paid for.
  func slowDown() {
    // A closure of the compaction holds up what it would wait for.
    guard pace.isAsked, !compaction.isRunningHere else { return }
    checkpointEnded.lock()
    defer { checkpointEnded.unlock() }
    while true {
      let rest = pace.wait(price: price, at: MonotonicClock.nanoseconds)
      if rest == 0 { return }
      // What the price depends on is not told of whenever it changes.
      _ = checkpointEnded.wait(milliseconds: min(10, rest / 1_000_000 + 1))
    }
  }

  /// Nanoseconds that each byte costs now.
  private var price: Double { max(checkpointBacklog?.price ?? 0, compactionPrice) }

  /// The log that no checkpoint holds, while one is being written. At its end two trees are in the
  /// file, and the log of both checkpoints: together no more than three times the live data.
  var checkpointBacklog: Backlog? {
    guard checkpointScheduled.load(ordering: .relaxed) else { return nil }
    let log = pendingBytes.load(ordering: .relaxed) + frozenBytes.load(ordering: .relaxed)
    let budget = UInt64(options.writeBufferBudget)
    guard options.compaction.isAutomatic else {
      return Backlog(bytes: log, free: 3 * budget, headroom: budget)
    }
    let live = liveBytes.load(ordering: .relaxed)
    return Backlog(
      bytes: log, free: checkpointThreshold + min(2 * budget, max(Engine.leastThreshold, live / 12 * 5)),
      headroom: min(budget, max(Engine.leastThreshold, live / 4)))
  }

  /// The same for the compaction that is running. One that was paused holds nobody.
  var compactionPrice: Double {
    let price = compactionLag.price(at: committedBytes.load(ordering: .relaxed))
    return price > 0 && !compaction.isPaused ? price : 0
  }
}
