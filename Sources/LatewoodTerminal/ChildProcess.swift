import LatewoodBytes
import LatewoodCrypto
import LatewoodDevice

/// A program that this process has started. Its standard output is read through `output`.
package final class ChildProcess {
  package let output: ByteInput
  private let number: Int32
  private let outputDescriptor: Int32
  private var isOver = false

  /// A signal that asks a program to end.
  package enum TerminationSignal: CaseIterable, Sendable {
    case interrupt, termination, hangUp

    package var number: Int32 {
      switch self {
      case .interrupt: SystemCalls.interruptSignal
      case .termination: SystemCalls.terminateSignal
      case .hangUp: SystemCalls.hangUpSignal
      }
    }
  }

  /// Starts the program at `path`, which shares this process's error output and input.
  ///
  /// - Parameter hasUsualSignals: whether the program ends on a `TerminationSignal` even if this
  ///   process ignores it.
  package init(_ path: String, arguments: [String], hasUsualSignals: Bool = false) throws(StorageError) {
    do {
      let (process, descriptor) = try SystemCalls.spawn(path, arguments, hasUsualSignals: hasUsualSignals)
      number = process
      outputDescriptor = descriptor
      output = ByteInput(descriptor: descriptor)
    } catch {
      throw StorageError(error, "start the program", path: path)
    }
  }

  deinit { SystemCalls.closeFile(outputDescriptor) }

  /// Runs a program to its end on the streams of this process. Returns its exit status, or nil if a
  /// signal ended it.
  ///
  /// - Parameters:
  ///   - hasInput: whether the program can read standard input; if false, reading fails.
  ///   - secret: at most 4 KiB that the program can read from `SystemCalls.secretDescriptor`.
  package static func run(
    _ path: String, arguments: [[UInt8]], hasInput: Bool, secret: SecretBytes? = nil
  ) throws(StorageError) -> Int32? {
    do {
      var streams = SystemCalls.SpawnStreams()
      streams.withoutInput = !hasInput
      guard let secret else {
        return try SystemCalls.wait(for: try SystemCalls.spawn(path, arguments, streams))
      }
      return try secret.withUnsafeBytes { (bytes) throws(ErrorNumber) in
        try SystemCalls.withPipe(holding: bytes) { (end) throws(ErrorNumber) in
          streams.secret = end
          return try SystemCalls.wait(for: try SystemCalls.spawn(path, arguments, streams))
        }
      }
    } catch {
      throw StorageError(error, "run the program", path: path)
    }
  }

  /// Ends the program immediately, as a crash would.
  package func kill() throws(StorageError) {
    if isOver { return }
    do {
      try SystemCalls.endProcess(number)
    } catch {
      throw StorageError(error, "end the other process", path: nil)
    }
  }

  /// Asks the program to end. Does nothing after `wait`.
  package func send(_ signal: TerminationSignal) throws(StorageError) {
    if isOver { return }
    do {
      try SystemCalls.send(signal.number, to: number)
    } catch {
      throw StorageError(error, "send the signal", path: nil)
    }
  }

  /// Waits for the end of the program. Returns its exit status, or nil if it was killed. May be
  /// called only once.
  package func wait() throws(StorageError) -> Int32? { try waitForEnd().status }

  /// Waits for the end of the program like `wait`, and also returns the number of the signal that
  /// ended it.
  package func waitForEnd() throws(StorageError) -> (status: Int32?, signal: Int32?) {
    precondition(!isOver, "a process is waited for once")
    isOver = true
    do {
      return try SystemCalls.waitForEnd(of: number)
    } catch {
      throw StorageError(error, "wait for the other process", path: nil)
    }
  }
}
