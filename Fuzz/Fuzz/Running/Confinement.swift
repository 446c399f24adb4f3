import Dispatch
import LatewoodBytes

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The limits for any input: a second of processor time, 64 MiB in addition to its length, and a
/// stack of 512 KiB.
enum Confinement {
  static let seconds = 1.0
  static let memory = 64 << 20
  static let stack = 512 << 10

  /// Runs `body` on a thread with the small stack, and waits for it to end.
  static func onSmallStack(_ body: @escaping @Sendable () -> Void) {
    let work = Unmanaged.passRetained(Work(body))
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    pthread_attr_setstacksize(&attributes, stack)
    #if canImport(Darwin)
      var thread: pthread_t?
      let result = pthread_create(&thread, &attributes, { Work.run($0) }, work.toOpaque())
    #else
      var thread = pthread_t()
      let result = pthread_create(&thread, &attributes, { $0.flatMap { Work.run($0) } }, work.toOpaque())
    #endif
    guard result == 0 else { fatalError("the system refused a thread") }
    #if canImport(Darwin)
      if let thread { pthread_join(thread, nil) }
    #else
      pthread_join(thread, nil)
    #endif
  }

  private final class Work: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    static func run(_ pointer: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
      // SAFETY: the pointer was made by `onSmallStack`, and is passed here once.
      Unmanaged<Work>.fromOpaque(pointer).takeRetainedValue().body()
      return nil
    }
  }

  /// Runs `body`; it is a find if that takes more processor time than the limit.
  static func checkTime(limitSeconds: Double = seconds, _ body: () -> Void) {
    let before = processorSeconds
    body()
    let used = processorSeconds - before
    if used > limitSeconds { find("\(used) seconds of processor time for one input") }
  }

  private static var processorSeconds: Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  /// The greatest amount of memory that the process has had so far, in bytes.
  static var peakMemory: Int {
    var usage = rusage()
    #if canImport(Glibc)
      getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    #else
      getrusage(RUSAGE_SELF, &usage)
    #endif
    #if canImport(Darwin)
      return Int(usage.ru_maxrss)
    #else
      return Int(usage.ru_maxrss) << 10
    #endif
  }

  /// Maps memory that is also a file, so that the last input is known regardless of how the process
  /// ends.
  static func sharedFile(_ path: String, length: Int) -> UnsafeMutableRawPointer? {
    let descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC, 0o600)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    guard ftruncate(descriptor, off_t(length)) == 0 else { return nil }
    let address = mmap(nil, length, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
    return address == MAP_FAILED ? nil : address
  }

  static func removeFile(_ path: String) { unlink(path) }
  static func cutFile(_ path: String, to length: Int) { truncate(path, off_t(length)) }
}
