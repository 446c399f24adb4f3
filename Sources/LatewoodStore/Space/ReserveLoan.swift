import LatewoodConcurrency
import Synchronization

/// The period for which a compaction has borrowed the blocks of the log's reserve for its new file.
///
/// Even deletes could fail meanwhile, so transactions wait for its end, at most ten seconds: the
/// compaction may itself be waiting for a transaction.
///
/// Thread safety: all methods may be called from any thread; a loan begins under the writer lock.
final class ReserveLoan: Sendable {
  private static let longestWait: UInt64 = 10_000_000_000
  private let monitor = Monitor()
  private let isLent = Atomic<Bool>(false)

  @inline(__always) var isUnderWay: Bool { isLent.load(ordering: .relaxed) }

  func begin() { isLent.store(true, ordering: .relaxed) }

  func end() {
    monitor.withLock {
      isLent.store(false, ordering: .relaxed)
      monitor.broadcast()
    }
  }

  /// Lets waiting threads check again whether the compaction is paused.
  func wake() { monitor.withLock { monitor.broadcast() } }

  /// Waits until the reserve is back. Returns false after ten seconds, or if `isPaused` returns
  /// true; pausing the compaction must be followed by `wake`.
  func waitForEnd(unless isPaused: () -> Bool) -> Bool {
    let began = MonotonicClock.nanoseconds
    monitor.lock()
    defer { monitor.unlock() }
    while isUnderWay {
      let waited = MonotonicClock.nanoseconds - began
      if isPaused() || waited >= ReserveLoan.longestWait { return false }
      _ = monitor.wait(milliseconds: (ReserveLoan.longestWait - waited) / 1_000_000 + 1)
    }
    return true
  }
}
