import LatewoodBytes

#if canImport(Glibc)
  @preconcurrency import Glibc
#elseif canImport(Musl)
  @preconcurrency import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Random bytes of the operating system, which nobody can predict.
///
/// The source is the kernel's generator, without a fallback. On Linux it is read by `getentropy`,
/// which is `getrandom` without flags: while the machine starts, the call waits until the generator
/// has been seeded. Apple platforms have `arc4random_buf`, which cannot fail.
///
/// Files take their keys, salts and epochs from `Environment.random` instead, so that tests can
/// repeat them. In a program that is the generator of the standard library, which asks the same
/// kernel.
package enum SystemRandom {
  /// Fills `bytes` with random bytes. If it throws, their contents are not specified.
  ///
  /// - Throws: `StorageError` of kind `unsupported`, with the error number of the system call.
  package static func fill(_ bytes: UnsafeMutableRawBufferPointer) throws(StorageError) {
    guard let start = bytes.baseAddress else { return }
    #if canImport(Darwin)
      // SAFETY: the buffer covers `count` bytes from `start`.
      arc4random_buf(start, bytes.count)
    #else
      var at = 0
      while at < bytes.count {
        // One call fills at most 256 bytes.
        let count = min(256, bytes.count - at)
        // SAFETY: `at + count` is at most the size of the buffer.
        if getentropy(start + at, count) == 0 {
          at += count
        } else if errno != EINTR {
          throw StorageError(
            .unsupported, "The system refused random bytes, which a key needs", errno: errno,
            advice: "Allow the process the system call getrandom, or use a newer kernel.")
        }
      }
    #endif
  }
}
