import LatewoodHTTP

/// Serves one connection: reads requests, has them answered one after the other, and writes the
/// responses.
///
///     head -> checks -> body -> answer -> response -> head of the next request ...
///
/// 1. Requests are answered in their order. The next one is read after the response to the previous
///    one was written, so a client that does not read its responses makes nobody else wait.
/// 2. A message that violates HTTP is answered with an error, and ends the connection, because
///    nobody knows where the next message begins.
/// 3. The memory for a request is limited by `HTTPLimits` and `Limits.body`.
///
/// Sockets are not necessary: any `ByteChannel` can be served.
package struct ServerConnection: Sendable {
  package struct Limits: Sendable {
    package var head = HTTPLimits()
    /// The greatest length of a body, in bytes.
    package var body = 64 << 20

    package init() {}
  }

  /// A request that has been answered.
  package struct Served: Sendable, Equatable {
    package var method: String
    package var target: String
    package var status: Int
    /// The length of the body of the response, in bytes.
    package var length: UInt64
  }

  package typealias Answer = @Sendable (APIRequest) async -> APIResponse

  private let channel: any ByteChannel
  private let limits: Limits
  private let origins: AllowedOrigins
  private let answer: Answer
  private let onServed: @Sendable (Served) -> Void

  /// - Parameters:
  ///   - answer: answers a request. It must not block the threads of Swift's tasks.
  ///   - onServed: called after each response was written.
  package init(
    _ channel: any ByteChannel, limits: Limits = Limits(), origins: AllowedOrigins = .loopback,
    onServed: @escaping @Sendable (Served) -> Void = { _ in }, answer: @escaping Answer
  ) {
    self.channel = channel
    self.limits = limits
    self.origins = origins
    self.onServed = onServed
    self.answer = answer
  }

  /// Serves the connection until one side ends it, and closes it.
  package func run() async {
    defer { channel.close() }
    var reader = RequestReader(limits)
    do {
      while true {
        switch reader.next() {
        case .needsBytes:
          guard let piece = try await channel.read() else { return }
          reader.append(piece)
        case .asksToContinue:
          try await channel.write(ServerConnection.goOn)
        case .request(let head, let body):
          let request = APIRequest(head.method, head.target, fields: head.fields, body: body)
          let response =
            if let refusal = origins.objection(to: head.fields) {
              head.method == "HEAD" ? APIResponse(refusal).withoutBody() : APIResponse(refusal)
            } else {
              await answer(request)
            }
          let isKept = HTTPFraming.keepsConnection(head.fields, head.version)
          if let feed = response.feed {
            // A client of HTTP/1.0 does not know chunks: there, the end of the connection is the
            // end of the body.
            let isChunked = head.version == .http11
            try await write(feed, response, to: head, isChunked: isChunked, isKept: isKept && isChunked)
            if !isChunked { return }
          } else {
            try await write(response, to: head, isKept: isKept)
          }
          if !isKept { return }
        case .refused(let error, let head):
          try await write(APIResponse(error), to: head, isKept: false)
          try await discard()
          return
        }
      }
    } catch {
      // The connection is lost, or silent for too long. There is nobody to tell.
    }
  }

  private static let goOn = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

  /// The number of bytes of a refused body that are read, so that the client, which may still be
  /// sending, gets the response instead of a reset.
  private static let discarded = 4 << 20

  private func discard() async throws {
    var count = 0
    while count < ServerConnection.discarded, let piece = try await channel.read() { count += piece.count }
  }

  /// Writes a response whose body comes in pieces, as they come.
  private func write(
    _ feed: ChangesFeed, _ response: APIResponse, to head: HTTPRequestHead, isChunked: Bool, isKept: Bool
  ) async throws {
    try await channel.write(
      ServerConnection.encoded(response, isChunked ? .chunked : .untilClose, head, isKept: isKept))
    var length: UInt64 = 0
    while let piece = try await feed.next() {
      length += UInt64(piece.count)
      var bytes: [UInt8] = []
      if isChunked { HTTPEncoding.appendChunk(piece, to: &bytes) } else { bytes = piece }
      try await channel.write(bytes)
    }
    if isChunked { try await channel.write(HTTPEncoding.lastChunk) }
    onServed(Served(method: head.method, target: head.target, status: response.status, length: length))
  }

  private func write(_ response: APIResponse, to head: HTTPRequestHead?, isKept: Bool) async throws {
    let length = response.length ?? UInt64(response.body.count)
    try await channel.write(ServerConnection.encoded(response, .length(length), head, isKept: isKept))
    onServed(
      Served(
        method: head?.method ?? "-", target: head?.target ?? "-", status: response.status, length: length))
  }

  @inline(never) private static func encoded(
    _ response: APIResponse, _ framing: HTTPFraming, _ head: HTTPRequestHead?, isKept: Bool
  ) -> [UInt8] {
    var fields = response.fields
    fields.add("Server", "Latewood")
    if fields["Cache-Control"] == nil { fields.add("Cache-Control", "must-revalidate") }
    // A browser that shows a document or an attachment must not guess that it is a page.
    fields.add("X-Content-Type-Options", "nosniff")
    switch framing {
    case .length(let length): if response.status != 304 { fields.add("Content-Length", "\(length)") }
    case .chunked: fields.add("Transfer-Encoding", "chunked")
    case .untilClose: break
    }
    if !isKept {
      fields.add("Connection", "close")
    } else if head?.version == .http10 {
      fields.add("Connection", "keep-alive")
    }
    var bytes: [UInt8] = []
    do throws(HTTPError) {
      try HTTPEncoding.append(
        HTTPResponseHead(response.status, reason: reason(of: response.status), fields: fields), to: &bytes)
    } catch {
      // A stored content type that no field can have.
      bytes = Array("HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n".utf8)
      return bytes
    }
    return bytes + response.body
  }

  private static func reason(of status: Int) -> String {
    switch status {
    case 200: "OK"
    case 201: "Created"
    case 202: "Accepted"
    case 206: "Partial Content"
    case 301: "Moved Permanently"
    case 304: "Not Modified"
    case 400: "Bad Request"
    case 403: "Forbidden"
    case 404: "Not Found"
    case 405: "Method Not Allowed"
    case 409: "Conflict"
    case 412: "Precondition Failed"
    case 413: "Content Too Large"
    case 415: "Unsupported Media Type"
    case 416: "Range Not Satisfiable"
    case 431: "Request Header Fields Too Large"
    case 500: "Internal Server Error"
    case 501: "Not Implemented"
    case 503: "Service Unavailable"
    default: ""
    }
  }
}
