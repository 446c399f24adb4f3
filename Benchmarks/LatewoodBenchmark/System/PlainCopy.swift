#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The speed of the disk: writes a number of bytes in pieces of a mebibyte, with one sync.
enum PlainCopy {
  /// - Returns: the seconds that it took.
  static func write(_ bytes: UInt64, in directory: Directory) throws -> Double {
    let path = directory.path + "/plain-copy"
    let file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0o600)
    guard file >= 0 else { throw BenchmarkFailure("\(path) cannot be written") }
    defer {
      close(file)
      unlink(path)
    }
    var random = SplitMix64(seed: 1)
    let piece = (0..<(1 << 17)).map { _ in random.next() }
    let start = Process.now
    var rest = bytes
    while rest > 0 {
      let count = Int(min(rest, 1 << 20))
      let done = piece.withUnsafeBytes { Platform.write(file, $0.baseAddress, count) }
      guard done > 0 else { throw BenchmarkFailure("\(path) cannot be written") }
      rest -= UInt64(done)
    }
    guard fsync(file) == 0 else { throw BenchmarkFailure("\(path) cannot be synced") }
    return Process.now - start
  }

  /// The C function, which has the same name as the method above.
  private enum Platform {
    static func write(_ file: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
      #if canImport(Glibc)
        Glibc.write(file, bytes, count)
      #elseif canImport(Musl)
        Musl.write(file, bytes, count)
      #else
        Darwin.write(file, bytes, count)
      #endif
    }
  }
}
