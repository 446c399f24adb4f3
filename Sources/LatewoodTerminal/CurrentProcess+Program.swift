import LatewoodBytes
import LatewoodDevice

/// What only a program does with its process: a library leaves that to the program it is in.
extension CurrentProcess {
  /// The path of its program, for starting it again.
  package static func executablePath() throws(Fault) -> String {
    do {
      return try SystemCalls.ownExecutablePath()
    } catch {
      throw Fault(error, "find this program", path: nil)
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
