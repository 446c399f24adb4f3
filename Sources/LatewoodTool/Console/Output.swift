import LatewoodDevice
import LatewoodTerminal

/// Buffered output to a stream of this process, or to a new file.
///
/// Only `flush` ensures that all bytes have been written. Unlike the underlying stream, this throws
/// at the first failed write, so that long work stops when its result would be lost. It throws
/// failures, because a store whose closure writes to it would take other errors for its own.
final class Output {
  private enum Target {
    case stream(ByteOutput)
    case file(any Device)
    case memory
  }

  private static let pieceLength = 64 << 10

  private let target: Target
  /// Whether a person sees this on a terminal. The terminal then has to be kept from obeying codes
  /// in files.
  var isTerminal = false
  private var filter = TerminalFilter()
  /// The buffer for a file or memory; streams have their own.
  private var pending: [UInt8] = []
  /// The number of bytes that have been written.
  private(set) var length: UInt64 = 0

  init(_ stream: ByteOutput) {
    target = .stream(stream)
    isTerminal = stream.isTerminal
  }

  init(_ file: any Device) { target = .file(file) }
  /// Keeps all bytes in memory until `take`.
  init() { target = .memory }

  /// The number of columns; nil if it is unknown or the output is not a terminal.
  var terminalWidth: Int? {
    guard case .stream(let stream) = target else { return nil }
    return stream.terminalWidth
  }

  /// The number of rows; nil as for `terminalWidth`.
  var terminalHeight: Int? {
    guard case .stream(let stream) = target else { return nil }
    return stream.terminalHeight
  }

  /// Returns and empties the bytes in memory.
  func take() -> [UInt8] {
    defer { pending = [] }
    return pending
  }

  /// Writes text, or other bytes. On a terminal, characters that it would obey become escapes.
  func write(_ bytes: [UInt8]) throws(Failure) {
    try writeUnfiltered(isTerminal ? filter.filtered(bytes) : bytes)
  }

  /// Writes what the tool itself tells the terminal to do.
  func control(_ text: String) throws(Failure) { try writeUnfiltered(Array(text.utf8)) }

  private func writeUnfiltered(_ bytes: [UInt8]) throws(Failure) {
    length += UInt64(bytes.count)
    switch target {
    case .stream(let stream):
      stream.write(bytes)
      try check(stream)
    case .file:
      pending += bytes
      if pending.count >= Self.pieceLength { try flush() }
    case .memory: pending += bytes
    }
  }

  func write(_ text: String) throws(Failure) { try write(Array(text.utf8)) }
  func line(_ text: String) throws(Failure) { try write(text + "\n") }

  func flush() throws(Failure) {
    switch target {
    case .stream(let stream):
      stream.flush()
      try check(stream)
    case .file(let device):
      guard !pending.isEmpty else { return }
      defer { pending.removeAll(keepingCapacity: true) }
      do {
        // SAFETY: the device reads the bytes only during the call.
        try pending.withUnsafeBytes { try device.write($0, at: length - UInt64($0.count)) }
      } catch { throw Failure(error) }
    case .memory: break
    }
  }

  private func check(_ stream: ByteOutput) throws(Failure) {
    guard let failure = stream.failure else { return }
    throw failure.isBrokenPipe ? .brokenPipe : Failure(failure)
  }
}
