#if canImport(Glibc)
  @preconcurrency import Glibc
#elseif canImport(Musl)
  @preconcurrency import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Thin wrappers of the C library's calls for threads and clocks, without policy. Only this type
/// and `ThreadNumbers` call the C library in this layer.
@usableFromInline enum ThreadCalls {
  @usableFromInline typealias NativeMutex = pthread_mutex_t
  typealias NativeCondition = pthread_cond_t

  // These calls can only fail with wrong arguments or for lack of memory, which none of the
  // supported C libraries allocate here.
  static func start(_ mutex: UnsafeMutablePointer<NativeMutex>) {
    let failure = pthread_mutex_init(mutex, nil)
    precondition(failure == 0, "the system refused a mutex")
  }

  static func start(_ condition: UnsafeMutablePointer<NativeCondition>) {
    #if canImport(Darwin)
      let failure = pthread_cond_init(condition, nil)
    #else
      var attributes = pthread_condattr_t()
      var failure = pthread_condattr_init(&attributes)
      failure |= pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
      failure |= pthread_cond_init(condition, &attributes)
      pthread_condattr_destroy(&attributes)
    #endif
    precondition(failure == 0, "the system refused a condition")
  }

  static func destroy(_ mutex: UnsafeMutablePointer<NativeMutex>) { pthread_mutex_destroy(mutex) }
  static func destroy(_ condition: UnsafeMutablePointer<NativeCondition>) { pthread_cond_destroy(condition) }

  @inlinable static func lock(_ mutex: UnsafeMutablePointer<NativeMutex>) {
    #if DEBUG
      LockCount.add()
    #endif
    pthread_mutex_lock(mutex)
  }
  @inlinable static func tryLock(_ mutex: UnsafeMutablePointer<NativeMutex>) -> Bool {
    #if DEBUG
      LockCount.add()
    #endif
    return pthread_mutex_trylock(mutex) == 0
  }
  @inlinable static func unlock(_ mutex: UnsafeMutablePointer<NativeMutex>) {
    pthread_mutex_unlock(mutex)
  }
  static func wait(
    _ condition: UnsafeMutablePointer<NativeCondition>, _ mutex: UnsafeMutablePointer<NativeMutex>
  ) {
    pthread_cond_wait(condition, mutex)
  }

  /// Waits for a signal; returns false if the time ran out.
  static func wait(
    _ condition: UnsafeMutablePointer<NativeCondition>, _ mutex: UnsafeMutablePointer<NativeMutex>,
    nanoseconds: UInt64
  ) -> Bool {
    #if canImport(Darwin)
      var relative = timespec(nanoseconds: nanoseconds)
      return pthread_cond_timedwait_relative_np(condition, mutex, &relative) == 0
    #else
      let (sum, overflow) = monotonicNanoseconds().addingReportingOverflow(nanoseconds)
      var deadline = timespec(nanoseconds: overflow ? UInt64(Int64.max) : sum)
      return pthread_cond_timedwait(condition, mutex, &deadline) == 0
    #endif
  }

  static func wakeOne(_ condition: UnsafeMutablePointer<NativeCondition>) { pthread_cond_signal(condition) }
  static func wakeAll(_ condition: UnsafeMutablePointer<NativeCondition>) {
    pthread_cond_broadcast(condition)
  }

  /// A number that no other living thread has.
  static var thread: UInt {
    #if canImport(Darwin) || canImport(Musl)
      UInt(bitPattern: pthread_self())
    #else
      UInt(pthread_self())
    #endif
  }

  // MARK: Clocks

  /// The number of nanoseconds since a moment that does not change while the machine runs.
  static func monotonicNanoseconds() -> UInt64 { nanoseconds(of: CLOCK_MONOTONIC) }

  /// The number of microseconds since 1970-01-01 00:00 UTC.
  static func wallMicroseconds() -> UInt64 { nanoseconds(of: CLOCK_REALTIME) / 1000 }

  private static func nanoseconds(of clock: clockid_t) -> UInt64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return UInt64(max(0, time.tv_sec)) &* 1_000_000_000 &+ UInt64(max(0, time.tv_nsec))
  }
}

/// A clock for measuring durations, which only goes forward.
package enum MonotonicClock {
  /// The number of nanoseconds since a moment that does not change while the machine runs.
  package static var nanoseconds: UInt64 { ThreadCalls.monotonicNanoseconds() }
}

extension timespec {
  fileprivate init(nanoseconds: UInt64) {
    self.init()
    tv_sec = .init(truncatingIfNeeded: nanoseconds / 1_000_000_000)
    tv_nsec = .init(truncatingIfNeeded: nanoseconds % 1_000_000_000)
  }
}

#if DEBUG
  /// The locks that each thread has taken, for tests that hold the number of locks of an operation.
  /// Release builds do not count.
  @usableFromInline package enum LockCount {
    /// The key under which a thread stores its count; nil if the system has no key left.
    private static let key: pthread_key_t? = {
      var key = pthread_key_t()
      return pthread_key_create(&key, nil) == 0 ? key : nil
    }()

    @usableFromInline static func add() {
      if let key { pthread_setspecific(key, UnsafeRawPointer(bitPattern: count(of: key) &+ 1)) }
    }

    private static func count(of key: pthread_key_t) -> UInt { UInt(bitPattern: pthread_getspecific(key)) }

    /// Returns the number of locks that this thread takes in `body`. A wait counts as one lock with
    /// the lock around it.
    package static func of(_ body: () throws -> Void) rethrows -> UInt {
      guard let key else { preconditionFailure("the system has no key for a count") }
      let before = count(of: key)
      try body()
      return count(of: key) &- before
    }
  }
#endif

// Threads started by the engine itself.
extension ThreadCalls {
  private final class Work: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }

  /// Starts a thread; returns false if the system has no resources for it.
  static func startThread(_ body: @escaping @Sendable () -> Void) -> Bool {
    let work = Unmanaged.passRetained(Work(body))
    #if canImport(Darwin)
      var thread: pthread_t?
      let result = pthread_create(&thread, nil, { ThreadCalls.run($0) }, work.toOpaque())
    #else
      var thread = pthread_t()
      let result = pthread_create(
        &thread, nil, { $0.flatMap { ThreadCalls.run($0) } }, work.toOpaque())
    #endif
    guard result == 0 else {
      work.release()
      return false
    }
    #if canImport(Darwin)
      if let thread { pthread_detach(thread) }
    #else
      pthread_detach(thread)
    #endif
    return true
  }

  private static func run(_ pointer: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
    // SAFETY: the pointer was created by `startThread`, and is passed here once.
    Unmanaged<Work>.fromOpaque(pointer).takeRetainedValue().body()
    return nil
  }

  /// Yields the processor to other threads that are ready, if there are any.
  static func yieldProcessor() { _ = sched_yield() }

  /// Permanently reduces this thread's share of the processor, on Linux to a third. It does not set
  /// the lowest priority, with which a busy machine could delay the thread's work by minutes.
  static func yieldToOthers() {
    #if canImport(Darwin)
      pthread_set_qos_class_self_np(QOS_CLASS_UTILITY, 0)
    #else
      // On Linux this sets the priority of the thread, not of the process.
      _ = setpriority(.init(PRIO_PROCESS.rawValue), 0, 5)
    #endif
  }
}

/// Small numbers for threads: no two living threads have the same number, and the least free number
/// is assigned next.
enum ThreadNumbers {
  private static let taken = Guarded<[Bool]>([])

  /// The key under which a thread stores its number plus one; nil if the system has no key left.
  private static let key: pthread_key_t? = {
    var key = pthread_key_t()
    #if canImport(Darwin)
      let result = pthread_key_create(&key) { ThreadNumbers.release($0) }
    #else
      let result = pthread_key_create(&key) { $0.map { ThreadNumbers.release($0) } }
    #endif
    return result == 0 ? key : nil
  }()

  private static func take(_ key: pthread_key_t) -> Int {
    let number = taken.withLock { taken in
      if let free = taken.firstIndex(of: false) {
        taken[free] = true
        return free
      }
      taken.append(true)
      return taken.count - 1
    }
    // If the thread cannot store its number, the number is freed again, and the next read takes a
    // new one: slow, but still correct.
    if pthread_setspecific(key, UnsafeMutableRawPointer(bitPattern: number + 1)) != 0 {
      taken.withLock { $0[number] = false }
    }
    return number
  }

  private static func release(_ kept: UnsafeMutableRawPointer) {
    taken.withLock { $0[Int(bitPattern: kept) - 1] = false }
  }

  /// The number of this thread: small, starting at 0, and different from the number of every other
  /// living thread, unless the system has no space to store it.
  ///
  /// Costs a call into the thread library; the first time on a thread, O(threads).
  static var current: Int {
    guard let key = key else { return 0 }
    guard let kept = pthread_getspecific(key) else { return take(key) }
    return Int(bitPattern: kept) - 1
  }
}
