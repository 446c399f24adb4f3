import Dispatch
import LatewoodBytes
import LatewoodConcurrency
import Synchronization

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
/// Thread safety: all methods may be called from any thread.
final class CompactionTimer: Sendable {
  private let scheduled = Atomic<CompactionUrgency>(.none)
  private let queue = DispatchQueue(label: "latewood.compaction", qos: .utility)
  /// The call that was scheduled last.
  private let call = Guarded<DelayedCall?>(nil)
  private let attempts = Guarded(CompactionAttempts())

  var urgency: CompactionUrgency { scheduled.load(ordering: .relaxed) }

  /// Schedules a compaction, unless another thread has scheduled or begun one since the decision.
  ///
  /// - Parameters:
  ///   - last: the urgency at the caller's decision.
  ///   - delay: seconds until it may begin.
  ///   - body: called on the queue of compactions after the delay if this is still scheduled.
  func schedule(
    _ urgency: CompactionUrgency, instead last: CompactionUrgency, after delay: Double,
    _ body: @escaping @Sendable () -> Void
  ) {
    call.withLock { call in
      guard change(from: last, to: urgency) else { return }
      let next = DelayedCall(on: queue) { [weak self] in
        if let self, change(from: urgency, to: .none) { body() }
      }
      next.set(afterNanoseconds: UInt64(min(max(delay, 0), 1e9) * 1e9))
      call = next
    }
  }

  private func change(from old: CompactionUrgency, to new: CompactionUrgency) -> Bool {
    scheduled.compareExchange(expected: old, desired: new, ordering: .acquiringAndReleasing).exchanged
  }

  /// Calls `body` on the queue of compactions.
  func runOnQueue(_ body: @escaping @Sendable () -> Void) { queue.async(execute: body) }

  // MARK: Failures

  /// The automatic compactions that have failed since the last one that succeeded.
  var failedAttempts: CompactionAttempts { attempts.withLock { $0 } }

  /// Returns whether another attempt is allowed; see `CompactionAttempts`.
  func mayTry(at committed: UInt64) -> Bool { attempts.withLock { $0.mayTry(at: committed) } }

  /// Records a failure, and returns the record with it.
  func didFail(_ error: StorageError, at committed: UInt64, step: UInt64) -> CompactionAttempts {
    attempts.withLock {
      $0.fail(error, at: committed, step: step)
      return $0
    }
  }

  func didSucceed() { attempts.withLock { $0 = CompactionAttempts() } }
}

/// The record of consecutive failures of automatic compactions.
struct CompactionAttempts {
  /// The error of the last failure.
  private(set) var failure: StorageError?
  /// The number of failures.
  private(set) var count = 0
  /// The number of bytes of log between the last failure and the next attempt.
  private(set) var wait: UInt64 = 0
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
    // The smallest size of a file to compact, and with it the step, can be any number.
    wait = min(max(step, 1), 1 << 48) << UInt64(min(count, 10))
    next = committed + wait
    count += 1
  }
}
