// Calls for terminals.
import LatewoodDevice

#if canImport(Glibc)
  @preconcurrency import Glibc
#elseif canImport(Musl)
  @preconcurrency import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

extension SystemCalls {
  package typealias TerminalModes = termios

  package static func terminalModes(_ descriptor: Int32) throws(ErrorNumber) -> TerminalModes {
    var modes = termios()
    _ = try checked(tcgetattr(descriptor, &modes))
    return modes
  }

  /// Sets the modes of a terminal. Typed input is kept, and earlier output is written in the old
  /// modes.
  static func setTerminalModes(_ descriptor: Int32, _ modes: TerminalModes) throws(ErrorNumber) {
    var modes = modes
    _ = try retried { () throws(ErrorNumber) in try checked(tcsetattr(descriptor, TCSADRAIN, &modes)) }
  }

  /// Returns modes in which every byte is passed on as it is typed, without an echo. Line breaks in
  /// output still begin a new line.
  static func rawModes(from modes: TerminalModes) -> TerminalModes {
    var raw = modes
    cfmakeraw(&raw)
    raw.c_oflag = modes.c_oflag
    return raw
  }

  /// Waits for input; returns false if there was none in this time.
  package static func waitForInput(_ descriptor: Int32, milliseconds: Int32) throws(ErrorNumber) -> Bool {
    var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    do throws(ErrorNumber) {
      return try checked(poll(&request, 1, milliseconds)) > 0
    } catch .interrupted {
      return false
    }
  }
}
