import Dispatch
import LatewoodBytes
import LatewoodConcurrency
import LatewoodTree
import Synchronization

/// Controls the one compaction, copy or backup that may run in a store: its progress, and requests
/// to pause or cancel it.
///
/// Thread safety: all methods may be called from any thread. No thread waits here while it holds
/// another lock.
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
    /// Whether the store is closing, so that no other may begin.
    var isClosed = false
    var progress = CompactionProgress()
    /// The number of runs that have ended, by which a waiting thread notices the end of one.
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
  ///   - isCancelled: called before each attempt, after which no `cancel()` is missed, and whenever
  ///     a cancellation may have ended the wait.
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
  /// for it, which check whether they are also cancelled and otherwise begin their own run.
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

  /// Cancels the running one, waits for its end, and prevents new ones.
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

  /// Whether this thread runs the compaction, so that waiting for its end would never return.
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

/// The urgency of a scheduled compaction: none, after a time without commits, or now.
enum CompactionUrgency: UInt8, AtomicRepresentable {
  case none, whenQuiet, now
}

/// The time of the next automatic compaction.
///
/// ```
///   none  ->  whenQuiet  ->  now  ->  none, and the compaction runs
///     \______________________/
/// ```
///
/// An urgent compaction does not wait for the quiet time of one that is already scheduled.
///
/// Thread safety: any thread.
final class CompactionTimer: Sendable {
  private let scheduled = Atomic<CompactionUrgency>(.none)
  private let queue = DispatchQueue(label: "latewood.compaction", qos: .utility)
  /// The end of the log when a commit last considered a compaction.
  private let considered = Atomic<UInt64>(0)
  private let attempts = Guarded(CompactionAttempts())

  var urgency: CompactionUrgency { scheduled.load(ordering: .relaxed) }

  /// Schedules a compaction, unless another thread has scheduled or begun one meanwhile.
  ///
  /// - Parameters:
  ///   - last: the urgency at the caller's decision.
  ///   - delay: seconds until it may begin.
  ///   - body: called on the queue of compactions after the delay if this is still scheduled.
  func schedule(
    _ urgency: CompactionUrgency, instead last: CompactionUrgency, after delay: Double,
    _ body: @escaping @Sendable () -> Void
  ) {
    guard change(from: last, to: urgency) else { return }
    queue.asyncAfter(deadline: .now() + delay) { [weak self] in
      if let self, change(from: urgency, to: .none) { body() }
    }
  }

  private func change(from old: CompactionUrgency, to new: CompactionUrgency) -> Bool {
    scheduled.compareExchange(expected: old, desired: new, ordering: .acquiringAndReleasing).exchanged
  }

  /// Returns whether a commit should consider a compaction: once for each `step` of log.
  func shouldConsider(at end: UInt64, step: UInt64) -> Bool {
    let last = considered.load(ordering: .relaxed)
    guard end < last || end - last >= step else { return false }
    considered.store(end, ordering: .relaxed)
    return true
  }

  // MARK: Failures

  /// The error of the last automatic compaction, if it failed.
  var failure: StorageError? { attempts.withLock { $0.failure } }

  /// Returns whether another attempt is allowed; see `CompactionAttempts`.
  func mayTry(at committed: UInt64) -> Bool { attempts.withLock { $0.mayTry(at: committed) } }

  func didFail(_ error: StorageError, at committed: UInt64, step: UInt64) {
    attempts.withLock { $0.fail(error, at: committed, step: step) }
  }

  func didSucceed() { attempts.withLock { $0 = CompactionAttempts() } }
}

/// The record of consecutive failures of automatic compactions.
struct CompactionAttempts {
  /// The error of the last one.
  private(set) var failure: StorageError?
  private var failures: UInt64 = 0
  private var next: UInt64 = 0

  /// Returns whether another attempt is allowed. A compaction that failed will often fail again, at
  /// the same cost.
  ///
  /// - Parameter committed: number of bytes of log written by commits so far.
  func mayTry(at committed: UInt64) -> Bool { committed >= next }

  /// Records a failure. The next attempt waits until `step` more bytes are committed, and the one
  /// after it for twice as many.
  mutating func fail(_ error: StorageError, at committed: UInt64, step: UInt64) {
    failure = error
    next = committed + max(step, 1) << min(failures, 10)
    failures += 1
  }
}

/// A caller's request for a compaction, which can be cancelled from any thread: before it begins,
/// while it waits for a compaction that another caller began, and while it runs.
///
/// Cancelling it does not affect compactions that others began.
final class CompactionRequest: Sendable {
  private struct State {
    var isCancelled = false
    /// The thread that works for this request; nil before and afterwards.
    var thread: UInt?
  }

  private let state = Guarded(State())

  var isCancelled: Bool { state.withLock { $0.isCancelled } }

  /// Runs the compaction on this thread.
  func run(
    in engine: Engine, bytesPerSecond: UInt64?, _ progress: ((CompactionProgress) throws -> Void)?
  ) throws -> CompactionReport {
    state.withLock { $0.thread = Monitor.currentThread }
    // Before this thread can begin another compaction.
    defer { state.withLock { $0.thread = nil } }
    var failure: (any Error)?
    let tell = progress.map { progress in
      { (state: CompactionProgress) in
        guard failure == nil else { return }
        do { try progress(state) } catch {
          failure = error
          // This thread runs the compaction, which ends at its next step.
          engine.compaction.cancel { $0 == Monitor.currentThread }
        }
      }
    }
    let result = Result { () throws(StorageError) in
      try engine.compact(bytesPerSecond: bytesPerSecond, unless: { isCancelled }, tell)
    }
    if let failure { throw failure }
    do { return try result.get() } catch { throw StoreError(error, path: engine.path) }
  }

  /// Cancels the request.
  func cancel(in engine: Engine) {
    state.withLock { $0.isCancelled = true }
    engine.compaction.cancel { [state] runner in state.withLock { $0.thread == runner } }
  }
}

/// The closures of the layers above that take part in compactions and copies.
///
/// Thread safety: any thread. No closure is called, and none is released, under the lock: it may
/// hold the last reference to an object of the caller.
final class CompactionHooks: Sendable {
  private let entryRewriters = Guarded<[UInt32: Rewriter]>([:])
  private let work = Guarded<CompactionPreparation?>(nil)

  /// The rewriters of entries, by the number of the keyspace.
  var rewriters: [UInt32: Rewriter] { entryRewriters.withLock { $0 } }

  func setRewriter(_ rewriter: Rewriter?, forKeyspace number: UInt32) {
    let old = entryRewriters.withLock { rewriters in
      defer { rewriters[number] = rewriter }
      return rewriters[number]
    }
    withExtendedLifetime(old) {}
  }

  /// The work of a layer above before a compaction.
  var preparation: CompactionPreparation? { work.withLock { $0 } }

  func setPreparation(_ preparation: CompactionPreparation) {
    let old = work.withLock { current in
      defer { current = preparation }
      return current
    }
    withExtendedLifetime(old) {}
  }
}

/// The work of a layer above before a compaction: it deletes entries that it kept only until then.
struct CompactionPreparation: Sendable {
  /// Returns the number of bytes that `prepare` would delete.
  let reclaimable: @Sendable () -> UInt64
  /// Deletes those bytes, in separate transactions.
  let prepare: @Sendable () throws -> Void

  /// Runs `prepare`. Rethrows a `StoreError` as a `StorageError` of the same kind, any other error
  /// as `cancelled`.
  func run() throws(StorageError) {
    do {
      try prepare()
    } catch let error as StoreError where error.code == .cancelled {
      throw CompactionControl.cancelled
    } catch {
      let what = "the work before the compaction failed"
      guard let error = error as? StoreError, let kind = StorageError.Kind(rawValue: error.code.rawValue)
      else {
        throw StorageError(.cancelled, "\(what): \(error)")
      }
      throw StorageError(
        kind, "\(what): \(error.message)", offset: error.offset, errno: error.systemError, path: error.path,
        advice: error.advice)
    }
  }
}

extension Store {
  /// Sets the work to do before each compaction, automatic or not, and tells the policy how many
  /// bytes it would free.
  ///
  /// - Parameters:
  ///   - reclaimable: returns the number of live bytes that `prepare` would delete; they count as
  ///     dead. Called after checkpoints, from any thread; it must return quickly.
  ///   - prepare: called on the compacting thread before the compaction begins. It may use the
  ///     store, but `compact`, `copy`, `backup` and `close` throw `invalidRange` there. If it
  ///     throws a `StoreError`, the compaction ends with the same code; with any other error,
  ///     `cancelled`.
  package func setCompactionPreparation(
    reclaimable: @escaping @Sendable () -> UInt64, prepare: @escaping @Sendable () throws -> Void
  ) {
    engine.hooks.setPreparation(CompactionPreparation(reclaimable: reclaimable, prepare: prepare))
  }

  /// Throws ``StoreError`` `cancelled` if the running compaction has been cancelled. Meant for the
  /// steps of the work that precedes it.
  package func checkCompaction() throws {
    do throws(StorageError) { try engine.compaction.checkCancellation() } catch {
      throw StoreError(error, path: engine.path)
    }
  }
}
