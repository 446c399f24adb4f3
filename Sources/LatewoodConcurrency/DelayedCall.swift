import Dispatch

/// A call that is made after a delay, unless this object has been released by then.
///
/// A block that `asyncAfter` has queued stays in memory until its time, with everything that it
/// refers to, even if the file or database that queued it was closed long ago. This object is kept
/// by its owner, and releasing it cancels the call.
///
/// Thread safety: any thread. The call runs on its queue, perhaps while the last reference is
/// released.
// SAFETY: the source is thread-safe, and the action is Sendable; both never change.
package final class DelayedCall: @unchecked Sendable {
  private let source: any DispatchSourceTimer
  private let action: @Sendable () -> Void

  /// Creates a call, which is not made before `set` or `setByWallClock`.
  ///
  /// - Parameter queue: the queue on which it is made.
  package init(
    on queue: DispatchQueue = .global(qos: .utility), _ action: @escaping @Sendable () -> Void
  ) {
    source = DispatchSource.makeTimerSource(queue: queue)
    self.action = action
    source.schedule(deadline: .distantFuture)
    source.setEventHandler { [weak self] in self?.action() }
    source.activate()
  }

  deinit { source.cancel() }

  /// Makes the call once, after a number of nanoseconds. Replaces an earlier time.
  package func set(afterNanoseconds delay: UInt64) {
    source.schedule(deadline: .now() + .nanoseconds(Int(clamping: delay)))
  }

  /// Makes the call once, after a number of microseconds, which also pass while the machine sleeps.
  /// Replaces an earlier time.
  package func setByWallClock(afterMicroseconds delay: UInt64) {
    source.schedule(wallDeadline: .now() + .microseconds(Int(clamping: delay)))
  }
}
