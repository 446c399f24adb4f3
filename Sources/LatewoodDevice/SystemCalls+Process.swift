// Calls that only the command-line tool and the tests need: streams, terminal, processes,
// directories.
#if canImport(Glibc)
  @preconcurrency import Glibc
#elseif canImport(Musl)
  @preconcurrency import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

extension SystemCalls {
  // MARK: Streams

  static func readStream(
    _ descriptor: Int32, _ target: UnsafeMutableRawBufferPointer
  ) throws(ErrorNumber) -> Int {
    try checked(read(descriptor, target.baseAddress, target.count))
  }

  static func writeStream(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) throws(ErrorNumber) -> Int {
    try checked(write(descriptor, bytes.baseAddress, bytes.count))
  }

  /// Makes writes to a pipe without a reader, or past the process's limit for file lengths, throw
  /// `brokenPipe` or `fileTooBig` instead of ending the process.
  static func ignoreOutputSignals() {
    _ = signal(SIGPIPE, SIG_IGN)
    _ = signal(SIGXFSZ, SIG_IGN)
  }

  static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

  /// The number of columns of the terminal; nil if it does not tell.
  static func terminalWidth(_ descriptor: Int32) -> Int? {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
    return Int(size.ws_col)
  }

  // MARK: This process

  static func environmentVariable(_ name: String) -> String? {
    // SAFETY: getenv returns nil or a terminated string; the engine never changes the environment,
    // so it is copied whole.
    getenv(name).map { String(cString: $0) }
  }

  static func exitProcess(_ status: Int32) -> Never { exit(status) }

  static func ownExecutablePath() throws(ErrorNumber) -> String {
    var bytes = [CChar](repeating: 0, count: 16384)
    #if canImport(Darwin)
      var length = UInt32(bytes.count)
      if _NSGetExecutablePath(&bytes, &length) != 0 { throw .nameTooLong }
    #else
      // One byte stays zero and ends the string.
      _ = try checked(readlink("/proc/self/exe", &bytes, bytes.count - 1))
    #endif
    let path = bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return String(decoding: path, as: UTF8.self)
  }

  // MARK: Directories

  static func makeTemporaryDirectory(_ pattern: String) throws(ErrorNumber) -> String {
    var bytes = Array(pattern.utf8CString)
    guard mkdtemp(&bytes) != nil else { throw ErrorNumber(errno) }
    return String(decoding: bytes.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  static func makeDirectory(_ path: String) throws(ErrorNumber) {
    _ = try checked(mkdir(path, mode_t(0o700)))
  }
  static func removeDirectory(_ path: String) throws(ErrorNumber) { _ = try checked(rmdir(path)) }
  static func makeSymbolicLink(_ path: String, to target: String) throws(ErrorNumber) {
    _ = try checked(symlink(target, path))
  }
  static func setPermissions(_ path: String, _ permissions: UInt16) throws(ErrorNumber) {
    _ = try checked(chmod(path, mode_t(permissions)))
  }

  static func setPermissions(_ descriptor: Int32, _ permissions: UInt16) throws(ErrorNumber) {
    _ = try checked(fchmod(descriptor, mode_t(permissions)))
  }
  static var isPrivileged: Bool { geteuid() == 0 }

  /// The names in a directory, without `.` and `..`.
  static func names(inDirectory path: String) throws(ErrorNumber) -> [String] {
    guard let stream = opendir(path) else { throw ErrorNumber(errno) }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else { continue }
      // SAFETY: readdir returned an entry whose name is terminated; it is copied before the next
      // call.
      let name = String(
        cString: (UnsafeRawPointer(entry) + offset).assumingMemoryBound(to: CChar.self))
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }
}
