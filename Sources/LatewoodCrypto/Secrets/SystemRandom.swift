import LatewoodBytes

#if canImport(Glibc)
  @preconcurrency import Glibc
#elseif canImport(Musl)
  @preconcurrency import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Random bytes of the operating system, for keys, nonces and salts.
///
/// They come from the generator of the kernel: `getentropy`, which is `getrandom` without flags on
/// Linux, and waits at the start of the machine until the generator has been seeded; and
/// `arc4random_buf` on Apple platforms, which cannot fail. There is no fallback.
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
