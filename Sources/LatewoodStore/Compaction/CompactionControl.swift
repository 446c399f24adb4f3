import LatewoodBytes
import LatewoodConcurrency

/// Controls the single compaction, copy or backup that may run in a store: its progress, and
/// requests to pause or cancel it.
///
/// Thread safety: all methods may be called from any thread. Threads never wait here while they
/// hold another lock.
final class CompactionControl: @unchecked Sendable {
  private struct State {
    var isRunning = false
    /// The thread that runs it.
    var runner: UInt = 0
    /// Whether it is a compaction, whose result other callers may share.
    var isShared = false
    /// Whether the policy started it.
    var isAutomatic = false
    var isPaused = false
    var isCancelled = false
    /// Whether the caller that requested it cancelled it.
    var isCancelledByOwner = false
    /// Whether the store is closing, so that new operations cannot begin.
    var isClosed = false
    var progress = CompactionProgress()
    /// The number of runs that have ended. A waiting thread uses it to notice the end of a run.
    var ended: UInt64 = 0
    var result: Result<CompactionReport, StorageError>?
    /// Whether the last run ended because its owner cancelled it.
    var wasCancelledByOwner = false
  }

  private let monitor = Monitor()
  // SAFETY: only accessed with the monitor held.
  private var state = State()

  static let cancelled = StorageError(.cancelled, "the compaction was cancelled; the file is unchanged")

  /// Begins a run and returns nil, or waits for the running compaction and returns its report.
  ///
  /// - Parameters:
  ///   - joins: whether the caller can share the result of a running compaction. If not, or while a
  ///     copy or backup runs, this waits until it can begin its own run. A caller other than the
  ///     policy also begins its own run if the running one was started by the policy and fails, or
  ///     is cancelled by its owner.
  ///   - isAutomatic: whether the policy starts it.
  ///   - isCancelled: called before each attempt and before each wait, with this object locked, so
  ///     that a later `cancel()` is not missed.
  func begin(
    joins: Bool, isAutomatic: Bool = false, unless isCancelled: () -> Bool
  ) throws(StorageError) -> CompactionReport? {
    monitor.lock()
    defer { monitor.unlock() }
    while true {
      while state.isRunning, !(joins && state.isShared), !state.isClosed, !isCancelled() { monitor.wait() }
      guard !state.isClosed else { throw Engine.closedError }
      if isCancelled() { throw CompactionControl.cancelled }
      guard state.isRunning else {
        state.isRunning = true
        state.runner = Monitor.currentThread
        state.isShared = joins
        state.isAutomatic = isAutomatic
        state.isCancelled = false
        state.isCancelledByOwner = false
        state.progress = CompactionProgress()
        return nil
      }
      let (number, wasAutomatic) = (state.ended, state.isAutomatic)
      while state.ended == number {
        if isCancelled() { throw CompactionControl.cancelled }
        monitor.wait()
      }
      do throws(StorageError) { return try state.result?.get() } catch {
        guard !isAutomatic else { throw error }
        guard state.wasCancelledByOwner || wasAutomatic && error.kind != .cancelled else { throw error }
      }
    }
  }

  func end(_ result: Result<CompactionReport, StorageError>) {
    monitor.withLock {
      state.isRunning = false
      state.ended += 1
      state.result = result
      state.wasCancelledByOwner = state.isCancelledByOwner
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

  /// Cancels the running compaction if it belongs to the caller, and wakes the threads that wait
  /// for it. They check whether they are also cancelled, and otherwise begin their own run.
  ///
  /// - Parameter isOwn: returns whether a run on a given thread is the caller's.
  func cancel(ifRunBy isOwn: (_ runner: UInt) -> Bool) {
    monitor.withLock {
      if state.isRunning, !state.isCancelled, isOwn(state.runner) {
        state.isCancelledByOwner = true
        state.isCancelled = true
      }
      monitor.broadcast()
    }
  }

  /// Cancels the running operation, waits for its end, and refuses new ones.
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

  /// Whether this thread runs the compaction, in which case waiting for its end would never return.
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

  /// Throws `cancelled`, without waiting.
  func checkCancellation() throws(StorageError) {
    if monitor.withLock({ state.isCancelled }) { throw CompactionControl.cancelled }
  }

  /// Waits while paused; throws `cancelled`.
  func waitWhilePaused() throws(StorageError) {
    try monitor.withLock { () throws(StorageError) in
      while state.isPaused, !state.isCancelled { monitor.wait() }
      if state.isCancelled { throw CompactionControl.cancelled }
    }
  }

  /// Sleeps for the given time, or until a cancellation; then does the same as `waitWhilePaused()`.
  func rest(milliseconds: UInt64) throws(StorageError) {
    monitor.withLock {
      if !state.isCancelled, milliseconds > 0 { _ = monitor.wait(milliseconds: milliseconds) }
    }
    try waitWhilePaused()
  }
}
