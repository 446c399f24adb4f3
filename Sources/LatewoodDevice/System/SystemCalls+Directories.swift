// Calls for directories, and for the environment of the process.

#if canImport(Glibc)
  @preconcurrency import Glibc
#elseif canImport(Musl)
  @preconcurrency import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

extension SystemCalls {
  static func environmentVariable(_ name: String) -> String? {
    // SAFETY: getenv returns nil or a terminated string, which is copied whole because the engine
    // never changes the environment.
    getenv(name).map { String(cString: $0) }
  }

  static func makeTemporaryDirectory(_ pattern: String) throws(ErrorNumber) -> String {
    var bytes = Array(pattern.utf8CString)
    guard mkdtemp(&bytes) != nil else { throw ErrorNumber(errno) }
    return String(decoding: bytes.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  static func makeDirectory(_ path: String) throws(ErrorNumber) {
    _ = try checked(mkdir(path, mode_t(0o700)))
  }
  static func removeDirectory(_ path: String) throws(ErrorNumber) { _ = try checked(rmdir(path)) }

  /// Returns the names in a directory, without `.` and `..`.
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

/// This process.
package enum CurrentProcess {
  /// Returns the value of an environment variable; nil if it is not set.
  package static func environmentVariable(_ name: String) -> String? { SystemCalls.environmentVariable(name) }
}
