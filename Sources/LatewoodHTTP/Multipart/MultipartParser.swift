import LatewoodBytes

/// Reads the parts of a multipart body from pieces of any size: RFC 2046, section 5.1.
///
///     preamble ──> part(fields) ──> data ... ──> part(fields) ──> data ... ──> end
///
/// A part ends at the CR LF before the next delimiter. A line that only begins like a delimiter is
/// data. Such lines occur in a nested multipart whose boundary is longer.
///
/// It stores the current piece, the header of a part, and the beginning of a possible delimiter.
/// Not thread-safe.
package struct MultipartParser {
  package enum Event: Equatable {
    /// The header of the next part. The previous part has ended.
    case part(HTTPFields)
    case data([UInt8])
    /// The last part has ended. The bytes after it are ignored.
    case end
  }

  private enum State {
    case preamble, delimiter, header, data, ended
    case failed(HTTPError)
  }

  /// CR LF, two hyphens and the boundary.
  private let delimiter: [UInt8]
  private let limits: HTTPLimits
  private var state = State.preamble
  private var fields = HTTPFieldLines()
  private var skipped = 0
  /// Bytes that have not been read. A line end is inserted before the body, so that the first
  /// delimiter is found like all others.
  private var bytes: [UInt8] = HTTPSyntax.lineEnd
  private var offset = 0

  /// - Throws: `HTTPError` `malformed` if a boundary is not valid: 1 to 70 visible characters or
  ///   spaces.
  package init(boundary: String, limits: HTTPLimits = HTTPLimits()) throws(HTTPError) {
    guard (1...70).contains(boundary.utf8.count), boundary.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) else {
      throw HTTPError(.malformed, "the boundary of a multipart body is not valid")
    }
    delimiter = Array("\r\n--\(boundary)".utf8)
    self.limits = limits
  }

  /// Adds the next piece of the body.
  package mutating func append(_ piece: some Collection<UInt8>) {
    bytes.removeFirst(offset)
    offset = 0
    bytes += piece
  }

  /// Whether the closing delimiter has been read.
  package var hasEnded: Bool {
    if case .ended = state { return true }
    return false
  }

  /// Returns the next event; nil if another piece is needed, and always after the end.
  ///
  /// - Throws: `HTTPError` `malformed` or `tooLarge`; later calls throw the same error.
  package mutating func next() throws(HTTPError) -> Event? {
    do throws(HTTPError) {
      return try read()
    } catch {
      state = .failed(error)
      throw error
    }
  }

  private mutating func read() throws(HTTPError) -> Event? {
    while true {
      switch state {
      case .failed(let error): throw error
      case .ended:
        offset = bytes.count
        return nil
      case .preamble:
        let start = offset
        let found = find()
        skipped += offset - start
        guard skipped <= limits.preamble else {
          throw HTTPError(.tooLarge, "a multipart body does not begin with its boundary")
        }
        guard found else { return nil }
        state = .delimiter
      case .data:
        let start = offset
        let found = find()
        let data = bytes[start..<offset]
        if found { state = .delimiter }
        if !data.isEmpty { return .data(Array(data)) }
        if !found { return nil }
      case .delimiter:
        // `find` has checked that the line of the delimiter is complete.
        offset += delimiter.count
        if bytes[offset] == UInt8(ascii: "-") {
          state = .ended
          return .end
        }
        while bytes[offset] != HTTPSyntax.carriageReturn { offset += 1 }
        offset += 2
        state = .header
      case .header:
        guard let fields = try fields.read(bytes, &offset, limits) else { return nil }
        state = .data
        return .part(fields)
      }
    }
  }

  /// The greatest length of white space after a delimiter.
  private static let paddingLimit = 256

  /// Advances to the next delimiter whose line is complete. If there is none, advances to the first
  /// byte that may belong to one, and returns false.
  private mutating func find() -> Bool {
    bytes.withContents { bytes in
      guard let start = bytes.baseAddress else { return false }
      while offset < bytes.count {
        // SAFETY: offsets stay below the number of bytes.
        offset = start.firstOffset(of: HTTPSyntax.carriageReturn, from: offset, before: bytes.count)
        switch MultipartParser.match(bytes, offset, delimiter) {
        case .delimiter: return true
        case .incomplete: return false
        case .data: offset += 1
        }
      }
      offset = bytes.count
      return false
    }
  }

  private enum Match { case delimiter, incomplete, data }

  private static func match(_ bytes: UnsafeRawBufferPointer, _ offset: Int, _ delimiter: [UInt8]) -> Match {
    var at = offset
    for byte in delimiter {
      guard at < bytes.count else { return .incomplete }
      guard bytes[at] == byte else { return .data }
      at += 1
    }
    guard at < bytes.count else { return .incomplete }
    if bytes[at] == UInt8(ascii: "-") {
      guard at + 1 < bytes.count else { return .incomplete }
      return bytes[at + 1] == UInt8(ascii: "-") ? .delimiter : .data
    }
    let padding = at
    while at < bytes.count, HTTPSyntax.isSpace(bytes[at]) {
      at += 1
      if at - padding > paddingLimit { return .data }
    }
    guard at < bytes.count else { return .incomplete }
    guard bytes[at] == HTTPSyntax.carriageReturn else { return .data }
    guard at + 1 < bytes.count else { return .incomplete }
    return bytes[at + 1] == HTTPSyntax.lineFeed ? .delimiter : .data
  }
}
