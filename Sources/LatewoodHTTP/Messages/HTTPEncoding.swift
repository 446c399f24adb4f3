/// Writes heads, fields and chunks. An `HTTPParser` reads them back equal.
package enum HTTPEncoding {
  /// Appends a request's line and header.
  ///
  /// - Throws: `HTTPError` `invalidRequest` if a part is not valid.
  package static func append(_ head: HTTPRequestHead, to bytes: inout [UInt8]) throws(HTTPError) {
    guard HTTPSyntax.isToken(Array(head.method.utf8)) else {
      throw HTTPError(.invalidRequest, "the method of a request is not a token")
    }
    guard !head.target.isEmpty, head.target.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
      throw HTTPError(.invalidRequest, "the target of a request is not percent-encoded")
    }
    bytes += "\(head.method) \(head.target) \(text(head.version))\r\n".utf8
    try append(head.fields, to: &bytes)
  }

  /// Appends a response's status line and header.
  ///
  /// - Throws: `HTTPError` `invalidRequest` if a part is not valid.
  package static func append(_ head: HTTPResponseHead, to bytes: inout [UInt8]) throws(HTTPError) {
    guard (100...599).contains(head.status), head.reason.utf8.allSatisfy(HTTPSyntax.isFieldValue) else {
      throw HTTPError(.invalidRequest, "the status of a response is not valid")
    }
    bytes += "\(text(head.version)) \(head.status) \(head.reason)\r\n".utf8
    try append(head.fields, to: &bytes)
  }

  /// Appends fields with the empty line after them.
  package static func append(_ fields: HTTPFields, to bytes: inout [UInt8]) throws(HTTPError) {
    for field in fields.list {
      guard HTTPSyntax.isToken(Array(field.name.utf8)), field.value.utf8.allSatisfy(HTTPSyntax.isFieldValue)
      else {
        throw HTTPError(.invalidRequest, "the header field \(field.name.debugDescription) is not valid")
      }
      bytes += field.name.utf8
      bytes += ": ".utf8
      bytes += field.value.utf8
      bytes += HTTPSyntax.lineEnd
    }
    bytes += HTTPSyntax.lineEnd
  }

  /// Appends a chunk. Appends nothing for empty data, because an empty chunk would end the body.
  package static func appendChunk(_ data: some Collection<UInt8>, to bytes: inout [UInt8]) {
    guard !data.isEmpty else { return }
    bytes += String(data.count, radix: 16).utf8
    bytes += HTTPSyntax.lineEnd
    bytes += data
    bytes += HTTPSyntax.lineEnd
  }

  /// The end of a chunked body.
  package static let lastChunk: [UInt8] = Array("0\r\n\r\n".utf8)

  private static func text(_ version: HTTPVersion) -> String { version == .http10 ? "HTTP/1.0" : "HTTP/1.1" }
}
