// Calls for standard streams, and for the program of this process.
import LatewoodDevice

#if canImport(Glibc)
  @preconcurrency import Glibc
#elseif canImport(Musl)
  @preconcurrency import Musl
#elseif canImport(Darwin)
  import Darwin
  import MachO
#endif

extension SystemCalls {
  // MARK: Streams

  package static func readStream(
    _ descriptor: Int32, _ target: UnsafeMutableRawBufferPointer
  ) throws(ErrorNumber) -> Int {
    try checked(read(descriptor, target.baseAddress, target.count))
  }

  package static func writeStream(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) throws(ErrorNumber)
    -> Int
  {
    try checked(write(descriptor, bytes.baseAddress, bytes.count))
  }

  /// Changes writes to a pipe without a reader, or past the process's limit for file lengths, so
  /// that they throw `brokenPipe` or `fileTooBig` instead of ending the process.
  static func ignoreOutputSignals() {
    _ = signal(SIGPIPE, SIG_IGN)
    _ = signal(SIGXFSZ, SIG_IGN)
  }

  static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

  /// The number of columns of the terminal; nil if the terminal does not report it.
  static func terminalWidth(_ descriptor: Int32) -> Int? {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
    return Int(size.ws_col)
  }

  /// The number of rows of the terminal; nil if the terminal does not report it.
  static func terminalHeight(_ descriptor: Int32) -> Int? {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0 else { return nil }
    return Int(size.ws_row)
  }

  // MARK: This process

  static func exitProcess(_ status: Int32) -> Never { exit(status) }

  static func ownExecutablePath() throws(ErrorNumber) -> String {
    var bytes = [CChar](repeating: 0, count: 16384)
    #if canImport(Darwin)
      var length = UInt32(bytes.count)
      if _NSGetExecutablePath(&bytes, &length) != 0 { throw .nameTooLong }
    #else
      // The last byte stays zero and ends the string.
      _ = try checked(readlink("/proc/self/exe", &bytes, bytes.count - 1))
    #endif
    let path = bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return String(decoding: path, as: UTF8.self)
  }
}
