import LatewoodDevice
import LatewoodTerminal

#if canImport(Glibc)
  @preconcurrency import Glibc
#elseif canImport(Musl)
  @preconcurrency import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

extension SystemCalls {
  /// Makes a pseudo-terminal. Returns the controlling end, which simulates the user, and the path
  /// of the end that a program uses.
  static func makePseudoTerminal(columns: Int) throws(ErrorNumber) -> (controller: Int32, path: String) {
    // The reentrant forms, because other threads may call these functions at the same time.
    var name = [CChar](repeating: 0, count: 128)
    var controller: Int32 = -1
    var program: Int32 = -1
    _ = try checked(openpty(&controller, &program, nil, nil, nil))
    // On Apple systems the terminal has a size only while this end is open.
    defer { closeFile(program) }
    let code = ttyname_r(program, &name, name.count)
    guard code == 0 else {
      closeFile(controller)
      throw ErrorNumber(code)
    }
    let path = String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    _ = fcntl(controller, F_SETFD, FD_CLOEXEC)
    try setTerminalWidth(controller, columns)
    return (controller, path)
  }

  static func setTerminalWidth(_ descriptor: Int32, _ columns: Int) throws(ErrorNumber) {
    var size = winsize()
    size.ws_col = UInt16(clamping: columns)
    size.ws_row = 24
    _ = try checked(ioctl(descriptor, UInt(TIOCSWINSZ), &size))
  }

  /// Opens the program's end, so that the modes can be read after the program has ended.
  static func openTerminal(_ path: String) throws(ErrorNumber) -> Int32 {
    try checked(open(path, O_RDWR | O_NOCTTY | O_CLOEXEC))
  }

  /// Whether the terminal itself edits lines and echoes input, as a user expects after a program
  /// has ended.
  static func editsLines(_ modes: TerminalModes) -> Bool {
    modes.c_lflag & tcflag_t(ICANON) != 0 && modes.c_lflag & tcflag_t(ECHO) != 0
  }
}
