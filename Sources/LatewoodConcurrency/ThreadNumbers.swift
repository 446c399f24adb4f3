#if canImport(Glibc)
  @preconcurrency import Glibc
#elseif canImport(Musl)
  @preconcurrency import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

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
