/// A mutex and a condition in one: mutual exclusion, and waiting for a change of what it protects.
/// Where threads wait for several things, each is a `Condition` of its own.
///
/// An uncontended lock and unlock cost about 6 ns. Not recursive. Every wait is in a loop over the
/// condition that is waited for, because waits may end without a signal.
// SAFETY: the pointers never change, what they point to is made for use from many threads, and it
// has the one address from `init` to `deinit` that the system's threads need.
package final class Monitor: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<SystemCalls.NativeMutex>
  private let condition: UnsafeMutablePointer<SystemCalls.NativeCondition>

  package init() {
    mutex = .allocate(capacity: 1)
    condition = .allocate(capacity: 1)
    mutex.initialize(to: SystemCalls.NativeMutex())
    condition.initialize(to: SystemCalls.NativeCondition())
    SystemCalls.start(mutex)
    SystemCalls.start(condition)
  }

  deinit {
    SystemCalls.destroy(condition)
    SystemCalls.destroy(mutex)
    mutex.deallocate()
    condition.deallocate()
  }

  package func lock() { SystemCalls.lock(mutex) }
  /// False, at once, if the lock is taken.
  package func tryLock() -> Bool { SystemCalls.tryLock(mutex) }
  package func unlock() { SystemCalls.unlock(mutex) }

  /// Gives the lock up, waits for a signal, and takes it again. The caller holds the lock.
  package func wait() { SystemCalls.wait(condition, mutex) }

  /// The same with a limit by a clock that nobody sets; false if it ran out. The caller holds the
  /// lock.
  package func wait(milliseconds: UInt64) -> Bool {
    let (nanoseconds, overflow) = milliseconds.multipliedReportingOverflow(by: 1_000_000)
    return SystemCalls.wait(condition, mutex, nanoseconds: overflow ? UInt64(Int64.max) : nanoseconds)
  }

  /// Wakes one of those that wait.
  package func signal() { SystemCalls.wakeOne(condition) }
  /// Wakes all that wait.
  package func broadcast() { SystemCalls.wakeAll(condition) }

  /// A number that no other living thread has.
  package static var currentThread: UInt { SystemCalls.thread }

  /// Lets threads go first that are ready to run.
  package static func giveUpProcessor() { SystemCalls.giveUpProcessor() }

  /// Lets this thread rest.
  package static func sleep(milliseconds: UInt64) {
    let monitor = Monitor()
    monitor.lock()
    _ = monitor.wait(milliseconds: milliseconds)
    monitor.unlock()
  }

  package func withLock<Result: ~Copyable, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    lock()
    defer { unlock() }
    return try body()
  }
}

extension Monitor {
  /// One of several things that threads wait for under the same monitor. The rules of `Monitor`
  /// hold: the caller of `wait` has the monitor, and waits in a loop.
  // SAFETY: the pointer never changes, and what it points to is made for use from many threads.
  package final class Condition: @unchecked Sendable {
    private let monitor: Monitor
    private let condition: UnsafeMutablePointer<SystemCalls.NativeCondition>

    package init(of monitor: Monitor) {
      self.monitor = monitor
      condition = .allocate(capacity: 1)
      condition.initialize(to: SystemCalls.NativeCondition())
      SystemCalls.start(condition)
    }

    deinit {
      SystemCalls.destroy(condition)
      condition.deallocate()
    }

    /// Gives the monitor up, waits for a signal of this condition, and takes the monitor again.
    package func wait() { SystemCalls.wait(condition, monitor.mutex) }
    /// Wakes one of those that wait for this.
    package func signal() { SystemCalls.wakeOne(condition) }
    /// Wakes all that wait for this.
    package func broadcast() { SystemCalls.wakeAll(condition) }
  }
}
