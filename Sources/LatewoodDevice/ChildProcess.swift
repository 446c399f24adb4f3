import LatewoodBytes

/// A program that this process has started. Its standard output is read through `output`.
package final class ChildProcess {
  package let output: ByteInput
  private let number: Int32
  private let outputDescriptor: Int32
  private var isOver = false

  /// A signal that asks a program to end.
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
  /// - Parameter hasUsualSignals: whether the program ends on `EndingSignal`s even if this process
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

  /// Runs a program to its end on the streams of this process. Returns its exit status, or nil if a
  /// signal ended it.
  ///
  /// - Parameter hasInput: whether the program can read standard input; if false, reading fails.
  package static func run(_ path: String, arguments: [[UInt8]], hasInput: Bool) throws(Fault) -> Int32? {
    do {
      var streams = SystemCalls.SpawnStreams()
      streams.withoutInput = !hasInput
      return try SystemCalls.wait(for: try SystemCalls.spawn(path, arguments, streams))
    } catch {
      throw Fault(error, "run the program", path: path)
    }
  }

  /// Ends the program at once, as a crash would.
  package func kill() throws(Fault) {
    if isOver { return }
    do {
      try SystemCalls.endProcess(number)
    } catch {
      throw Fault(error, "end the other process", path: nil)
    }
  }

  /// Asks the program to end. Does nothing after `wait`.
  package func send(_ signal: EndingSignal) throws(Fault) {
    if isOver { return }
    do {
      try SystemCalls.send(signal.number, to: number)
    } catch {
      throw Fault(error, "send the signal", path: nil)
    }
  }

  /// Waits for the end of the program. Returns its exit status, or nil if it was killed. Called
  /// once.
  package func wait() throws(Fault) -> Int32? { try waitForEnd().status }

  /// Waits for the end of the program like `wait`, and also returns the number of the signal that
  /// ended it.
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

/// This process.
package enum CurrentProcess {
  /// The path of its program, for starting it again.
  package static func executablePath() throws(Fault) -> String {
    do {
      return try SystemCalls.ownExecutablePath()
    } catch {
      throw Fault(error, "find this program", path: nil)
    }
  }

  /// The value of an environment variable; nil if there is none by this name.
  package static func environmentVariable(_ name: String) -> String? { SystemCalls.environmentVariable(name) }

  /// Makes this process survive interrupts from the terminal, which still end the programs that it
  /// has started.
  package static func outliveInterrupts() {
    // In a started program, a handler that does nothing becomes the default again; an ignored
    // signal would stay ignored.
    _ = SystemCalls.handle(SystemCalls.interruptingSignals) { _ in }
  }

  /// Whether this process may ignore file permissions.
  package static var isPrivileged: Bool { SystemCalls.isPrivileged }

  /// Ends the process. Flush streams first: this does not.
  package static func exit(_ status: Int32) -> Never { SystemCalls.exitProcess(status) }
}
