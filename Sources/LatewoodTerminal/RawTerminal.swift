import LatewoodBytes
import LatewoodDevice

/// A terminal in raw mode, in which every key is passed to the program immediately, until
/// `restore`.
///
/// If a termination signal arrives in this mode, the terminal is restored before the process ends.
/// A process may have only one raw terminal at a time.
package final class RawTerminal {
  /// The data of the signal handler, prepared in advance because it may take no lock and no memory.
  private struct Saved {
    var descriptor: Int32
    var modes: SystemCalls.TerminalModes
  }

  // SAFETY: written before the handlers are installed and never freed; handlers only read. The
  // caller guarantees that there is one raw terminal at a time; the shell, the only caller, is one
  // thread.
  nonisolated(unsafe) private static let saved = UnsafeMutablePointer<Saved>.allocate(capacity: 1)

  private let descriptor: Int32
  private let handlers: [SavedHandler]
  private var isRestored = false
  private typealias SavedHandler = (signal: Int32, before: SystemCalls.SignalAction)

  /// Switches a terminal, by default standard input, to raw mode.
  package init(descriptor: Int32 = 0) throws(StorageError) {
    self.descriptor = descriptor
    do throws(ErrorNumber) {
      let modes = try SystemCalls.terminalModes(descriptor)
      Self.saved.initialize(to: Saved(descriptor: descriptor, modes: modes))
      handlers = SystemCalls.handle(SystemCalls.terminationSignals) { signal in RawTerminal.end(signal) }
      do throws(ErrorNumber) {
        try SystemCalls.setTerminalModes(descriptor, SystemCalls.rawModes(from: modes))
      } catch {
        SystemCalls.restoreHandlers(handlers)
        throw error
      }
    } catch {
      throw StorageError(error, "change the terminal's mode", path: nil)
    }
  }

  deinit { restore() }

  /// Restores the terminal's previous mode.
  package func restore() {
    guard !isRestored else { return }
    isRestored = true
    // A terminal that no longer exists cannot be restored, and does not need to be.
    do { try SystemCalls.setTerminalModes(descriptor, Self.saved.pointee.modes) } catch {}
    SystemCalls.restoreHandlers(handlers)
  }

  private static func end(_ signal: Int32) {
    SystemCalls.endAfterRestoring(signal, saved.pointee.descriptor, saved.pointee.modes)
  }
}
