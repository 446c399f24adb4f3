import LatewoodBytes

/// The bytes of a JSON text, read in pieces, with the current position.
///
/// Invariants:
/// 1. `bytes[position..<count]` has been read and not yet scanned; bytes before `position` are
///    never needed again. `count` is at most the length of `bytes`, which is constant.
/// 2. A line ends only between tokens, because JSON allows no line break inside one. So only
///    `skipSpace` counts lines.
/// 3. `column` counts Unicode scalars: bytes of the line without the continuation bytes that the
///    scanner reports.
struct JSONInput {
  /// Fills the buffer with the next bytes and returns their number; 0 at the end.
  typealias Refill = (UnsafeMutableRawBufferPointer) throws(Failure) -> Int

  private(set) var bytes: [UInt8]
  var position = 0
  private(set) var count = 0
  private var offsetOfBuffer = 0
  private var ended = false
  private(set) var line = 1
  private var lineStart = 0
  private var continuationBytes = 0
  private let refill: Refill

  init(pieceLength: Int = 65536, _ refill: @escaping Refill) {
    bytes = [UInt8](repeating: 0, count: pieceLength)
    self.refill = refill
  }

  /// Creates an input from a text in memory.
  init(_ text: [UInt8], pieceLength: Int = 65536) {
    var rest = text[...]
    self.init(pieceLength: pieceLength) { target throws(Failure) in
      let piece = rest.prefix(target.count)
      target.copyBytes(from: piece)
      rest = rest.dropFirst(piece.count)
      return piece.count
    }
  }

  /// The offset of the next byte from the start of the text.
  var offset: Int { offsetOfBuffer + position }
  var column: Int { offset - lineStart - continuationBytes + 1 }

  /// Returns the next byte without consuming it; nil at the end.
  mutating func peek() throws(Failure) -> UInt8? {
    if position < count { return bytes[position] }
    guard !ended else { return nil }
    try fill()
    return position < count ? bytes[position] : nil
  }

  mutating func advance() { position += 1 }

  mutating func countContinuationByte() { continuationBytes += 1 }

  /// Skips white space.
  mutating func skipSpace() throws(Failure) {
    while let byte = try peek() {
      switch byte {
      case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"): position += 1
      case UInt8(ascii: "\n"):
        position += 1
        line += 1
        lineStart = offset
        continuationBytes = 0
      default: return
      }
    }
  }

  /// Passes the rest of the line, without its line break, to a closure, and skips the line if the
  /// closure returns true. Returns false if the closure does, or if the buffer does not contain the
  /// entire line.
  mutating func takeLine(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Bool
  ) throws(Failure) -> Bool {
    let (position, count) = (position, count)
    var end = count
    let taken = bytes.withUnsafeBytes { bytes in
      Result { () throws(Failure) -> Bool in
        guard let start = bytes.baseAddress else { return false }
        // SAFETY: `count` is at most the length of the buffer.
        end = start.firstOffset(of: UInt8(ascii: "\n"), from: position, before: count)
        guard end < count else { return false }
        return try body(UnsafeRawBufferPointer(start: start + position, count: end - position))
      }
    }
    guard try taken.get() else { return false }
    self.position = end
    return true
  }

  /// Skips a byte order mark, which RFC 8259 lets a reader ignore.
  mutating func skipByteOrderMark() throws(Failure) {
    guard offset == 0, try peek() == 0xEF, count >= 3, bytes[1] == 0xBB, bytes[2] == 0xBF else { return }
    position = 3
    lineStart = 3
  }

  private mutating func fill() throws(Failure) {
    offsetOfBuffer += position
    position = 0
    var read = 0
    var failure: Failure?
    // SAFETY: the buffer is used only inside the call, by a refill that writes within it.
    bytes.withUnsafeMutableBytes { target in
      do throws(Failure) { read = try refill(target) } catch { failure = error }
    }
    if let failure { throw failure }
    count = min(read, bytes.count)
    ended = read == 0
  }

  /// Returns a failure at the next byte.
  func failure(_ reason: String) -> Failure {
    failure(reason, line: line, column: column)
  }

  func failure(_ reason: String, line: Int, column: Int) -> Failure {
    var failure = Failure(
      .badInput, code: "invalidJSON", reason, advice: "Correct the text there and run it again.")
    failure.line = line
    failure.column = column
    return failure
  }
}
