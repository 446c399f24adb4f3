import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// System threads. Dispatch would run only as many blocks in parallel as there are processors, but
/// eight writers that wait for the disk must be eight even with two processors.
enum Threads {
  /// Runs `body` on `count` threads in parallel, with numbers that start at 0, and waits for all of
  /// them.
  ///
  /// - Returns: the results in the order of the numbers.
  /// - Throws: the first error by number.
  static func run<R: Sendable>(
    _ count: Int, _ body: @escaping @Sendable (Int) throws -> R
  ) throws -> [R] {
    let results = (0..<count).map { _ in Slot<R>() }
    let handles = (0..<count).map { number in
      start { results[number].set(Result { try body(number) }) }
    }
    for handle in handles { join(handle) }
    return try results.map { try $0.take() }
  }

  /// Sleeps, so that other threads run.
  static func rest(milliseconds: UInt32) { usleep(milliseconds * 1000) }

  /// Starts a thread that ends with the process.
  static func startForever(_ body: @escaping @Sendable () -> Never) {
    if let handle = start({ body() }) { pthread_detach(handle) }
  }

  /// The result of a thread, once it has ended.
  private final class Slot<R: Sendable>: Sendable {
    private let result = Mutex<Result<R, any Error>?>(nil)

    func set(_ new: Result<R, any Error>) { result.withLock { $0 = new } }

    func take() throws -> R {
      guard let result = result.withLock({ $0 }) else {
        throw BenchmarkFailure("a thread could not be started")
      }
      return try result.get()
    }
  }

  private final class Body: Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }

  private static func start(_ body: @escaping @Sendable () -> Void) -> pthread_t? {
    // SAFETY: one reference goes with the pointer. The new thread takes it over; if it cannot be
    // started, this function does.
    let context = Unmanaged.passRetained(Body(body))
    #if canImport(Darwin)
      var handle: pthread_t?
      let failure = pthread_create(
        &handle, nil,
        { context in
          Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
          return nil
        }, context.toOpaque())
    #else
      var handle = pthread_t()
      let failure = pthread_create(
        &handle, nil,
        { context in
          if let context { Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run() }
          return nil
        }, context.toOpaque())
    #endif
    if failure == 0 { return handle }
    context.release()
    return nil
  }

  private static func join(_ handle: pthread_t?) {
    if let handle { pthread_join(handle, nil) }
  }
}
