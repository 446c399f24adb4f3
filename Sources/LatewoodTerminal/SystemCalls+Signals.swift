// Calls for signals.
import LatewoodDevice

#if canImport(Glibc)
  @preconcurrency import Glibc
#elseif canImport(Musl)
  @preconcurrency import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

extension SystemCalls {
  typealias SignalAction = sigaction

  /// The signals that ask a program to end.
  static let terminationSignals = [SIGHUP, SIGINT, SIGQUIT, SIGTERM]
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

  package static func send(_ signal: Int32, to process: Int32) throws(ErrorNumber) {
    _ = try checked(kill(process, signal))
  }

  static let terminateSignal = SIGTERM
  static let interruptSignal = SIGINT
  static let hangUpSignal = SIGHUP
}
