import LatewoodBytes
import LatewoodDevice

/// Calls that belong to a program: a library leaves them to the program that it is part of.
extension CurrentProcess {
  /// The path of its program, for starting it again.
  package static func executablePath() throws(StorageError) -> String {
    do {
      return try SystemCalls.ownExecutablePath()
    } catch {
      throw StorageError(error, "find this program", path: nil)
    }
  }

  /// Makes this process survive interrupts from the terminal, which still end the programs that it
  /// has started.
  package static func outliveInterrupts() {
    // In a started program, a handler that does nothing becomes the default again; an ignored
    // signal would stay ignored.
    _ = SystemCalls.handle(SystemCalls.interruptingSignals) { _ in }
  }

  /// Ends the process. Flush streams first: this does not.
  package static func exit(_ status: Int32) -> Never { SystemCalls.exitProcess(status) }
}
