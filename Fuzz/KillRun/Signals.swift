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

  /// Children that a signal ends are to end at once: a program that looks at what is left of them would keep their pipe open, and wait for
  /// files that are gone.
  static func endWithoutBacktrace() { setenv("SWIFT_BACKTRACE", "enable=no", 1) }
}
