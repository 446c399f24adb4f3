import Dispatch
import LatewoodConcurrency

/// The timeout of a channel: one timer that is set when the channel first waits, and later checks
/// whether a task still waits. A wait that ends in time costs no system call.
///
/// The timer counts the time during which the machine sleeps. A connection that was waiting when
/// the machine went to sleep therefore times out soon after it wakes up.
final class LazyTimer: Sendable {
  private struct State {
    var call: DelayedCall?
    /// The time at which the call is made.
    var due = ContinuousClock.now
  }
  private let state = Guarded(State())

  /// Calls `expire` after the delay or earlier, and again after each delay that it returns.
  func start(after delay: Duration, _ expire: @escaping @Sendable () -> Duration?) {
    let due = ContinuousClock.now + delay
    state.withLock { state in
      if state.call == nil {
        state.call = DelayedCall(on: SocketChannel.queue) { [weak self] in self?.fire(expire) }
      } else if state.due <= due {
        return
      }
      state.due = due
      state.call?.setByWallClock(afterMicroseconds: delay.microseconds)
    }
  }

  private func fire(_ expire: @Sendable () -> Duration?) {
    // Under the lock, so that a wait that begins now is either seen here or starts the timer again.
    let ended = state.withLock { state in
      guard let delay = expire() else {
        defer { state.call = nil }
        return state.call
      }
      state.due = .now + delay
      state.call?.setByWallClock(afterMicroseconds: delay.microseconds)
      return nil
    }
    // The call is released outside of the lock.
    withExtendedLifetime(ended) {}
  }
}

extension Duration {
  /// The number of microseconds, rounded up.
  fileprivate var microseconds: UInt64 {
    let (seconds, attoseconds) = components
    guard seconds >= 0, attoseconds >= 0 else { return 0 }
    let (product, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000)
    return overflow ? UInt64(Int64.max) : product + UInt64(attoseconds / 1_000_000_000_000) + 1
  }
}
