import LatewoodConcurrency
import LatewoodHTTP

/// Collects the requests of one connection from pieces of any size.
struct RequestReader {
  enum Next {
    /// The piece has been read to its end.
    case needsBytes
    /// The head of a request, whose body follows. It may be refused before the body is read.
    ///
    /// - Parameter waits: whether the client waits for permission to send the body.
    case head(HTTPRequestHead, waits: Bool)
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
  private var skipsBody = false
  /// The number of bytes of the body that have arrived.
  private(set) var bodyCount = 0
  private let budget: BodyBudget
  /// The number of bytes that are taken from the budget, for the last request whose head was read.
  private var claimed = 0

  init(_ limits: ServerConnection.Limits) {
    parser = HTTPParser(isServer: true, limits: limits.head)
    bodyLimit = limits.body
    budget = limits.bodies
  }

  /// Whether a request has begun, and not ended.
  var isWithinRequest: Bool { head != nil || !parser.isBetweenMessages }

  /// Adds the next piece; the previous one must have been read to its end.
  mutating func append(_ next: [UInt8]) {
    piece = next
    offset = 0
  }

  /// The greatest length of a body that is read although the request has been refused, so that the
  /// connection can be kept.
  private static let shortBody = 64 << 10

  /// Drops the body of the request whose head was returned last, instead of keeping it in memory.
  /// Returns false if it is long, or nobody knows how long.
  mutating func skipBody() -> Bool {
    guard let head, head.fields["Transfer-Encoding"] == nil else { return false }
    let length = head.fields["Content-Length"].flatMap { Int($0) } ?? 0
    guard length <= RequestReader.shortBody else { return false }
    skipsBody = true
    return true
  }

  // Not inlined, because Swift 6.3 cannot optimize an async function with typed errors in it.
  @inline(never) mutating func next() -> Next {
    do throws(HTTPError) { return try read() } catch {
      let (status, name) =
        switch error.kind {
        case .tooLarge: head == nil ? (431, "header_too_large") : (413, "too_large")
        case .unsupported: (501, "not_implemented")
        default: (400, "bad_request")
        }
      return .refused(APIError(status, name, error.reason), head)
    }
  }

  private mutating func read() throws(HTTPError) -> Next {
    while let event = try parser.next(piece, &offset) {
      switch event {
      case .request(let received):
        let request = received.inOriginForm
        head = request
        (body, bodyCount, skipsBody) = ([], 0, false)
        if let length = request.fields["Content-Length"].flatMap({ UInt64($0) }), length > UInt64(bodyLimit) {
          return tooLarge
        }
        let waits = request.version == .http11 && request.fields.tokens("Expect").contains("100-continue")
        return .head(request, waits: waits && offset == piece.count)
      case .data(let range):
        guard bodyCount + range.count <= bodyLimit else { return tooLarge }
        bodyCount += range.count
        if skipsBody { continue }
        guard budget.take(range.count) else {
          return .refused(
            APIError(503, "service_unavailable", "Too many long requests arrive at the moment"), head)
        }
        claimed += range.count
        body += piece[range]
      case .end:
        guard let request = head else { break }
        defer { (head, body, bodyCount) = (nil, [], 0) }
        return .request(request, body: body)
      case .response: break
      }
    }
    return .needsBytes
  }

  /// Gives the memory of the last request back to the budget. Called when it has been answered.
  mutating func release() {
    budget.give(claimed)
    claimed = 0
  }

  private var tooLarge: Next {
    .refused(APIError(413, "too_large", "the body is longer than \(bodyLimit) bytes"), head)
  }
}

/// The memory that bodies of requests may take together, which connections share.
///
/// Thread safety: all calls from any thread.
package final class BodyBudget: Sendable {
  private let left: Guarded<Int>

  /// - Parameter bytes: the number of bytes.
  package init(_ bytes: Int) { left = Guarded(bytes) }

  /// Takes a number of bytes. Returns false if there are not so many left.
  func take(_ count: Int) -> Bool {
    left.withLock { left in
      guard count <= left else { return false }
      left -= count
      return true
    }
  }

  func give(_ count: Int) { left.withLock { $0 += count } }
}

extension HTTPRequestHead {
  /// The head with a target that begins with its path.
  ///
  /// A target may be a whole URL, as for a proxy; its host then replaces the field Host: RFC 9112,
  /// section 3.2.2. A target in another form is left unchanged.
  fileprivate var inOriginForm: HTTPRequestHead {
    let bytes = Array(target.utf8)
    let scheme = String(decoding: bytes.prefix(8), as: UTF8.self).lowercased()
    let length = scheme == "https://" ? 8 : scheme.utf8.starts(with: "http://".utf8) ? 7 : 0
    guard length > 0 else { return self }
    let rest = bytes.dropFirst(length)
    let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
    var head = self
    let path = String(decoding: rest[end...], as: UTF8.self)
    head.target = path.utf8.first == UInt8(ascii: "/") ? path : "/\(path)"
    head.fields.set("Host", String(decoding: rest[..<end], as: UTF8.self))
    return head
  }
}
