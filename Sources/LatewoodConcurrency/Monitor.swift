/// A mutex with a condition variable: mutual exclusion, and waiting for a change of the protected
/// state. If threads wait for several different things, each gets its own `Condition`.
///
/// An uncontended lock and unlock cost about 6 ns. Not recursive. Every wait must be in a loop that
/// checks the awaited state, because waits may end without a signal.
///
/// Other layers take the lock without a call into this layer: only `@usableFromInline`
/// declarations, including the type itself, can be inlined across modules.
// SAFETY: the pointers never change; the objects they point to are designed for use from many
// threads, and stay at one address from `init` to `deinit`, as the system requires.
@usableFromInline package final class Monitor: @unchecked Sendable {
  @usableFromInline let mutex: UnsafeMutablePointer<ThreadCalls.NativeMutex>
  private let condition: UnsafeMutablePointer<ThreadCalls.NativeCondition>

  package init() {
    mutex = .allocate(capacity: 1)
    condition = .allocate(capacity: 1)
    mutex.initialize(to: ThreadCalls.NativeMutex())
    condition.initialize(to: ThreadCalls.NativeCondition())
    ThreadCalls.start(mutex)
    ThreadCalls.start(condition)
  }

  deinit {
    ThreadCalls.destroy(condition)
    ThreadCalls.destroy(mutex)
    mutex.deallocate()
    condition.deallocate()
  }

  @inlinable package func lock() { ThreadCalls.lock(mutex) }
  /// Takes the lock, or returns false immediately if another thread holds it.
  @inlinable package func tryLock() -> Bool { ThreadCalls.tryLock(mutex) }
  @inlinable package func unlock() { ThreadCalls.unlock(mutex) }

  /// Releases the lock, waits for a signal, and takes the lock again. The caller holds the lock.
  package func wait() { ThreadCalls.wait(condition, mutex) }

  /// Waits like `wait()`, but at most for the given time by a monotonic clock; returns false if the
  /// time ran out. The caller holds the lock.
  package func wait(milliseconds: UInt64) -> Bool {
    let (nanoseconds, overflow) = milliseconds.multipliedReportingOverflow(by: 1_000_000)
    return ThreadCalls.wait(condition, mutex, nanoseconds: overflow ? UInt64(Int64.max) : nanoseconds)
  }

  /// Wakes one waiting thread.
  package func signal() { ThreadCalls.wakeOne(condition) }
  /// Wakes all waiting threads.
  package func broadcast() { ThreadCalls.wakeAll(condition) }

  /// A number that no other living thread has.
  package static var currentThread: UInt { ThreadCalls.thread }

  /// Yields the processor to threads that are ready to run.
  package static func yieldProcessor() { ThreadCalls.yieldProcessor() }

  /// Suspends this thread.
  package static func sleep(milliseconds: UInt64) {
    let monitor = Monitor()
    monitor.lock()
    _ = monitor.wait(milliseconds: milliseconds)
    monitor.unlock()
  }

  @inlinable package func withLock<Result: ~Copyable, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    lock()
    defer { unlock() }
    return try body()
  }
}

extension Monitor {
  /// A condition variable of a monitor that has several. The rules of `Monitor` apply: the caller
  /// of `wait` holds the monitor, and waits in a loop.
  // SAFETY: the pointer never changes, and the object it points to is designed for use from many
  // threads.
  package final class Condition: @unchecked Sendable {
    private let monitor: Monitor
    private let condition: UnsafeMutablePointer<ThreadCalls.NativeCondition>

    package init(of monitor: Monitor) {
      self.monitor = monitor
      condition = .allocate(capacity: 1)
      condition.initialize(to: ThreadCalls.NativeCondition())
      ThreadCalls.start(condition)
    }

    deinit {
      ThreadCalls.destroy(condition)
      condition.deallocate()
    }

    /// Releases the monitor, waits for a signal of this condition, and takes the monitor again.
    package func wait() { ThreadCalls.wait(condition, monitor.mutex) }
    /// Wakes one thread that waits for this condition.
    package func signal() { ThreadCalls.wakeOne(condition) }
    /// Wakes all threads that wait for this condition.
    package func broadcast() { ThreadCalls.wakeAll(condition) }
  }
}
