import LatewoodBytes
import LatewoodConcurrency

/// The wait of one open for the writer lock of a database that another open holds: how long it may
/// take, and whether it was cancelled.
///
/// Thread safety: all calls from any thread.
package final class LockWait: Sendable {
  private struct State {
    var isCancelled = false
    var isBlocked = false
    var observers: [@Sendable () -> Void] = []
  }

  /// The longest time to wait; zero does not wait.
  private let timeout: Duration
  private let deadline: UInt64
  private let clock: @Sendable () -> UInt64
  private let state = Guarded(State())

  /// A wait of no time.
  package static var none: LockWait { LockWait(.zero) }

  /// - Parameters:
  ///   - timeout: the longest time to wait, from now. A negative one counts as zero.
  ///   - clock: a monotonic clock, in nanoseconds.
  package init(_ timeout: Duration, clock: @escaping @Sendable () -> UInt64 = { MonotonicClock.nanoseconds })
  {
    self.timeout = max(timeout, .zero)
    self.clock = clock
    let (seconds, attoseconds) = self.timeout.components
    // A century is as good as forever, and cannot overflow.
    let nanoseconds =
      UInt64(min(seconds, 3_000_000_000)) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
    deadline = clock() + nanoseconds
  }

  /// The rest of the time, in milliseconds, rounded up; 0 if it is over or the wait was cancelled.
  package var remainingMilliseconds: UInt64 {
    if timeout == .zero || isCancelled { return 0 }
    let now = clock()
    return now < deadline ? (deadline - now - 1) / 1_000_000 + 1 : 0
  }

  package var isOver: Bool { remainingMilliseconds == 0 }
  package var isCancelled: Bool { state.withLock { $0.isCancelled } }
  /// Whether the open has met a lock that is held, and waits for it.
  package var isBlocked: Bool { state.withLock { $0.isBlocked } }

  /// Ends the wait; the open throws `cancelled` unless it has the lock already.
  package func cancel() { change { $0.isCancelled = true } }

  /// Calls `observer` after each change of `isCancelled` and `isBlocked`.
  package func whenChanged(_ observer: @escaping @Sendable () -> Void) {
    state.withLock { $0.observers.append(observer) }
  }

  /// Runs `body`, in which this waits for the lock.
  func blocking<Result>(_ body: () throws(StorageError) -> Result) throws(StorageError) -> Result {
    change { $0.isBlocked = true }
    defer { change { $0.isBlocked = false } }
    return try body()
  }

  /// Pauses for a moment, where no call waits for a lock; returns false if there is no time left.
  package func pause() -> Bool {
    let rest = remainingMilliseconds
    guard rest > 0 else { return false }
    change { $0.isBlocked = true }
    defer { change { $0.isBlocked = false } }
    Monitor.sleep(milliseconds: min(rest, 10))
    return true
  }

  /// Returns the error of the last attempt as the error of the whole wait.
  package func outcome(_ error: StorageError) -> StorageError {
    guard error.isLockedForWriting else { return error }
    if isCancelled {
      return StorageError(
        .cancelled, "the open was cancelled while it waited for the writer lock", path: error.path)
    }
    guard timeout > .zero else { return error }
    var error = error
    error.reason += "; it was still open after \(timeout)"
    return error
  }

  private func change(_ body: (inout State) -> Void) {
    let observers = state.withLock { state in
      body(&state)
      return state.observers
    }
    for observer in observers { observer() }
  }
}

extension StorageError {
  /// Whether another open has the database for writing, so that waiting may help.
  package var isLockedForWriting: Bool { kind == .lockedByOtherProcess || kind == .lockedByThisProcess }
}
