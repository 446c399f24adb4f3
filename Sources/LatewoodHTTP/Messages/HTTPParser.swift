/// Reads the messages of one side of a connection from pieces of any size: the requests that reach
/// a server, or the responses that reach a client.
///
///     head ──> data ... ──> end ──> head of the next message
///
/// 1. The sequence of heads, ends and errors, and the bytes of bodies, depend on the bytes alone
///    and not on where a piece ends.
/// 2. After an error the connection is unusable: every later call throws the same error.
/// 3. It stores one line or header at a time, within `HTTPLimits`; bodies are ranges of the piece.
///
/// Not thread-safe. Messages follow the grammar of RFC 9112. Where the RFC lets a recipient be
/// lenient about the ends of messages or lines, this parser is strict.
package struct HTTPParser {
  package enum Event: Equatable {
    case request(HTTPRequestHead)
    /// A response; interim ones have neither data nor an end.
    case response(HTTPResponseHead)
    /// A part of the body: a range of the piece.
    case data(Range<Int>)
    case end
  }

  private enum State {
    case startLine
    case fields
    case body(HTTPBodyReader)
    case failed(HTTPError)
  }

  private enum Head {
    case request(HTTPRequestHead)
    case response(HTTPResponseHead)
  }

  private let isServer: Bool
  private let limits: HTTPLimits
  private var state = State.startLine
  private var lines = HTTPLines()
  private var fields = HTTPFieldLines()
  private var head = Head.response(HTTPResponseHead(0))
  private var interimCount = 0
  private var emptyLines = 0

  /// The method of the request to which the next final response belongs. A client sets it before
  /// each request: the response to HEAD has no body.
  package var requestMethod = "GET"

  /// - Parameter isServer: whether requests are read, instead of responses.
  package init(isServer: Bool, limits: HTTPLimits = HTTPLimits()) {
    self.isServer = isServer
    self.limits = limits
  }

  /// Whether no byte of the next message has been read.
  package var isBetweenMessages: Bool {
    if case .startLine = state { return lines.isEmpty && interimCount == 0 }
    return false
  }

  /// Returns the next event of a piece; nil if the piece has been read to its end.
  ///
  /// - Parameters:
  ///   - piece: bytes of the connection. A new piece follows the previous one, which must have been
  ///     read to its end.
  ///   - offset: the first byte that has not been read; it is advanced.
  /// - Throws: `HTTPError` `malformed`, `tooLarge` or `unsupported`.
  package mutating func next(_ piece: borrowing [UInt8], _ offset: inout Int) throws(HTTPError) -> Event? {
    do throws(HTTPError) {
      return try read(piece, &offset)
    } catch {
      state = .failed(error)
      throw error
    }
  }

  /// Records the end of the connection. Returns `end` if it ends a body.
  ///
  /// - Throws: `HTTPError` `truncated` if the connection ended within a message.
  package mutating func close() throws(HTTPError) -> Event? {
    switch state {
    case .failed(let error): throw error
    case .body(let body) where body.mayEnd:
      state = .startLine
      return .end
    case .startLine where isBetweenMessages: return nil
    default: throw HTTPError(.truncated, "the connection ended within a message")
    }
  }

  private mutating func read(_ piece: borrowing [UInt8], _ offset: inout Int) throws(HTTPError) -> Event? {
    while true {
      switch state {
      case .failed(let error): throw error
      case .startLine:
        guard try lines.read(piece, &offset, limit: limits.startLine, "the first line of a message") else {
          return nil
        }
        if lines.line.isEmpty, isServer, emptyLines == 0 {
          // RFC 9112, section 2.2: some clients end a request with an additional empty line.
          emptyLines = 1
          continue
        }
        emptyLines = 0
        head = isServer ? .request(try requestLine()) : .response(try statusLine())
        lines.removeAll()
        state = .fields
      case .fields:
        guard let fields = try fields.read(piece, &offset, limits) else { return nil }
        return try begin(fields)
      case .body(var body):
        guard let found = try body.next(piece, &offset) else {
          state = .body(body)
          return nil
        }
        switch found {
        case .data(let range):
          state = .body(body)
          return .data(range)
        case .end:
          state = .startLine
          return .end
        }
      }
    }
  }

  private mutating func begin(_ fields: HTTPFields) throws(HTTPError) -> Event {
    switch head {
    case .request(var request):
      request.fields = fields
      let hosts = fields.values("Host").count
      guard hosts == 1 || hosts == 0 && request.version == .http10 else {
        throw HTTPError(.malformed, "a request does not have exactly one Host field")
      }
      state = .body(HTTPBodyReader(try .of(request), limits))
      return .request(request)
    case .response(var response):
      response.fields = fields
      let framing = try HTTPFraming.of(response, to: requestMethod)
      if response.isInterim {
        guard response.status != 101 else {
          throw HTTPError(.unsupported, "the server switched to another protocol without being asked")
        }
        interimCount += 1
        guard interimCount <= limits.interimResponses else {
          throw HTTPError(.tooLarge, "the server sent more than \(limits.interimResponses) interim responses")
        }
        state = .startLine
      } else {
        interimCount = 0
        state = .body(HTTPBodyReader(framing, limits))
      }
      return .response(response)
    }
  }

  private func requestLine() throws(HTTPError) -> HTTPRequestHead {
    let parts = lines.line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
    guard parts.count == 3, HTTPSyntax.isToken(parts[0]), !parts[1].isEmpty,
      parts[1].allSatisfy({ $0 > 0x20 && $0 < 0x7F })
    else { throw HTTPError(.malformed, "a request line is not a method, a target and a version") }
    let version = try version(parts[2])
    return HTTPRequestHead(
      String(decoding: parts[0], as: UTF8.self), String(decoding: parts[1], as: UTF8.self), version: version)
  }

  private func statusLine() throws(HTTPError) -> HTTPResponseHead {
    let parts = lines.line.split(separator: UInt8(ascii: " "), maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count >= 2, parts[1].count == 3, let status = HTTPSyntax.number(parts[1]),
      (100...599).contains(status)
    else { throw HTTPError(.malformed, "the answer does not begin with a status line of HTTP") }
    let version = try version(parts[0])
    let reason = parts.count > 2 ? parts[2] : []
    guard reason.allSatisfy(HTTPSyntax.isFieldValue) else {
      throw HTTPError(.malformed, "a status line has a control character")
    }
    return HTTPResponseHead(Int(status), reason: String(decoding: reason, as: UTF8.self), version: version)
  }

  private func version(_ text: ArraySlice<UInt8>) throws(HTTPError) -> HTTPVersion {
    let bytes = Array(text)
    guard bytes.count == 8, bytes.starts(with: "HTTP/".utf8), bytes[6] == UInt8(ascii: "."),
      HTTPSyntax.isDigit(bytes[5]), HTTPSyntax.isDigit(bytes[7])
    else { throw HTTPError(.malformed, "a message does not name its version of HTTP") }
    guard bytes[5] == UInt8(ascii: "1") else {
      throw HTTPError(.unsupported, "a message is not of HTTP/1.0 or HTTP/1.1")
    }
    return bytes[7] == UInt8(ascii: "0") ? .http10 : .http11
  }
}
