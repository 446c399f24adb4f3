import LatewoodBytes
import LatewoodDevice

/// The one compaction or copy that may run in a store: whether it does, how far it is, and what
/// others want of it.
///
/// Thread safety: all calls from any thread. Nobody waits in here with another lock held.
final class CompactionControl: @unchecked Sendable {
  private struct State {
    var isRunning = false
    /// The thread of what runs.
    var runner: UInt = 0
    /// What runs is a compaction, whose result others may have too.
    var isShared = false
    var isPaused = false
    var isCancelled = false
    /// The store is closing: no other may begin.
    var isClosed = false
    var progress = CompactionProgress()
    /// Counts those that ended, so that whoever waits for one knows it.
    var ended: UInt64 = 0
    var result: Result<CompactionReport, Fault>?
  }

  private let monitor = Monitor()
  // SAFETY: only touched with the monitor held.
  private var state = State()

  static let cancelled = Fault(.cancelled, "the compaction was cancelled; the file is as it was")

  /// Becomes what runs, or waits for the compaction that runs and returns its result.
  ///
  /// - Parameters:
  ///   - joins: whether it is a compaction as well; else, and while a copy or backup runs, this
  ///     waits and becomes the next.
  ///   - isCancelled: asked once, where no call of `cancel` that comes after it became true can be
  ///     missed.
  func begin(joins: Bool, unless isCancelled: () -> Bool) throws(Fault) -> CompactionReport? {
    monitor.lock()
    defer { monitor.unlock() }
    while state.isRunning, !(joins && state.isShared), !state.isClosed { monitor.wait() }
    guard !state.isClosed else { throw Engine.closedFault }
    if isCancelled() { throw CompactionControl.cancelled }
    guard state.isRunning else {
      state.isRunning = true
      state.runner = Monitor.currentThread
      state.isShared = joins
      state.isCancelled = false
      state.progress = CompactionProgress()
      return nil
    }
    let number = state.ended
    while state.ended == number { monitor.wait() }
    return try state.result?.get()
  }

  func end(_ result: Result<CompactionReport, Fault>) {
    monitor.withLock {
      state.isRunning = false
      state.ended += 1
      state.result = result
      monitor.broadcast()
    }
  }

  func setPaused(_ isPaused: Bool) {
    monitor.withLock {
      state.isPaused = isPaused
      monitor.broadcast()
    }
  }

  func cancel() {
    monitor.withLock {
      state.isCancelled = true
      monitor.broadcast()
    }
  }

  /// Ends the running one and lets no other begin.
  func close() {
    monitor.withLock {
      state.isClosed = true
      state.isCancelled = true
      monitor.broadcast()
      while state.isRunning { monitor.wait() }
    }
  }

  var isRunning: Bool { monitor.withLock { state.isRunning } }

  var isPaused: Bool { monitor.withLock { state.isPaused } }

  /// Whether this thread is what runs, so that it would wait for itself.
  var isRunningHere: Bool { monitor.withLock { state.isRunning && state.runner == Monitor.currentThread } }

  var progress: CompactionProgress? {
    monitor.withLock { () -> CompactionProgress? in
      guard state.isRunning else { return nil }
      var progress = state.progress
      progress.isPaused = state.isPaused
      return progress
    }
  }

  func tell(_ progress: CompactionProgress) { monitor.withLock { state.progress = progress } }

  /// Returns when there is nothing against going on; throws `cancelled`.
  func checkpoint() throws(Fault) {
    try monitor.withLock { () throws(Fault) in
      while state.isPaused, !state.isCancelled { monitor.wait() }
      if state.isCancelled { throw CompactionControl.cancelled }
    }
  }

  /// The same, after a pause of at most some milliseconds that a cancellation ends.
  func rest(milliseconds: UInt64) throws(Fault) {
    monitor.withLock {
      if !state.isCancelled, milliseconds > 0 { _ = monitor.wait(milliseconds: milliseconds) }
    }
    try checkpoint()
  }
}
