import LatewoodHTTP

/// Collects the requests of one connection from pieces of any size.
struct RequestReader {
  enum Next {
    /// The piece has been read to its end.
    case needsBytes
    /// The client waits for permission to send the body of the request that it has begun.
    case asksToContinue
    case request(HTTPRequestHead, body: [UInt8])
    /// The message cannot be read on.
    case refused(APIError, HTTPRequestHead?)
  }

  private var parser: HTTPParser
  private let bodyLimit: Int
  private var piece: [UInt8] = []
  private var offset = 0
  private var head: HTTPRequestHead?
  private var body: [UInt8] = []

  init(_ limits: ServerConnection.Limits) {
    parser = HTTPParser(isServer: true, limits: limits.head)
    bodyLimit = limits.body
  }

  /// Adds the next piece; the previous one must have been read to its end.
  mutating func append(_ next: [UInt8]) {
    piece = next
    offset = 0
  }

  // Not inlined, because Swift 6.3 cannot optimize an async function with typed errors in it.
  @inline(never) mutating func next() -> Next {
    do throws(HTTPError) { return try read() } catch {
      let status =
        switch error.kind {
        case .tooLarge: 431
        case .unsupported: 501
        default: 400
        }
      let name =
        switch status {
        case 431: "header_too_large"
        case 501: "not_implemented"
        default: "bad_request"
        }
      return .refused(APIError(status, name, error.reason), head)
    }
  }

  private mutating func read() throws(HTTPError) -> Next {
    while let event = try parser.next(piece, &offset) {
      switch event {
      case .request(let request):
        head = request
        body = []
        if let length = request.fields["Content-Length"].flatMap({ UInt64($0) }), length > UInt64(bodyLimit) {
          return tooLarge
        }
        if request.version == .http11, request.fields.tokens("Expect").contains("100-continue"),
          offset == piece.count
        {
          return .asksToContinue
        }
      case .data(let range):
        guard body.count + range.count <= bodyLimit else { return tooLarge }
        body += piece[range]
      case .end:
        guard let request = head else { break }
        defer {
          head = nil
          body = []
        }
        return .request(request, body: body)
      case .response: break
      }
    }
    return .needsBytes
  }

  private var tooLarge: Next {
    .refused(APIError(413, "too_large", "the body is longer than \(bodyLimit) bytes"), head)
  }
}
