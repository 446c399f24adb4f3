import LatewoodConcurrency
import Synchronization

/// The time for which a compaction has borrowed the blocks of the log's reserve for its new file.
///
/// Meanwhile even deletes could be refused. So transactions wait for the end; but not for ever,
/// because the compaction may itself wait for a transaction, in one of its closures.
///
/// Thread safety: all calls from any thread; a loan begins under the lock of the writer.
final class ReserveLoan: Sendable {
  private static let longestWait: UInt64 = 10_000_000_000
  /// How often a waiting thread asks whether to go on waiting, in milliseconds.
  private static let interval: UInt64 = 50

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

  /// Waits until the reserve is back; returns false after ten seconds, or if `isPaused` returns
  /// true.
  func waitForEnd(unless isPaused: () -> Bool) -> Bool {
    let began = MonotonicClock.nanoseconds
    monitor.lock()
    defer { monitor.unlock() }
    while isUnderWay {
      if isPaused() || MonotonicClock.nanoseconds - began >= ReserveLoan.longestWait { return false }
      _ = monitor.wait(milliseconds: ReserveLoan.interval)
    }
    return true
  }
}
