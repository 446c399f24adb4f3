#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Signals that end children.
enum Signals {
  static let kill = SIGKILL
  static let bus = SIGBUS
}

/// The environment of programs that are started.
enum ChildEnvironment {
  /// Makes children end immediately at a signal: a backtrace program that examines them would keep
  /// their pipe open, and wait for files that no longer exist.
  static func endWithoutBacktrace() { setenv("SWIFT_BACKTRACE", "enable=no", 1) }

  /// Makes mkfs.ext4 write zeros instead of punching holes into the image.
  static func formatWithoutHoles() { setenv("UNIX_IO_NOZEROOUT", "1", 1) }
}
