import LatewoodBytes

/// A program that this process has started; its standard output comes through `output`.
package final class ChildProcess {
  package let output: ByteInput
  private let number: Int32
  private let outputDescriptor: Int32
  private var isOver = false

  /// What asks a program to end.
  package enum EndingSignal: CaseIterable, Sendable {
    case interrupt, termination, hangUp

    package var number: Int32 {
      switch self {
      case .interrupt: SystemCalls.interruptSignal
      case .termination: SystemCalls.terminationSignal
      case .hangUp: SystemCalls.hangUpSignal
      }
    }
  }

  /// Starts the program at `path`; its error output and input are this process's own.
  ///
  /// - Parameter hasUsualSignals: it is to end on the signals that ask for it, also if this process
  ///   ignores them.
  package init(_ path: String, arguments: [String], hasUsualSignals: Bool = false) throws(Fault) {
    do {
      let (process, descriptor) = try SystemCalls.spawn(path, arguments, hasUsualSignals: hasUsualSignals)
      number = process
      outputDescriptor = descriptor
      output = ByteInput(descriptor: descriptor)
    } catch {
      throw Fault(error, "start the program", path: path)
    }
  }

  deinit { SystemCalls.closeFile(outputDescriptor) }

  /// Runs a program to its end on the streams of this process: its exit status, or nil if a signal
  /// ended it.
  ///
  /// - Parameter hasInput: false if reading standard input is to fail.
  package static func run(_ path: String, arguments: [[UInt8]], hasInput: Bool) throws(Fault) -> Int32? {
    do {
      var streams = SystemCalls.SpawnStreams()
      streams.withoutInput = !hasInput
      return try SystemCalls.wait(for: try SystemCalls.spawn(path, arguments, streams))
    } catch {
      throw Fault(error, "run the program", path: path)
    }
  }

  /// Ends it at once, as a crash would: it gets no chance to do anything.
  package func kill() throws(Fault) {
    if isOver { return }
    do {
      try SystemCalls.endProcess(number)
    } catch {
      throw Fault(error, "end the other process", path: nil)
    }
  }

  /// Asks it to end; nothing happens if it has.
  package func send(_ signal: EndingSignal) throws(Fault) {
    if isOver { return }
    do {
      try SystemCalls.send(signal.number, to: number)
    } catch {
      throw Fault(error, "send the signal", path: nil)
    }
  }

  /// Waits for its end, once: its exit status, or nil if it was killed.
  package func wait() throws(Fault) -> Int32? { try waitForEnd().status }

  /// The same, and the number of the signal that ended it.
  package func waitForEnd() throws(Fault) -> (status: Int32?, signal: Int32?) {
    precondition(!isOver, "a process is waited for once")
    isOver = true
    do {
      return try SystemCalls.waitForEnd(of: number)
    } catch {
      throw Fault(error, "wait for the other process", path: nil)
    }
  }
}

/// The process itself.
package enum CurrentProcess {
  /// Where its program is, for starting another one of it.
  package static func executablePath() throws(Fault) -> String {
    do {
      return try SystemCalls.ownExecutablePath()
    } catch {
      throw Fault(error, "find this program", path: nil)
    }
  }

  /// The value of an environment variable; nil if there is none by this name.
  package static func environmentVariable(_ name: String) -> String? { SystemCalls.environmentVariable(name) }

  /// From now on an interrupt from the terminal ends programs that this process has started, but
  /// not the process itself.
  package static func outliveInterrupts() {
    // A handler that does nothing is the default again in a program that is started; an ignored
    // signal would stay ignored.
    _ = SystemCalls.handle(SystemCalls.interruptingSignals) { _ in }
  }

  /// Whether file permissions do not bind it.
  package static var isPrivileged: Bool { SystemCalls.isPrivileged }

  /// Flush streams before: nothing else does.
  package static func exit(_ status: Int32) -> Never { SystemCalls.exitProcess(status) }
}
