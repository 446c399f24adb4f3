// Calls for terminals, used by the shell of the command-line tool and by tests that run it on a
// pseudo-terminal.
#if canImport(Glibc)
  @preconcurrency import Glibc
#elseif canImport(Musl)
  @preconcurrency import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

extension SystemCalls {
  typealias TerminalModes = termios
  typealias SignalAction = sigaction

  static func terminalModes(_ descriptor: Int32) throws(ErrorNumber) -> TerminalModes {
    var modes = termios()
    _ = try checked(tcgetattr(descriptor, &modes))
    return modes
  }

  /// Sets the modes of a terminal. Typed input is kept, and earlier output is written under the old
  /// modes.
  static func setTerminalModes(_ descriptor: Int32, _ modes: TerminalModes) throws(ErrorNumber) {
    var modes = modes
    _ = try retried { () throws(ErrorNumber) in try checked(tcsetattr(descriptor, TCSADRAIN, &modes)) }
  }

  /// Modes in which every byte is passed on as it is typed, without an echo. Line breaks in output
  /// still begin a new line.
  static func rawModes(from modes: TerminalModes) -> TerminalModes {
    var raw = modes
    cfmakeraw(&raw)
    raw.c_oflag = modes.c_oflag
    return raw
  }

  /// Whether the terminal itself edits lines and echoes input, as a user expects after a program
  /// has ended.
  static func editsLines(_ modes: TerminalModes) -> Bool {
    modes.c_lflag & tcflag_t(ICANON) != 0 && modes.c_lflag & tcflag_t(ECHO) != 0
  }

  /// Waits for input; returns false if there was none in this time.
  static func waitForInput(_ descriptor: Int32, milliseconds: Int32) throws(ErrorNumber) -> Bool {
    var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    do throws(ErrorNumber) {
      return try checked(poll(&request, 1, milliseconds)) > 0
    } catch .interrupted {
      return false
    }
  }

  // MARK: Signals

  /// The signals that ask a program to end.
  static let endingSignals = [SIGHUP, SIGINT, SIGQUIT, SIGTERM]
  static let interruptingSignals = [SIGINT, SIGQUIT]

  typealias SignalHandler = @convention(c) (Int32) -> Void

  /// Installs `handler` for these signals; returns their previous actions.
  static func handle(_ signals: [Int32], with handler: SignalHandler) -> [(
    signal: Int32, before: SignalAction
  )] {
    signals.map { signal in
      var action = sigaction()
      var before = sigaction()
      #if canImport(Darwin)
        action.__sigaction_u.__sa_handler = handler
      #elseif canImport(Musl)
        action.__sa_handler.sa_handler = handler
      #else
        action.__sigaction_handler.sa_handler = handler
      #endif
      sigemptyset(&action.sa_mask)
      sigaction(signal, &action, &before)
      return (signal, before)
    }
  }

  /// Installs `handler` for these signals, except for those that are ignored.
  static func handleUnlessIgnored(_ signals: [Int32], with handler: SignalHandler) {
    restoreHandlers(handle(signals, with: handler).filter { isIgnored($0.before) })
  }

  private static func isIgnored(_ action: SignalAction) -> Bool {
    #if canImport(Darwin)
      let handler = action.__sigaction_u.__sa_handler
    #elseif canImport(Musl)
      let handler = action.__sa_handler.sa_handler
    #else
      let handler = action.__sigaction_handler.sa_handler
    #endif
    // SAFETY: both are one word, either a function or a small number; they are only compared.
    return unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }

  static func restoreHandlers(_ saved: [(signal: Int32, before: SignalAction)]) {
    for (signal, before) in saved {
      var before = before
      sigaction(signal, &before, nil)
    }
  }

  /// Restores a terminal's modes inside a signal handler, where only calls such as tcsetattr are
  /// allowed, and lets the signal end the process.
  static func endAfterRestoring(_ signal: Int32, _ descriptor: Int32, _ modes: TerminalModes) {
    var modes = modes
    _ = tcsetattr(descriptor, TCSANOW, &modes)
    endInHandler(signal, wipesLine: false)
  }

  /// Lets the signal end the process when the handler returns. Wipes the terminal's last line first
  /// if `wipesLine`.
  static func endInHandler(_ signal: Int32, wipesLine: Bool) {
    if wipesLine {
      var bytes: (UInt8, UInt8, UInt8, UInt8) = (0x0D, 0x1B, 0x5B, 0x4B)
      _ = write(2, &bytes, 4)
    }
    var action = sigaction()
    sigemptyset(&action.sa_mask)
    // A zeroed action is SIG_DFL, the default action.
    sigaction(signal, &action, nil)
    raise(signal)
  }

  /// Removes a file inside a signal handler, where unlink is allowed and errors cannot be reported.
  static func removeInHandler(_ path: UnsafePointer<CChar>) { _ = unlink(path) }

  static func send(_ signal: Int32, to process: Int32) throws(ErrorNumber) {
    _ = try checked(kill(process, signal))
  }

  static let terminationSignal = SIGTERM
  static let interruptSignal = SIGINT
  static let hangUpSignal = SIGHUP

  // MARK: Pseudo-terminals

  /// Makes a pseudo-terminal. Returns the controlling end, which simulates the user, and the path
  /// of the end that a program uses.
  static func makePseudoTerminal(columns: Int) throws(ErrorNumber) -> (controller: Int32, path: String) {
    // The reentrant forms, because other threads may call these functions at the same time.
    var name = [CChar](repeating: 0, count: 128)
    #if canImport(Darwin)
      let controller = try checked(posix_openpt(O_RDWR | O_NOCTTY))
      guard grantpt(controller) == 0, unlockpt(controller) == 0,
        ptsname_r(controller, &name, name.count) == 0
      else {
        let code = errno
        closeFile(controller)
        throw ErrorNumber(code)
      }
    #else
      var controller: Int32 = -1
      var program: Int32 = -1
      _ = try checked(openpty(&controller, &program, nil, nil, nil))
      defer { closeFile(program) }
      let code = ttyname_r(program, &name, name.count)
      guard code == 0 else {
        closeFile(controller)
        throw ErrorNumber(code)
      }
    #endif
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
}
