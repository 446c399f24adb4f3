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

/// What programs that are started find set.
enum ChildEnvironment {
  /// Children that a signal ends are to end at once: a program that looks at what is left of them
  /// would keep their pipe open, and wait for files that are gone.
  static func endWithoutBacktrace() { setenv("SWIFT_BACKTRACE", "enable=no", 1) }

  /// mkfs.ext4 writes zeros where it wants zeros, in place of making holes in the image.
  static func formatWithoutHoles() { setenv("UNIX_IO_NOZEROOUT", "1", 1) }
}
