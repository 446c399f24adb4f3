import LatewoodBytes
import LatewoodDevice

/// The standard streams of a command-line program.
///
/// Output is collected, and written in pieces of 64 KiB and on `flush`; on a terminal, it is
/// written line by line. The first failure is kept, and later output is dropped. A program checks
/// `failure` at points where it can stop early, and once at its end.
package struct StandardStreams {
  package let input: ByteInput
  package let output: ByteOutput
  package let error: ByteOutput

  /// Opens the streams of this process. After this, writes to a pipe without a reader, and to a
  /// file past its length limit, fail instead of ending the process.
  package init() {
    SystemCalls.ignoreOutputSignals()
    input = ByteInput(descriptor: 0)
    output = ByteOutput(descriptor: 1)
    error = ByteOutput(descriptor: 2)
  }

  package init(input: ByteInput, output: ByteOutput, error: ByteOutput) {
    (self.input, self.output, self.error) = (input, output, error)
  }
}

/// A buffered stream of bytes to a descriptor, for use by one thread.
package final class ByteOutput {
  /// The descriptor to write to; nil if output is kept in `pending`.
  private let descriptor: Int32?
  package private(set) var pending: [UInt8] = []
  private let limit = 64 << 10

  /// Whether the output is written to a terminal.
  package let isTerminal: Bool
  /// The first failure. If the reader has closed its end of a pipe, the failure `isBrokenPipe`,
  /// which is not an error of the program.
  package private(set) var failure: StorageError?

  package init(descriptor: Int32) {
    self.descriptor = descriptor
    isTerminal = SystemCalls.isTerminal(descriptor)
    pending.reserveCapacity(limit)
  }

  /// Creates a stream that keeps its output in memory, for tests.
  package init() {
    descriptor = nil
    isTerminal = false
  }

  /// The width of the terminal in columns; nil if it is not a terminal or does not report its
  /// width.
  package var terminalWidth: Int? { descriptor.flatMap { SystemCalls.terminalWidth($0) } }

  /// The height of the terminal in rows; nil as for `terminalWidth`.
  package var terminalHeight: Int? { descriptor.flatMap { SystemCalls.terminalHeight($0) } }

  package func write(_ bytes: UnsafeRawBufferPointer) {
    guard failure == nil else { return }
    pending.append(contentsOf: bytes)
    if pending.count >= limit || (isTerminal && bytes.contains(UInt8(ascii: "\n"))) { flush() }
  }

  package func write(_ bytes: [UInt8]) { bytes.withUnsafeBytes { write($0) } }

  package func write(_ text: String) {
    var text = text
    text.withUTF8 { write(UnsafeRawBufferPointer($0)) }
  }

  package func flush() {
    guard failure == nil, !pending.isEmpty, let descriptor else { return }
    pending.withUnsafeBytes { bytes in
      var done = 0
      while done < bytes.count {
        do throws(ErrorNumber) {
          done += try SystemCalls.writeStream(descriptor, .init(rebasing: bytes[done...]))
        } catch .interrupted {
          continue
        } catch {
          failure = StorageError(error, "write the output", path: nil)
          return
        }
      }
    }
    pending.removeAll(keepingCapacity: true)
  }
}

/// A buffered stream of bytes from a descriptor, for use by one thread.
package final class ByteInput {
  private let descriptor: Int32
  private var buffer: [UInt8] = []
  private var position = 0
  private var isAtEnd = false

  package let isTerminal: Bool

  package init(descriptor: Int32) {
    self.descriptor = descriptor
    isTerminal = SystemCalls.isTerminal(descriptor)
  }

  /// Waits for the first byte, then reads all bytes that are available without further waiting;
  /// empty at the end.
  package func readSome() throws(StorageError) -> [UInt8] {
    if position == buffer.count { try fill() }
    defer { position = buffer.count }
    return Array(buffer[position...])
  }

  /// Reads everything to the end.
  package func readAll() throws(StorageError) -> [UInt8] {
    var all: [UInt8] = []
    while true {
      let some = try readSome()
      if some.isEmpty { return all }
      all += some
    }
  }

  /// Returns whether bytes or the end of the input can be read without waiting.
  package func hasMore() throws(StorageError) -> Bool {
    if position < buffer.count || isAtEnd { return true }
    do {
      return try SystemCalls.waitForInput(descriptor, milliseconds: 0)
    } catch {
      throw StorageError(error, "ask for input", path: nil)
    }
  }

  /// Reads the next line without its newline; nil at the end.
  package func readLine() throws(StorageError) -> [UInt8]? {
    var line: [UInt8] = []
    while true {
      if let end = buffer[position...].firstIndex(of: UInt8(ascii: "\n")) {
        line += buffer[position..<end]
        position = end + 1
        return line
      }
      line += buffer[position...]
      position = buffer.count
      try fill()
      if isAtEnd { return line.isEmpty ? nil : line }
    }
  }

  private func fill() throws(StorageError) {
    if isAtEnd { return }
    var failure: ErrorNumber?
    buffer = [UInt8](unsafeUninitializedCapacity: 64 << 10) { target, count in
      do throws(ErrorNumber) {
        count = try retried { () throws(ErrorNumber) in
          try SystemCalls.readStream(descriptor, UnsafeMutableRawBufferPointer(target))
        }
      } catch {
        failure = error
      }
    }
    position = 0
    if let failure { throw StorageError(failure, "read the input", path: nil) }
    isAtEnd = buffer.isEmpty
  }
}

extension StorageError {
  /// Whether the reader of a pipe has closed its end.
  package var isBrokenPipe: Bool { errno == ErrorNumber.brokenPipe.code }
}
