/// Sends requests to one origin: `HTTPClient` over sockets or a pipe, or the system's own client.
///
/// Thread safety: any task; requests may run at the same time.
package protocol HTTPTransport: Sendable {
  /// Sends a request and returns when the head of its final response has arrived.
  ///
  /// Redirects are not followed, and every status is a success.
  ///
  /// - Throws: `HTTPError`, or the error of the body's source.
  func send(_ request: HTTPRequest) async throws -> any HTTPResponse

  /// Ends all connections. Requests that are running fail.
  func close()
}

/// A request without the fields that frame its body, which the transport adds.
package struct HTTPRequest: Sendable {
  package var method: String
  package var target: HTTPTarget
  package var fields: HTTPFields
  package var body: HTTPBody
  /// Whether the answer may be longer than what fits in memory. A transport that cannot suspend the
  /// server then stores it in a file.
  package var expectsLongBody = false

  package init(
    _ method: String, _ target: HTTPTarget, fields: HTTPFields = HTTPFields(), body: HTTPBody = .none
  ) {
    self.method = method
    self.target = target
    self.fields = fields
    self.body = body
  }
}

/// The body of a request.
package enum HTTPBody: Sendable {
  case none
  case bytes([UInt8])
  /// Bytes that are produced while they are sent. Chunks are used if the length is not known.
  case stream(any HTTPBodySource, length: UInt64?)
}

/// The source of a streamed body. `next` is called when the previous bytes have been handed to the
/// system.
package protocol HTTPBodySource: Sendable {
  /// Returns the next bytes; nil after the last.
  func next() async throws -> [UInt8]?
}

/// A response whose body is being read.
///
/// Thread safety: one task at a time calls `next`; `close` may be called by another.
package protocol HTTPResponse: Sendable {
  var head: HTTPResponseHead { get }

  /// Returns the next bytes of the body; nil after the last.
  ///
  /// - Throws: `HTTPError`; `truncated` if the connection ends within the body.
  func next() async throws -> [UInt8]?

  /// Ends the reading. The connection ends too, unless the body has been read to its end.
  /// Idempotent.
  func close()
}

extension HTTPResponse {
  /// Reads the rest of the body.
  ///
  /// - Parameter limit: the greatest length of the body, in bytes.
  /// - Throws: `HTTPError` `tooLarge` if the body is longer, and what `next` throws.
  package func collect(limit: Int) async throws -> [UInt8] {
    var bytes: [UInt8] = []
    while let next = try await next() {
      guard next.count <= limit - bytes.count else {
        close()
        throw HTTPError(.tooLarge, "the answer is longer than \(limit) bytes")
      }
      bytes += next
    }
    return bytes
  }
}
