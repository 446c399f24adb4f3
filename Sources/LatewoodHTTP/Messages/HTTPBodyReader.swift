/// Finds the bytes of a body in pieces of any size.
struct HTTPBodyReader {
  private enum State: Equatable {
    /// Bytes of a body with a length, or of a chunk.
    case data(left: UInt64)
    case untilClose
    case chunkLine, chunkEnd, trailer
    case ended
  }

  private var state: State
  private let isChunked: Bool
  private var lines = HTTPLines()
  private var trailer = HTTPFieldLines()
  private let limits: HTTPLimits

  enum Found {
    /// Bytes of the body: a range of the piece.
    case data(Range<Int>)
    case end
  }

  init(_ framing: HTTPFraming, _ limits: HTTPLimits) {
    self.limits = limits
    isChunked = framing == .chunked
    state =
      switch framing {
      case .length(let length): length == 0 ? .ended : .data(left: length)
      case .chunked: .chunkLine
      case .untilClose: .untilClose
      }
  }

  /// Whether the end of the connection is the end of the body.
  var mayEnd: Bool { state == .untilClose }

  /// Returns the next bytes of the body, or its end; nil if the piece ends first.
  mutating func next(_ piece: borrowing [UInt8], _ offset: inout Int) throws(HTTPError) -> Found? {
    while true {
      switch state {
      case .ended: return .end
      case .untilClose:
        guard offset < piece.count else { return nil }
        let range = offset..<piece.count
        offset = piece.count
        return .data(range)
      case .data(let left):
        guard offset < piece.count else { return nil }
        let count = Int(min(left, UInt64(piece.count - offset)))
        let range = offset..<(offset + count)
        offset += count
        let rest = left - UInt64(count)
        state = rest > 0 ? .data(left: rest) : isChunked ? .chunkEnd : .ended
        return .data(range)
      case .chunkLine:
        guard try lines.read(piece, &offset, limit: limits.chunkLine, "the line before a chunk") else {
          return nil
        }
        let size = try HTTPBodyReader.chunkSize(lines.line)
        lines.removeAll()
        state = size > 0 ? .data(left: size) : .trailer
      case .chunkEnd:
        guard try lines.read(piece, &offset, limit: 0, "the end of a chunk") else { return nil }
        state = .chunkLine
      case .trailer:
        // Trailer fields may be discarded: RFC 9110, section 6.5.1.
        guard try trailer.read(piece, &offset, limits) != nil else { return nil }
        state = .ended
      }
    }
  }

  private static func chunkSize(_ line: [UInt8]) throws(HTTPError) -> UInt64 {
    var size: UInt64 = 0
    var at = 0
    while at < line.count, let digit = HTTPSyntax.hexDigit(line[at]) {
      guard size < 1 << 58 else { throw HTTPError(.tooLarge, "a chunk is too long") }
      size = size << 4 | UInt64(digit)
      at += 1
    }
    guard at > 0 else { throw HTTPError(.malformed, "a chunk has no length") }
    // An extension, with the white space before it that RFC 9112, section 7.1.1 tolerates.
    let rest = HTTPSyntax.trimmed(line[at...])
    guard rest.isEmpty || rest.first == UInt8(ascii: ";"), rest.allSatisfy(HTTPSyntax.isFieldValue) else {
      throw HTTPError(.malformed, "the length of a chunk is not a hexadecimal number")
    }
    return size
  }
}
