/// A version of HTTP/1. A message of an unknown 1.x is treated like one of 1.1.
package enum HTTPVersion: Sendable, Equatable {
  case http10, http11
}

/// The request line and the header fields of a request.
package struct HTTPRequestHead: Sendable, Equatable {
  package var method: String
  /// The target in origin form: a path with its query, percent-encoded.
  package var target: String
  package var version: HTTPVersion
  package var fields: HTTPFields

  package init(
    _ method: String, _ target: String, version: HTTPVersion = .http11, fields: HTTPFields = HTTPFields()
  ) {
    self.method = method
    self.target = target
    self.version = version
    self.fields = fields
  }
}

/// The status line and the header fields of a response.
package struct HTTPResponseHead: Sendable, Equatable {
  /// 100 to 599.
  package var status: Int
  package var reason: String
  package var version: HTTPVersion
  package var fields: HTTPFields

  package init(
    _ status: Int, reason: String = "", version: HTTPVersion = .http11, fields: HTTPFields = HTTPFields()
  ) {
    self.status = status
    self.reason = reason
    self.version = version
    self.fields = fields
  }

  package var isInterim: Bool { status < 200 }
}

/// How the end of a message's body is found: RFC 9112, section 6.
package enum HTTPFraming: Sendable, Equatable {
  /// A number of bytes; zero for a message without a body.
  case length(UInt64)
  case chunked
  /// All bytes until the connection ends. Only responses can have such a body.
  case untilClose

  static func of(_ head: HTTPRequestHead) throws(HTTPError) -> HTTPFraming {
    try declared(head.fields, head.version) ?? .length(0)
  }

  static func of(_ head: HTTPResponseHead, to method: String) throws(HTTPError) -> HTTPFraming {
    let declared = try declared(head.fields, head.version)
    if method == "HEAD" || head.isInterim || head.status == 204 || head.status == 304 { return .length(0) }
    return declared ?? .untilClose
  }

  /// Returns the framing that the fields declare; nil if none. Request smuggling exploits messages
  /// that declare their end in two ways, so these are refused even if the declarations agree.
  private static func declared(
    _ fields: HTTPFields, _ version: HTTPVersion
  ) throws(HTTPError) -> HTTPFraming? {
    let lengths = fields.values("Content-Length")
    let codings = fields.values("Transfer-Encoding")
    guard lengths.count <= 1 else { throw HTTPError(.malformed, "a message has two lengths") }
    guard codings.isEmpty || lengths.isEmpty else {
      throw HTTPError(.malformed, "a message has a length and a transfer coding")
    }
    if let text = lengths.first {
      guard let length = HTTPSyntax.number(Array(text.utf8)), length <= UInt64(Int64.max) else {
        throw HTTPError(.malformed, "the length of a message is not a number")
      }
      return .length(length)
    }
    guard let coding = codings.first else { return nil }
    guard version == .http11 else {
      throw HTTPError(.malformed, "a message of HTTP/1.0 has a transfer coding")
    }
    guard codings.count == 1, HTTPSyntax.equalsIgnoringCase(coding, "chunked") else {
      throw HTTPError(.unsupported, "a message has a transfer coding other than chunked")
    }
    return .chunked
  }

  /// Whether the connection can be used again after a message with these fields.
  package static func keepsConnection(_ fields: HTTPFields, _ version: HTTPVersion) -> Bool {
    let options = fields.tokens("Connection")
    if options.contains("close") { return false }
    return version == .http11 || options.contains("keep-alive")
  }
}
