import Foundation
import LatewoodConcurrency
import LatewoodHTTP

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Sends requests by the system's client, for `https`: this package does not implement TLS.
///
/// 1. The certificate of the server is checked by the system, against the authorities that the
///    machine trusts.
/// 2. Redirects are not followed. Cookies, caches and the credentials of the system are not used.
/// 3. URLSession on Linux reads an answer as fast as the server sends it, even if the delegate does
///    not return or the task is suspended (measured with Swift 6.3). The answer to a request that
///    `expectsLongBody` therefore waits in a file for its reader, and any other in memory, up to a
///    limit.
/// 4. A streamed body is sent in chunks, even if its length is known. URLSession on Linux adds them
///    to a length, and HTTP forbids both in one message.
/// 5. URLSession on Linux reads a streamed body on the queue of the session, and blocks the queue
///    until the source has produced bytes. All calls of the session wait for that queue. They are
///    made on `queue`: if they blocked Swift's threads instead, the source could not run.
///
/// Thread safety: any task.
package final class URLSessionTransport: HTTPTransport {
  private let origin: HTTPOrigin
  private let unreadLimit: Int
  private let delegate: SessionDelegate
  private let queue = DispatchQueue(label: "latewood.urlsession", qos: .userInitiated)

  /// Nil after `close`: a task of a session that has been invalidated would be a fault.
  private let session: Guarded<URLSession?>

  /// - Parameters:
  ///   - origin: where the requests are sent; without TLS, too.
  ///   - timeout: how long a server may send nothing, in seconds.
  ///   - unreadLimit: the greatest number of bytes of an answer that wait in memory to be read. An
  ///     answer that exceeds it is given up as `truncated`.
  package convenience init(origin: HTTPOrigin, timeout: Double = 60, unreadLimit: Int = 256 << 20) {
    self.init(origin, timeout, unreadLimit, .ephemeral, SessionDelegate())
  }

  /// - Parameters:
  ///   - origin: where the requests are sent.
  ///   - settings: a proxy and certificates. This platform must support them: see `unsupported`.
  /// - Throws: `HTTPError` `invalidRequest` if the client certificate cannot be read.
  package convenience init(origin: HTTPOrigin, settings: ConnectionSettings) throws(HTTPError) {
    let configuration = URLSessionConfiguration.ephemeral
    #if canImport(Security)
      let delegate = SessionDelegate(settings, try settings.clientCredential())
      if let proxy = settings.proxyDictionary { configuration.connectionProxyDictionary = proxy }
    #else
      let delegate = SessionDelegate()
    #endif
    self.init(origin, 60, 256 << 20, configuration, delegate)
  }

  private init(
    _ origin: HTTPOrigin, _ timeout: Double, _ unreadLimit: Int, _ configuration: URLSessionConfiguration,
    _ delegate: SessionDelegate
  ) {
    self.origin = origin
    self.unreadLimit = unreadLimit
    self.delegate = delegate
    configuration.timeoutIntervalForRequest = timeout
    // A continuous feed has no end.
    configuration.timeoutIntervalForResource = 365 * 86_400
    configuration.httpShouldSetCookies = false
    configuration.httpCookieStorage = nil
    configuration.urlCache = nil
    configuration.urlCredentialStorage = nil
    configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
    configuration.httpMaximumConnectionsPerHost = 16
    session = Guarded(URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil))
  }

  deinit { close() }

  package func send(_ request: HTTPRequest) async throws -> any HTTPResponse {
    let made = try urlRequest(request)
    let upload: UploadSource? =
      if case .stream(let source, _) = request.body { UploadSource(source) } else { nil }
    let exchange = Exchange(unreadLimit: unreadLimit, mayUseFile: request.expectsLongBody, body: upload)
    queue.async { [session, delegate, queue] in
      guard let session = session.withLock({ $0 }) else {
        return exchange.end(.failure(HTTPError(.cancelled, "the client was closed")))
      }
      let task: URLSessionTask =
        upload == nil ? session.dataTask(with: made) : session.uploadTask(withStreamedRequest: made)
      delegate.begin(exchange, for: task)
      task.resume()
      exchange.setCancel { queue.async { task.cancel() } }
    }
    return try await withTaskCancellationHandler {
      URLSessionResponse(try await exchange.head(), exchange)
    } onCancel: {
      exchange.cancel()
    }
  }

  package func close() {
    let session = session.withLock { session in
      defer { session = nil }
      return session
    }
    guard let session else { return }
    queue.async { [delegate] in
      delegate.cancelAll()
      session.finishTasksAndInvalidate()
    }
  }

  private func urlRequest(_ request: HTTPRequest) throws(HTTPError) -> URLRequest {
    // The rules that hold on our own connections, before anything is sent.
    var encoded: [UInt8] = []
    try HTTPEncoding.append(
      HTTPRequestHead(request.method, request.target.text, fields: request.fields), to: &encoded)
    // The system's client would remove such segments, and request something else.
    guard !request.target.segments.contains(where: { $0 == "." || $0 == ".." }) else {
      throw HTTPError(.invalidRequest, "a segment of a path is a dot or two")
    }
    let scheme = origin.isSecure ? "https" : "http"
    guard let url = URL(string: "\(scheme)://\(origin.authority)\(request.target.text)") else {
      throw HTTPError(.invalidRequest, "the target of a request is not a URL")
    }
    var made = URLRequest(url: url)
    made.httpMethod = request.method
    made.setValue("Latewood", forHTTPHeaderField: "User-Agent")
    // A CouchDB compresses attachments for those who accept it, and sends the digest of that.
    made.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
    for field in request.fields.list { made.addValue(field.value, forHTTPHeaderField: field.name) }
    if case .bytes(let bytes) = request.body { made.httpBody = Data(bytes) }
    return made
  }
}

/// A response that the system's client receives.
private final class URLSessionResponse: HTTPResponse {
  let head: HTTPResponseHead
  private let exchange: Exchange

  init(_ head: HTTPResponseHead, _ exchange: Exchange) {
    self.head = head
    self.exchange = exchange
  }

  deinit { close() }

  func next() async throws -> [UInt8]? {
    try await withTaskCancellationHandler {
      try await exchange.next()
    } onCancel: {
      exchange.cancel()
    }
  }

  func close() { exchange.cancel() }
}
