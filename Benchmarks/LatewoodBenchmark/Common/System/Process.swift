#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The system's figures about this process; 0 if the system does not provide them.
enum Process {
  static let mebibyte = 1_048_576.0

  /// The seconds of a clock that is never set.
  static var now: Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + 1e-9 * Double(time.tv_nsec)
  }

  /// The processor time of all threads in seconds.
  static var processorSeconds: Double {
    let usage = resources
    return Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
      + 1e-6 * Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec)
  }

  /// The greatest resident set so far, in MiB. Pages of mapped files count.
  static var peakResidentMiB: Double {
    #if canImport(Darwin)
      Double(resources.ru_maxrss) / mebibyte
    #else
      Double(resources.ru_maxrss) / 1024
    #endif
  }

  /// The anonymous resident memory now, in MiB.
  static var anonymousMiB: Double {
    Double(field("RssAnon:", of: "/proc/self/status")) / 1024
  }

  /// The number of bytes passed to write calls.
  static var bytesHandedToWrites: UInt64 { field("wchar:", of: "/proc/self/io") }

  /// The number of bytes that the page cache has marked for writing: whole folios, so far too many
  /// for small scattered writes.
  static var bytesWritten: UInt64 { field("write_bytes:", of: "/proc/self/io") }

  /// The system load over the last minute.
  static var load: Double {
    let text = withContents(of: "/proc/loadavg") { String(decoding: $0, as: UTF8.self) }
    return text.split(separator: " ").first.flatMap { Double($0) } ?? 0
  }

  private static var resources: rusage {
    var usage = rusage()
    #if canImport(Glibc)
      getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    #else
      getrusage(RUSAGE_SELF, &usage)
    #endif
    return usage
  }

  /// Returns the number in the line that begins with `name`. It compares bytes, because strings
  /// would take processor time from the engine: memory is sampled while workloads run.
  private static func field(_ name: StaticString, of path: String) -> UInt64 {
    withContents(of: path) { bytes in
      let prefix = UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
      var rest = bytes
      while !rest.isEmpty, !rest.starts(with: prefix) {
        rest = rest.drop { $0 != UInt8(ascii: "\n") }.dropFirst()
      }
      let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
      return rest.dropFirst(prefix.count).drop { !digits.contains($0) }.prefix { digits.contains($0) }
        .reduce(0) { $0 &* 10 &+ UInt64($1 - digits.lowerBound) }
    }
  }

  /// Runs `body` with the first 8 KiB of a file, or with nothing if it cannot be read.
  private static func withContents<R>(of path: String, _ body: (Slice<UnsafeRawBufferPointer>) -> R) -> R {
    withUnsafeTemporaryAllocation(byteCount: 8192, alignment: 1) { buffer in
      let file = open(path, O_RDONLY)
      var count = 0
      if file >= 0 {
        // SAFETY: read writes at most the given count.
        count = max(0, read(file, buffer.baseAddress, buffer.count))
        close(file)
      }
      return body(UnsafeRawBufferPointer(buffer).prefix(count))
    }
  }

  // MARK: Output and end

  /// Writes a line to standard output, unbuffered.
  static func printLine(_ line: String) { put(line + "\n", on: 1) }

  /// Writes a line to standard error.
  static func printError(_ line: String) { put(line + "\n", on: 2) }

  private static func put(_ text: String, on file: Int32) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
      if count <= 0 { return }
      rest = rest.dropFirst(count)
    }
  }

  static func end(_ status: Int32) -> Never { exit(status) }

  /// Ends this process like a crash: nothing is flushed or closed.
  static func killSelf() -> Never {
    kill(getpid(), SIGKILL)
    exit(1)
  }

  static func sleep(seconds: Double) {
    let whole = seconds.rounded(.down)
    var rest = timespec(tv_sec: Int(whole), tv_nsec: Int((seconds - whole) * 1e9))
    var remaining = timespec()
    while nanosleep(&rest, &remaining) != 0 && errno == EINTR { rest = remaining }
  }
}
