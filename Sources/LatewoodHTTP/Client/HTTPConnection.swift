/// One connection of an `HTTPClient`, and the response that is being read from it.
// SAFETY: only the task in charge of the exchange uses `parser`, `piece` and `offset`: first the
// task that sends, then the task that reads the response. The client hands the connection over
// under its lock.
final class HTTPConnection: @unchecked Sendable {
  private let channel: any ByteChannel
  private var parser: HTTPParser
  private var piece: [UInt8] = []
  private var offset = 0

  init(_ channel: any ByteChannel, _ limits: HTTPLimits) {
    self.channel = channel
    parser = HTTPParser(isServer: false, limits: limits)
  }

  func close() { channel.close() }

  /// The longest body that is sent together with the head. A longer body is sent while waiting for
  /// the response, because a server that refuses the request may not read all of the body.
  private static let shortBody = 64 << 10

  func send(_ request: HTTPRequest, to origin: HTTPOrigin, for client: HTTPClient) async throws
    -> any HTTPResponse
  {
    do {
      var bytes = try HTTPConnection.head(of: request, origin)
      parser.requestMethod = request.method
      let head: HTTPResponseHead
      var hasSent = true
      switch request.body {
      case .none:
        try await channel.write(bytes)
        head = try await responseHead()
      case .bytes(let body) where body.count <= HTTPConnection.shortBody:
        bytes += body
        try await channel.write(bytes)
        head = try await responseHead()
      case .bytes(let body):
        (head, hasSent) = try await exchange(bytes, WholeBody(body), isChunked: false)
      case .stream(let source, let length):
        (head, hasSent) = try await exchange(bytes, source, isChunked: length == nil)
        // A server may refuse a long body without reading all of it, and then wait for the rest of
        // it when the next request arrives. CouchDB does, after some errors.
        if head.status >= 400 { hasSent = false }
      }
      let isReusable = hasSent && HTTPFraming.keepsConnection(head.fields, head.version)
      return HTTPConnectionResponse(head, self, client, isReusable: isReusable)
    } catch {
      client.take(self, isReusable: false)
      throw error
    }
  }

  private static func head(of request: HTTPRequest, _ origin: HTTPOrigin) throws(HTTPError) -> [UInt8] {
    var head = HTTPRequestHead(request.method, request.target.text)
    head.fields.add("Host", origin.authority)
    for field in request.fields.list { head.fields.add(field.name, field.value) }
    switch request.body {
    case .none:
      // RFC 9110, section 8.6: methods that usually have a body announce its absence.
      if request.method == "POST" || request.method == "PUT" { head.fields.add("Content-Length", "0") }
    case .bytes(let body): head.fields.add("Content-Length", "\(body.count)")
    case .stream(_, let length?): head.fields.add("Content-Length", "\(length)")
    case .stream(_, nil): head.fields.add("Transfer-Encoding", "chunked")
    }
    var bytes: [UInt8] = []
    try HTTPEncoding.append(head, to: &bytes)
    return bytes
  }

  // MARK: - Sending a body while the response may arrive

  private enum Step: Sendable {
    case sent(failure: HTTPError?)
    case answered(HTTPResponseHead)
  }

  /// Sends a body and reads the head of the response. Returns whether the body was sent completely.
  private func exchange(
    _ head: [UInt8], _ source: any HTTPBodySource, isChunked: Bool
  ) async throws -> (HTTPResponseHead, Bool) {
    try await withThrowingTaskGroup(of: Step.self) { group in
      group.addTask { [channel] in
        do {
          try await HTTPConnection.write(head, source, isChunked: isChunked, to: channel)
          return .sent(failure: nil)
        } catch let error as HTTPError where error.kind == .connectionLost {
          // The server may have answered before it stopped reading.
          return .sent(failure: error)
        }
      }
      group.addTask { .answered(try await self.responseHead()) }
      defer { group.cancelAll() }
      var failure: HTTPError?
      var hasSent = false
      do {
        while let step = try await group.next() {
          switch step {
          case .sent(let error):
            failure = error
            hasSent = error == nil
          case .answered(let head): return (head, hasSent)
          }
        }
      } catch {
        // The other task waits for the peer, and ends with the connection.
        channel.close()
        throw failure ?? error
      }
      throw HTTPError(.connectionLost, "the connection was lost")
    }
  }

  private static func write(
    _ head: [UInt8], _ source: any HTTPBodySource, isChunked: Bool, to channel: any ByteChannel
  ) async throws {
    var bytes = head
    while let data = try await source.next() {
      if isChunked { HTTPEncoding.appendChunk(data, to: &bytes) } else { bytes += data }
      if bytes.count >= shortBody {
        try await channel.write(bytes)
        bytes.removeAll(keepingCapacity: true)
      }
    }
    if isChunked { bytes += HTTPEncoding.lastChunk }
    if !bytes.isEmpty { try await channel.write(bytes) }
  }

  // MARK: - Reading

  private func responseHead() async throws -> HTTPResponseHead {
    while true {
      switch try await event() {
      case .response(let head) where head.isInterim: continue
      case .response(let head): return head
      default: throw HTTPError(.malformed, "the server sent more than a response")
      }
    }
  }

  /// Returns the next bytes of the body; nil at its end.
  func data() async throws -> [UInt8]? {
    switch try await event() {
    case .data(let range): return range == 0..<piece.count ? piece : Array(piece[range])
    case .end: return nil
    default: throw HTTPError(.malformed, "the server sent more than a response")
    }
  }

  /// Whether nothing follows the response that has been read.
  var isBetweenMessages: Bool { parser.isBetweenMessages && offset == piece.count }

  private func event() async throws -> HTTPParser.Event {
    while true {
      if let event = try parser.next(piece, &offset) { return event }
      let isFresh = parser.isBetweenMessages
      if let next = try await channel.read() {
        piece = next
        offset = 0
      } else {
        if isFresh { throw HTTPError(.connectionLost, "the server closed the connection") }
        guard let event = try parser.close() else {
          throw HTTPError(.connectionLost, "the server closed the connection")
        }
        return event
      }
    }
  }
}

/// A body in memory, in pieces.
private actor WholeBody: HTTPBodySource {
  private let bytes: [UInt8]
  private var offset = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  func next() -> [UInt8]? {
    guard offset < bytes.count else { return nil }
    let end = min(offset + 256 << 10, bytes.count)
    defer { offset = end }
    return Array(bytes[offset..<end])
  }
}
