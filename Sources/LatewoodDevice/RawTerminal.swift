import LatewoodBytes

/// A terminal whose every key comes to the program at once, until `restore`.
///
/// If a signal asks the process to end in between, the terminal is put back first. One at a time in
/// a process.
package final class RawTerminal {
  /// What the signal handler needs: it may take no lock and no memory, so it reads what was laid
  /// out before.
  private struct Saved {
    var descriptor: Int32
    var modes: SystemCalls.TerminalModes
  }

  // SAFETY: written before the handlers are installed and never freed; handlers only read. One raw
  // terminal at a time is the caller's duty, and the shell, the only caller, is one thread.
  nonisolated(unsafe) private static let saved = UnsafeMutablePointer<Saved>.allocate(capacity: 1)

  private let descriptor: Int32
  private let handlers: [SavedHandler]
  private var isRestored = false
  private typealias SavedHandler = (signal: Int32, before: SystemCalls.SignalAction)

  /// Standard input must be a terminal.
  package init(descriptor: Int32 = 0) throws(Fault) {
    self.descriptor = descriptor
    do throws(ErrorNumber) {
      let modes = try SystemCalls.terminalModes(descriptor)
      Self.saved.initialize(to: Saved(descriptor: descriptor, modes: modes))
      handlers = SystemCalls.handle(SystemCalls.endingSignals) { signal in RawTerminal.end(signal) }
      do throws(ErrorNumber) {
        try SystemCalls.setTerminalModes(descriptor, SystemCalls.rawModes(from: modes))
      } catch {
        SystemCalls.restoreHandlers(handlers)
        throw error
      }
    } catch {
      throw Fault(error, "change the terminal's mode", path: nil)
    }
  }

  deinit { restore() }

  /// Puts the terminal back as it was.
  package func restore() {
    guard !isRestored else { return }
    isRestored = true
    // A terminal that has gone away cannot be put back, and nobody sees it.
    do { try SystemCalls.setTerminalModes(descriptor, Self.saved.pointee.modes) } catch {}
    SystemCalls.restoreHandlers(handlers)
  }

  private static func end(_ signal: Int32) {
    SystemCalls.endAfterRestoring(signal, saved.pointee.descriptor, saved.pointee.modes)
  }
}
