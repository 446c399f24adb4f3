import LatewoodFleece
import LatewoodHTTP

/// Sends requests to a database, and turns answers into values and errors.
final class CouchDBRequests: Sendable {
  private let url: HTTPURL
  private let transport: any HTTPTransport
  private let login: CouchDBLogin
  private let fields: HTTPFields
  /// The path of the database, without a slash at its end.
  private let path: [String]

  /// The URL without credentials, which stands for the database in replication ids.
  let identity: String

  init(
    _ url: HTTPURL, _ transport: any HTTPTransport, _ authentication: CouchDBAuthentication,
    _ fields: HTTPFields
  ) {
    self.url = url
    self.transport = transport
    self.fields = fields
    login = CouchDBLogin(authentication)
    path = url.target.segments.filter { !$0.isEmpty }
    let scheme = url.origin.isSecure ? "https" : "http"
    identity = "\(scheme)://\(url.origin.authority)\(HTTPTarget(path + [""]).text)"
  }

  deinit { transport.close() }

  /// A server's description of a failure.
  struct Failure: Sendable {
    var status: Int
    var error: String?
    var reason: String?
    var message: String {
      let text = [error, reason].compactMap { $0 }.joined(separator: ": ")
      return text.isEmpty ? "the server answered with status \(status)" : text
    }
  }

  /// Returns the segments of a document's path. Those of design and local documents begin with two.
  static func path(ofDocument id: String) -> [String] {
    for prefix in ["_design/", "_local/"] where id.utf8.starts(with: prefix.utf8) {
      return [
        String(prefix.dropLast()), String(decoding: id.utf8.dropFirst(prefix.utf8.count), as: UTF8.self),
      ]
    }
    return [id]
  }

  // MARK: - Sending

  /// Sends a request with a body in JSON, or without one.
  ///
  /// - Parameters:
  ///   - path: the segments after the database.
  ///   - accepted: the statuses that are not errors.
  /// - Throws: `ReplicationError` for every other status and for failures of the connection.
  func send(
    _ method: String, _ path: [String], query: [(String, String)] = [], body: [UInt8]? = nil,
    accepting accepted: Set<Int>
  ) async throws -> any HTTPResponse {
    var fields = HTTPFields([("Accept", "application/json")])
    if body != nil { fields.add("Content-Type", "application/json") }
    return try await send(
      method, path, query: query, fields: fields, stream: body.map { .bytes($0) } ?? .none,
      accepting: accepted)
  }

  /// Sends a request with any body and header.
  ///
  /// - Parameter expectsLongBody: see `HTTPRequest`.
  func send(
    _ method: String, _ path: [String], query: [(String, String)] = [], fields: HTTPFields,
    stream body: HTTPBody, expectsLongBody: Bool = false, accepting accepted: Set<Int>
  ) async throws -> any HTTPResponse {
    let items = query.map { HTTPTarget.Item($0.0, $0.1) }
    var request = HTTPRequest(method, HTTPTarget(self.path + path, query: items), fields: fields, body: body)
    request.expectsLongBody = expectsLongBody
    for field in self.fields.list { request.fields.set(field.name, field.value) }
    do {
      let response = try await sendWithLogin(request)
      if accepted.contains(response.head.status) { return response }
      throw CouchDBRequests.error(
        response.head.status, try await failure(of: response), response.head)
    } catch let error as HTTPError { throw try CouchDBRequests.error(error) }
  }

  /// The greatest number of redirects within the origin that are followed.
  private static let redirectLimit = 5

  private func sendWithLogin(_ request: HTTPRequest) async throws -> any HTTPResponse {
    var request = request
    var redirects = 0
    var mayLogIn = true
    while true {
      var authorized = request
      try await login.add(to: &authorized.fields) { try await self.transport.send($0) }
      let response = try await transport.send(authorized)
      login.take(response.head)
      switch response.head.status {
      case 401 where mayLogIn && login.refuse():
        mayLogIn = false
        guard request.body.isRepeatable else { return response }
        response.close()
      case 301, 302, 303, 307, 308:
        response.close()
        redirects += 1
        guard redirects <= CouchDBRequests.redirectLimit else {
          throw CouchDBRequests.notCouchDB("the server redirects without end")
        }
        request.target = try redirect(of: request, response.head)
      default: return response
      }
    }
  }

  /// Returns the target of a redirect that may be followed: within the origin, with the same method
  /// and body.
  private func redirect(of request: HTTPRequest, _ head: HTTPResponseHead) throws -> HTTPTarget {
    let location = head.fields["Location"] ?? ""
    var target = location.hasPrefix("/") && !location.hasPrefix("//") ? HTTPTarget(parsing: location) : nil
    if target == nil, let other = try? HTTPURL(parsing: location) {
      guard other.origin == url.origin else {
        if url.origin.isSecure, !other.origin.isSecure {
          throw ReplicationError(.insecure, "the server redirects to \(other.origin.host) without TLS")
        }
        throw CouchDBRequests.notCouchDB("the server redirects to \(other.origin.authority)")
      }
      target = other.target
    }
    let keepsMethod = head.status >= 307 || request.method == "GET"
    guard let target, keepsMethod, request.body.isRepeatable else {
      throw CouchDBRequests.notCouchDB("the server redirects to another page")
    }
    return target
  }

  // MARK: - Answers

  /// Sends a request and reads the answer, whose status must be 200, 201 or 202.
  func json(
    _ method: String, _ path: [String], query: [(String, String)] = [], body: [UInt8]? = nil,
    limit: Int
  ) async throws -> CouchDBAnswer {
    let response = try await send(method, path, query: query, body: body, accepting: [200, 201, 202])
    do {
      return try await json(of: response, limit: limit)
    } catch let error as HTTPError { throw try CouchDBRequests.error(error) }
  }

  /// Reads a body in JSON.
  ///
  /// - Throws: `HTTPError` `tooLarge` if the body is longer than the limit; otherwise
  ///   `ReplicationError`.
  func json(of response: any HTTPResponse, limit: Int) async throws -> CouchDBAnswer {
    do {
      let text = try await response.collect(limit: limit)
      return try CouchDBAnswer(text)
    } catch let error as HTTPError where error.kind != .tooLarge { throw try CouchDBRequests.error(error) }
  }

  /// Reads a server's description of a failure, if it is in JSON.
  ///
  /// - Throws: `ReplicationError` if the connection fails first.
  func failure(of response: any HTTPResponse) async throws -> Failure {
    var failure = Failure(status: response.head.status)
    do {
      let answer = try CouchDBAnswer(try await response.collect(limit: 64 << 10))
      failure.error = try answer["error"]?.string().map { String($0.prefix(200)) }
      failure.reason = try answer["reason"]?.string().map { String($0.prefix(1000)) }
    } catch let error as HTTPError where error.kind != .tooLarge {
      throw try CouchDBRequests.error(error)
    } catch {
      // The body is a page for people, so only the status is known.
    }
    return failure
  }

  // MARK: - Errors

  static func notCouchDB(_ message: String) -> ReplicationError {
    ReplicationError(.unexpectedAnswer, message)
  }

  static func error(_ status: Int, _ failure: Failure, _ head: HTTPResponseHead?) -> ReplicationError {
    let code: ReplicationError.Code =
      switch status {
      case 401: .unauthorized
      case 403: .forbidden
      case 404: .notFound
      case 408: .timedOut
      case 409: .conflict
      case 429, 500...599: .unavailable
      default: .unexpectedAnswer
      }
    // Only seconds are supported: dates would need the clock of the server.
    let seconds = head?.fields["Retry-After"].flatMap { UInt32($0) }.map { min($0, 86_400) }
    return ReplicationError(code, failure.message, retryAfter: seconds.map { .seconds(Int($0)) })
  }

  /// Converts an error of the connection to a replication error.
  ///
  /// - Throws: `CancellationError` if the task was cancelled.
  static func error(_ error: HTTPError) throws -> ReplicationError {
    switch error.kind {
    case .cancelled:
      try Task.checkCancellation()
      return ReplicationError(.unreachable, error.reason)
    case .notConnected, .connectionLost, .truncated: return ReplicationError(.unreachable, error.reason)
    case .insecure: return ReplicationError(.insecure, error.reason)
    case .timedOut: return ReplicationError(.timedOut, error.reason)
    case .malformed, .tooLarge: return ReplicationError(.unexpectedAnswer, error.reason)
    case .unsupported: return ReplicationError(.unsupported, error.reason)
    case .invalidRequest: return ReplicationError(.invalidParameter, error.reason)
    }
  }
}

extension HTTPBody {
  fileprivate var isRepeatable: Bool {
    if case .stream = self { return false }
    return true
  }
}

/// An answer in JSON.
struct CouchDBAnswer {
  let root: FleeceElement

  /// - Throws: `ReplicationError` `unexpectedAnswer` if the text is not JSON.
  init(_ text: [UInt8]) throws {
    do throws(FleeceError) {
      root = try FleeceBody(written: JSON.fleece(from: text)).root
    } catch {
      throw CouchDBRequests.notCouchDB("the server answered with something that is not JSON: \(error)")
    }
  }

  /// A member of the answer; nil if it is absent, or if the answer is not an object.
  subscript(_ name: String) -> FleeceElement? {
    get throws { try root.element(for: name) }
  }

  /// Returns all members.
  ///
  /// - Throws: `ReplicationError` `unexpectedAnswer` if the answer is not an object.
  func members() throws -> [(key: String, value: FleeceElement)] {
    guard let members = try root.members() else {
      throw CouchDBRequests.notCouchDB("the server answered with something that is not an object")
    }
    return members
  }
}
