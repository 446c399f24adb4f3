import LatewoodBytes

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Overwriting and comparing memory that contains secrets.
package enum SecureMemory {
  /// Overwrites the bytes with zeros, even if nothing reads them afterwards.
  ///
  /// An ordinary store to memory that is then freed is a dead store, which an optimizer removes.
  /// `explicit_bzero` (Linux) and `memset_s` (Apple, C11 annex K) are defined to be carried out,
  /// and the compiler sees only a call of an external function that could read the memory.
  package static func wipe(_ bytes: UnsafeMutableRawBufferPointer) {
    guard let start = bytes.baseAddress else { return }
    // SAFETY: the buffer covers `count` bytes from `start`.
    #if canImport(Darwin)
      _ = memset_s(start, bytes.count, 0, bytes.count)
    #else
      explicit_bzero(start, bytes.count)
    #endif
  }

  /// Calls `body` with `count` bytes on the stack, which are zero at first and wiped afterwards.
  @inline(__always) static func withTemporaryBytes<T, E: Error>(
    _ count: Int, _ body: (UnsafeMutableRawBufferPointer) throws(E) -> T
  ) throws(E) -> T {
    let result = withUnsafeTemporaryAllocation(byteCount: count, alignment: 64) { bytes in
      bytes.initializeMemory(as: UInt8.self, repeating: 0)
      defer { wipe(bytes) }
      return Result { () throws(E) -> T in try body(bytes) }
    }
    return try result.get()
  }

  /// Calls `body` with `count` bytes outside of the stack, aligned to 64 bytes, which are wiped
  /// afterwards. Their contents are not specified at first.
  static func withLargeBytes<T>(
    _ count: Int, _ body: (UnsafeMutableRawPointer) -> T
  ) throws(StorageError) -> T {
    var start: UnsafeMutableRawPointer?
    // SAFETY: the memory is written only by `body`, and freed once.
    guard posix_memalign(&start, 64, count) == 0, let start else { throw outOfMemory(count, "bytes") }
    defer {
      wipe(UnsafeMutableRawBufferPointer(start: start, count: count))
      free(start)
    }
    return body(start)
  }

  static func outOfMemory(_ count: Int, _ unit: String) -> StorageError {
    StorageError(
      .outOfMemory, "Deriving the key takes \(count) \(unit) of memory, which the system did not give",
      advice: "Free memory, or use a key that was derived with less.")
  }

  /// Compares two byte strings without a branch or an address that depends on their contents.
  ///
  /// Strings of different lengths are different; lengths are not secret.
  package static func areEqual(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
    guard left.count == right.count else { return false }
    let count = right.count
    guard let left = left.baseAddress, let right = right.baseAddress else { return true }
    var difference: UInt64 = 0
    var at = 0
    while at &+ 8 <= count {
      difference |= left.u64(at) ^ right.u64(at)
      at &+= 8
    }
    while at < count {
      difference |= UInt64(left.u8(at) ^ right.u8(at))
      at &+= 1
    }
    return difference == 0
  }
}
