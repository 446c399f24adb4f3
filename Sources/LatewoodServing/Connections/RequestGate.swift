import LatewoodHTTP

/// Decides on requests by their heads alone, before their bodies are read: whether they come from a
/// page of another origin, who makes them, and whether that user may.
package struct RequestGate: Sendable {
  /// The decision on a request.
  struct Admission {
    /// The response to a request that goes no further; nil if it is admitted.
    var answer: APIResponse?
    var user: RequestUser?
    /// The address of the client.
    var client = ""
    /// The place of the client at which wrong passwords are counted.
    var address = ""
    var isSecure = false
    /// Fields of every response to the request.
    var fields = HTTPFields()
  }

  private static let longestAddress = 64

  private let origins: AllowedOrigins
  private let users: UserDirectory?
  private let isBehindProxy: Bool

  /// - Parameters:
  ///   - users: the users; nil if everybody may do everything.
  ///   - isBehindProxy: whether all connections come from a proxy that sets X-Forwarded-For.
  package init(
    _ origins: AllowedOrigins = .loopback, users: UserDirectory? = nil, isBehindProxy: Bool = false
  ) {
    self.origins = origins
    self.users = users
    self.isBehindProxy = isBehindProxy
  }

  /// Decides on a request. Suspends the task while a password is checked.
  ///
  /// - Parameter peer: the address of the other end of the connection.
  func admit(_ head: HTTPRequestHead, from peer: String) async -> Admission {
    var admission = begin(head, peer)
    guard admission.answer == nil, let users else { return admission }
    let result = await users.recognize(
      head.fields, from: admission.address, acceptsCookie: acceptsCookie(head.fields))
    switch result {
    case .success(let found):
      admission.user = found.user
      admission.answer = RequestGate.objection(to: head, of: found.user).map { APIResponse($0) }
      if let cookie = found.renewedCookie {
        admission.fields.add("Set-Cookie", SessionCookie.field(cookie, isSecure: admission.isSecure))
      }
    case .failure(let error): admission.answer = APIResponse(error)
    }
    return admission
  }

  /// Returns the error about a request that its user may not make, which the body does not change.
  @inline(never) private static func objection(
    to head: HTTPRequestHead, of user: RequestUser
  ) -> APIError? {
    do throws(APIError) {
      let request = APIRequest(head.method, head.target, fields: head.fields)
      return AccessRules.objection(to: try APICall(request, user))
    } catch { return error }
  }

  private func acceptsCookie(_ fields: HTTPFields) -> Bool {
    if case .shared(_, let withCookies) = origins.access(fields) { return withCookies }
    return true
  }

  /// Decides what needs no password.
  @inline(never) private func begin(_ head: HTTPRequestHead, _ peer: String) -> Admission {
    var admission = Admission()
    admission.client = client(head.fields) ?? peer
    admission.address = LoginThrottle.place(of: admission.client)
    admission.isSecure = isBehindProxy && head.fields["X-Forwarded-Proto"] == "https"
    switch origins.access(head.fields) {
    case .own:
      // About the server as a whole.
      if head.method == "OPTIONS", head.target == "*" {
        admission.answer = APIResponse(204, fields: HTTPFields([("Allow", SharedOrigin.methods)]))
      }
    case .refused(let error): admission.answer = APIResponse(error)
    case .shared(let origin, let withCookies):
      admission.fields = SharedOrigin.fields(origin, withCookies: withCookies)
      if head.method == "OPTIONS", head.fields["Access-Control-Request-Method"] != nil {
        admission.answer = APIResponse(204, fields: SharedOrigin.preflightFields(head.fields))
      }
    }
    return admission
  }

  /// Returns the address that the proxy names: the last one, since a client may send others.
  private func client(_ fields: HTTPFields) -> String? {
    guard isBehindProxy else { return nil }
    return fields.tokens("X-Forwarded-For").last.map { String($0.prefix(RequestGate.longestAddress)) }
  }

  /// Returns a response with the fields that it gets from the head of its request.
  func complete(_ response: APIResponse, to head: HTTPRequestHead, _ admission: Admission) -> APIResponse {
    var response = response
    for field in admission.fields.list where response.fields[field.name] == nil {
      response.fields.add(field.name, field.value)
    }
    if response.status == 401, response.fields["WWW-Authenticate"] == nil {
      // A browser answers a challenge for Basic with its own dialog, which a page that asks
      // for the password itself does not want.
      let mode = head.fields["Sec-Fetch-Mode"]
      let isPage = mode == nil || mode == "navigate"
      response.fields.add(
        "WWW-Authenticate",
        isPage ? "Basic realm=\"Latewood\", charset=\"UTF-8\"" : "Cookie realm=\"Latewood\"")
    }
    return response
  }
}

/// The fields by which a browser learns that a page of another origin may read responses: the Fetch
/// standard, section 3.2. The lists are CouchDB's, and what attachments and feeds need.
enum SharedOrigin {
  static let methods = "GET, PUT, POST, HEAD, DELETE, COPY, OPTIONS"
  private static let requestFields =
    "Accept, Accept-Language, Authorization, Content-Length, Content-Range, Content-Type, Destination, "
    + "Expires, If-Match, If-None-Match, Last-Event-ID, Last-Modified, Origin, Pragma, Range, Referer, "
    + "X-Couch-Full-Commit, X-Couch-Id, X-Couch-Persist, X-CouchDB-WWW-Authenticate, X-CSRF-Token, "
    + "X-HTTP-Method-Override, X-Requested-With"
  private static let responseFields =
    "Accept-Ranges, Cache-Control, Content-Encoding, Content-Length, Content-MD5, Content-Range, "
    + "Content-Type, ETag, Expires, Last-Modified, Location, Pragma, Server, WWW-Authenticate"

  static func fields(_ origin: String, withCookies: Bool) -> HTTPFields {
    var fields = HTTPFields([
      ("Access-Control-Allow-Origin", origin), ("Access-Control-Expose-Headers", responseFields),
      // A cache must not give the response to a page of another origin.
      ("Vary", "Origin"),
    ])
    if withCookies { fields.add("Access-Control-Allow-Credentials", "true") }
    return fields
  }

  /// The fields of the response to the question whether a request may be sent.
  static func preflightFields(_ asked: HTTPFields) -> HTTPFields {
    var fields = HTTPFields([
      ("Access-Control-Allow-Methods", methods), ("Access-Control-Allow-Headers", requestFields),
      ("Access-Control-Max-Age", "600"),
    ])
    if asked["Access-Control-Request-Private-Network"] == "true" {
      fields.add("Access-Control-Allow-Private-Network", "true")
    }
    return fields
  }
}
