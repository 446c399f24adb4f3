import LatewoodConcurrency
import Synchronization

/// A counter of running operations of some kind, with a wait until there are none.
///
/// `begin` and `end` cost one atomic operation each, unless a thread waits.
final class InFlightCounter: Sendable {
  private let count = Atomic<Int>(0)
  private let waiters = Atomic<Int>(0)
  private let monitor = Monitor()

  var isNone: Bool { count.load(ordering: .acquiring) == 0 }

  func begin() { count.add(1, ordering: .sequentiallyConsistent) }

  func end() {
    let left = count.subtract(1, ordering: .sequentiallyConsistent).newValue
    // Either this sees the waiter, or the waiter sees that nothing is left.
    if left == 0, waiters.load(ordering: .sequentiallyConsistent) > 0 {
      monitor.withLock { monitor.broadcast() }
    }
  }

  func waitForNone() {
    if isNone { return }
    waiters.add(1, ordering: .sequentiallyConsistent)
    defer { waiters.subtract(1, ordering: .relaxed) }
    monitor.lock()
    defer { monitor.unlock() }
    while count.load(ordering: .sequentiallyConsistent) > 0 { monitor.wait() }
  }
}
