import LatewoodBytes
import LatewoodDevice

/// Calls for programs. A library leaves them to the program that it is part of.
extension CurrentProcess {
  /// Returns the path of this process's program, for starting it again.
  package static func executablePath() throws(StorageError) -> String {
    do {
      return try SystemCalls.ownExecutablePath()
    } catch {
      throw StorageError(error, "find this program", path: nil)
    }
  }

  /// Lets this process survive interrupts from the terminal. They still end the programs that it
  /// has started.
  package static func outliveInterrupts() {
    // In a started program, a handler that does nothing is replaced by the default action; an
    // ignored signal would stay ignored.
    _ = SystemCalls.handle(SystemCalls.interruptingSignals) { _ in }
  }

  /// Ends the process without flushing its streams.
  package static func exit(_ status: Int32) -> Never { SystemCalls.exitProcess(status) }
}
