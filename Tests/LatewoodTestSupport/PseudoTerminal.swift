import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice
import LatewoodTerminal

/// A program on a terminal that this process simulates.
package final class PseudoTerminal {
  private let controller: Int32
  /// The program's end, kept open so that the terminal can be inspected after the program has
  /// ended.
  private let program: Int32
  private let process: Int32
  /// The output of the program that was not taken yet.
  package private(set) var text: [UInt8] = []
  private var isOver = false

  /// Starts the program at `path` on a new terminal.
  package init(
    _ path: String, arguments: [String], columns: Int = 80, environment: [String: String?] = [:]
  ) throws(StorageError) {
    do {
      let terminal = try SystemCalls.makePseudoTerminal(columns: columns)
      controller = terminal.controller
      program = try SystemCalls.openTerminal(terminal.path)
      process = try SystemCalls.spawn(
        path, arguments.map { Array($0.utf8) }, SystemCalls.SpawnStreams(terminal: terminal.path),
        environment: environment)
    } catch {
      throw StorageError(error, "start the program on a terminal", path: path)
    }
  }

  deinit {
    // A program that is still running would wait for input that never arrives.
    do throws(ErrorNumber) {
      if !isOver {
        try SystemCalls.endProcess(process)
        _ = try SystemCalls.wait(for: process)
      }
    } catch {}
    SystemCalls.closeFile(program)
    SystemCalls.closeFile(controller)
  }

  /// Types a text.
  package func write(_ text: String) throws(StorageError) {
    var bytes = Array(text.utf8)[...]
    do throws(ErrorNumber) {
      while !bytes.isEmpty {
        let piece = Array(bytes)
        var done = 0
        var failure: ErrorNumber?
        piece.withUnsafeBytes { source in
          do throws(ErrorNumber) { done = try SystemCalls.writeStream(controller, source) } catch {
            failure = error
          }
        }
        if let failure, failure != .interrupted { throw failure }
        bytes = bytes.dropFirst(done)
      }
    } catch {
      throw StorageError(error, "write to the terminal", path: nil)
    }
  }

  /// Reads output for at most `milliseconds`, or until `isEnough` returns true for all text so far.
  /// Returns whether it did.
  package func read(milliseconds: Int, until isEnough: ([UInt8]) -> Bool) throws(StorageError) -> Bool {
    let deadline = MonotonicClock.nanoseconds &+ UInt64(milliseconds) &* 1_000_000
    while !isEnough(text) {
      let now = MonotonicClock.nanoseconds
      guard now < deadline else { return false }
      try readOnce(milliseconds: Int32(clamping: (deadline - now) / 1_000_000 + 1))
    }
    return true
  }

  /// Waits for the end of the program while reading its output. Returns its exit status, or nil if
  /// a signal ended it. Throws if the time runs out.
  package func wait(milliseconds: Int) throws(StorageError) -> Int32? {
    var status: Int32??
    let over = try read(milliseconds: milliseconds) { _ in
      do throws(ErrorNumber) { status = try SystemCalls.statusIfEnded(for: process) } catch { return true }
      return status != nil
    }
    guard over, let status else { throw StorageError(.inputOutput, "the program did not end in time") }
    isOver = true
    while try readOnce(milliseconds: 0) {}
    return status
  }

  /// Removes and returns the output read so far.
  package func take() -> [UInt8] {
    defer { text = [] }
    return text
  }

  package func resize(columns: Int) throws(StorageError) {
    do { try SystemCalls.setTerminalWidth(controller, columns) } catch {
      throw StorageError(error, "change the width", path: nil)
    }
  }

  /// Sends the program a signal that requests its end.
  package func send(_ signal: ChildProcess.TerminationSignal) throws(StorageError) {
    do { try SystemCalls.send(signal.number, to: process) } catch {
      throw StorageError(error, "send the signal", path: nil)
    }
  }

  /// Whether the terminal itself echoes and edits typed lines.
  package func editsLines() throws(StorageError) -> Bool {
    do { return SystemCalls.editsLines(try SystemCalls.terminalModes(program)) } catch {
      throw StorageError(error, "ask the terminal", path: nil)
    }
  }

  /// Reads output once, waiting at most 20 milliseconds so that the caller can also check other
  /// conditions. Returns false if there was none.
  @discardableResult
  private func readOnce(milliseconds: Int32) throws(StorageError) -> Bool {
    do throws(ErrorNumber) {
      guard try SystemCalls.waitForInput(controller, milliseconds: min(milliseconds, 20)) else {
        return false
      }
      var piece = [UInt8](repeating: 0, count: 4096)
      var count = 0
      var failure: ErrorNumber?
      piece.withUnsafeMutableBytes { target in
        do throws(ErrorNumber) { count = try SystemCalls.readStream(controller, target) } catch {
          failure = error
        }
      }
      if failure == .inputOutput {
        // The program is ending, and the system has removed the terminal; there may be no status
        // yet.
        Monitor.sleep(milliseconds: 1)
        return false
      }
      if let failure, failure != .interrupted { throw failure }
      text += piece.prefix(count)
      return count > 0
    } catch {
      throw StorageError(error, "read from the terminal", path: nil)
    }
  }
}
