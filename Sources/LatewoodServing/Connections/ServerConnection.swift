import LatewoodHTTP

/// Serves one connection: reads requests, has them answered one after the other, and writes the
/// responses.
///
///     head -> gate -> body -> answer -> response -> head of the next request ...
///
/// 1. Requests are answered in their order. The next one is read after the response to the previous
///    one was written, so a client that does not read its responses makes nobody else wait.
/// 2. A message that violates HTTP is answered with an error, and ends the connection, because
///    nobody knows where the next message begins.
/// 3. A request that the gate refuses costs no memory for its body.
/// 4. The memory for a request is limited by `HTTPLimits` and `Limits.body`, and its time by
///    `Limits.headTime` and the length of its body.
///
/// Sockets are not necessary: any `ByteChannel` can be served.
package struct ServerConnection: Sendable {
  package struct Limits: Sendable {
    package var head = HTTPLimits()
    /// The greatest length of a body, in bytes.
    package var body = 64 << 20
    /// The memory that the bodies of all connections may take together.
    package var bodies = BodyBudget(512 << 20)
    /// The greatest time from the first byte of a request to its last one; each KiB of the body
    /// adds a second. A client that sends a byte now and then could otherwise keep its connection
    /// for ever.
    package var headTime = Duration.seconds(30)
    /// Returns the time.
    package var now: @Sendable () -> ContinuousClock.Instant = { .now }

    package init() {}
  }

  /// A request that has been answered.
  package struct Served: Sendable, Equatable {
    package var method: String
    package var target: String
    package var status: Int
    /// The length of the body of the response, in bytes.
    package var length: UInt64
    /// The name of the user; nil if nobody was recognized.
    package var user: String?
    /// The address of the client; behind a proxy, the one that the proxy names.
    package var address = ""
  }

  package typealias Answer = @Sendable (APIRequest) async -> APIResponse

  private let channel: any ByteChannel
  private let peer: String
  private let limits: Limits
  private let gate: RequestGate
  private let answer: Answer
  private let onServed: @Sendable (Served) -> Void

  /// - Parameters:
  ///   - peer: the address of the client.
  ///   - answer: answers a request. It must not block the threads of Swift's tasks.
  ///   - onServed: called after each response was written.
  package init(
    _ channel: any ByteChannel, from peer: String = "", limits: Limits = Limits(),
    gate: RequestGate = RequestGate(), onServed: @escaping @Sendable (Served) -> Void = { _ in },
    answer: @escaping Answer
  ) {
    self.channel = channel
    self.peer = peer
    self.limits = limits
    self.gate = gate
    self.onServed = onServed
    self.answer = answer
  }

  /// Serves the connection until one side ends it, and closes it.
  package func run() async {
    var reader = RequestReader(limits)
    defer {
      reader.release()
      channel.close()
    }
    var pace = RequestPace(limits)
    var admission = RequestGate.Admission()
    do {
      while true {
        switch reader.next() {
        case .needsBytes:
          if pace.isTooSlow(reader) {
            return try await refuse(APIResponse(RequestPace.tooSlow), to: nil, admission)
          }
          guard let piece = try await channel.read() else { return }
          reader.append(piece)
        case .head(let head, let waits):
          admission = await gate.admit(head, from: peer)
          if let refusal = admission.answer, waits || !reader.skipBody() {
            return try await refuse(refusal, to: head, admission)
          }
          if waits { try await channel.write(ServerConnection.goOn) }
        case .request(let head, let body):
          pace = RequestPace(limits)
          guard try await serve(head, body, admission, &reader) else { return }
          admission = RequestGate.Admission()
          reader.release()
        case .refused(let error, let head):
          return try await refuse(APIResponse(error), to: head, admission)
        }
      }
    } catch {
      // The connection is lost, or silent for too long. There is nobody to tell.
    }
  }

  private static let goOn = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

  /// Answers a whole request. Returns whether the connection is kept.
  private func serve(
    _ head: HTTPRequestHead, _ body: [UInt8], _ admission: RequestGate.Admission,
    _ reader: inout RequestReader
  ) async throws -> Bool {
    var request = APIRequest(head.method, head.target, fields: head.fields, body: body, user: admission.user)
    request.address = admission.address
    request.isSecure = admission.isSecure
    let response: APIResponse
    if let refusal = admission.answer {
      response = head.method == "HEAD" ? refusal.withoutBody() : refusal
    } else {
      response = await answer(request)
    }
    let completed = gate.complete(response, to: head, admission)
    let isKept = HTTPFraming.keepsConnection(head.fields, head.version)
    guard let feed = completed.feed else {
      try await write(completed, to: head, admission, isKept: isKept)
      return isKept
    }
    // A client of HTTP/1.0 does not know chunks: there, the end of the connection is the end of the
    // body.
    let isChunked = head.version == .http11
    let rest = try await write(
      feed, completed, to: head, admission, isChunked: isChunked, isKept: isKept && isChunked)
    if let rest { reader.append(rest) }
    return rest != nil && isKept && isChunked
  }

  // MARK: - Refusals

  /// The number of bytes of a refused body that are read, so that the client, which may still be
  /// sending, gets the response instead of a reset; and the time that it has for them.
  private static let discarded = (count: 4 << 20, time: Duration.seconds(2))

  /// Writes a response after which nothing more is read from the connection.
  private func refuse(
    _ refusal: APIResponse, to head: HTTPRequestHead?, _ admission: RequestGate.Admission
  ) async throws {
    var response = refusal
    if let head { response = gate.complete(refusal, to: head, admission) }
    if head?.method == "HEAD" { response = response.withoutBody() }
    try await write(response, to: head, admission, isKept: false)
    let end = limits.now() + ServerConnection.discarded.time
    var count = 0
    while count < ServerConnection.discarded.count, limits.now() < end, let piece = try await channel.read() {
      count += piece.count
    }
  }

  // MARK: - Feeds

  private enum FeedEvent {
    /// The feed has ended.
    case ended(length: UInt64, isWhole: Bool)
    /// The client has sent the beginning of its next request.
    case sent([UInt8])
    /// The client is gone.
    case gone
  }

  /// Writes a response whose body comes in pieces, as they come.
  ///
  /// The connection is read meanwhile: a feed that nobody reads any more would otherwise wait for
  /// its next change or heartbeat.
  ///
  /// - Returns: the bytes that the client has sent in the meantime; nil if the connection is lost.
  private func write(
    _ feed: ChangesFeed, _ response: APIResponse, to head: HTTPRequestHead,
    _ admission: RequestGate.Admission, isChunked: Bool, isKept: Bool
  ) async throws -> [UInt8]? {
    try await channel.write(
      ServerConnection.encoded(response, isChunked ? .chunked : .untilClose, head, isKept: isKept))
    return await withTaskGroup(of: FeedEvent.self) { group in
      group.addTask { await pass(feed, isChunked: isChunked) }
      group.addTask { await watch() }
      var rest: [UInt8]? = []
      for await event in group {
        switch event {
        case .ended(let length, let isWhole):
          report(head, response.status, length, admission)
          if !isWhole { rest = nil }
          group.cancelAll()
        case .sent(let piece): if rest != nil { rest = piece }
        case .gone: group.cancelAll()
        }
      }
      return rest
    }
  }

  /// Writes the pieces of a feed.
  private func pass(_ feed: ChangesFeed, isChunked: Bool) async -> FeedEvent {
    var length: UInt64 = 0
    do {
      while let piece = try await feed.next() {
        length += UInt64(piece.count)
        var bytes: [UInt8] = []
        if isChunked { HTTPEncoding.appendChunk(piece, to: &bytes) } else { bytes = piece }
        try await channel.write(bytes)
      }
      if isChunked { try await channel.write(HTTPEncoding.lastChunk) }
      return .ended(length: length, isWhole: true)
    } catch { return .ended(length: length, isWhole: false) }
  }

  /// Waits until the client sends something or is gone. A silent client may only be listening.
  private func watch() async -> FeedEvent {
    while !Task.isCancelled {
      do {
        return try await channel.read().map { .sent($0) } ?? .gone
      } catch {
        guard let error = error as? HTTPError, error.kind == .timedOut else { return .gone }
      }
    }
    return .gone
  }

  // MARK: - Responses

  private func write(
    _ response: APIResponse, to head: HTTPRequestHead?, _ admission: RequestGate.Admission, isKept: Bool
  ) async throws {
    let length = response.length ?? UInt64(response.body.count)
    try await channel.write(ServerConnection.encoded(response, .length(length), head, isKept: isKept))
    report(head, response.status, length, admission)
  }

  private func report(
    _ head: HTTPRequestHead?, _ status: Int, _ length: UInt64, _ admission: RequestGate.Admission
  ) {
    onServed(
      Served(
        method: head?.method ?? "-", target: head?.target ?? "-", status: status, length: length,
        user: admission.user?.name, address: admission.client))
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
    case .length(let length):
      if response.status != 304, response.status != 204 { fields.add("Content-Length", "\(length)") }
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
    case 204: "No Content"
    case 206: "Partial Content"
    case 301: "Moved Permanently"
    case 304: "Not Modified"
    case 400: "Bad Request"
    case 401: "Unauthorized"
    case 403: "Forbidden"
    case 404: "Not Found"
    case 405: "Method Not Allowed"
    case 408: "Request Timeout"
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

/// Measures whether a request arrives too slowly.
private struct RequestPace {
  static let tooSlow = APIError(408, "timeout", "The request did not arrive in time")

  private let limits: ServerConnection.Limits
  /// The time since which the rest of a request is awaited.
  private var start: ContinuousClock.Instant?

  init(_ limits: ServerConnection.Limits) { self.limits = limits }

  /// Called when the reader needs more bytes.
  mutating func isTooSlow(_ reader: RequestReader) -> Bool {
    guard reader.isWithinRequest else {
      start = nil
      return false
    }
    let now = limits.now()
    guard let start else {
      self.start = now
      return false
    }
    return now - start > limits.headTime + .milliseconds(reader.bodyCount)
  }
}
