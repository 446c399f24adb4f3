import LatewoodFleece
import LatewoodHTTP

/// A request of CouchDB's HTTP API, complete with its body.
package struct APIRequest: Sendable {
  package var method: String
  /// The path and the query in origin form, percent-encoded.
  package var target: String
  package var fields: HTTPFields
  package var body: [UInt8]
  /// Nil if nobody was recognized: everybody, if the server has no users, and otherwise nobody.
  package var user: RequestUser?
  /// The place of the client at which wrong passwords are counted.
  package var address = ""
  /// Whether the client's connection has TLS, which ends at a proxy.
  package var isSecure = false

  package init(
    _ method: String, _ target: String, fields: HTTPFields = HTTPFields(), body: [UInt8] = [],
    user: RequestUser? = nil
  ) {
    self.method = method
    self.target = target
    self.fields = fields
    self.body = body
    self.user = user
  }
}

/// A request whose target has been decoded.
struct APICall {
  let method: String
  /// The segments of the path, without those that an additional slash makes empty.
  let path: [String]
  /// Whether the path ends with a slash, to which a browser adds the relative links of a page.
  let endsWithSlash: Bool
  let query: APIQuery
  let fields: HTTPFields
  let body: [UInt8]
  let user: RequestUser
  let isSecure: Bool
  /// The unchanged query with its question mark; empty without one.
  let queryText: Substring

  /// - Throws: `APIError` if the target is not percent-encoded UTF-8.
  init(_ request: APIRequest, _ user: RequestUser) throws(APIError) {
    guard let target = HTTPTarget(parsing: request.target, plusIsSpace: true) else {
      throw APIError.badRequest("The path and the query have to be percent-encoded UTF-8")
    }
    // Programs that can only send GET and POST name the method in a field. It cannot be HEAD: the
    // client expects the body of the response to a POST.
    let other = request.method == "POST" ? request.fields["X-HTTP-Method-Override"] : nil
    method = other == "HEAD" ? "GET" : other ?? request.method
    path = target.segments.filter { !$0.isEmpty }
    endsWithSlash = target.segments.last?.isEmpty == true
    query = APIQuery(target.query)
    fields = request.fields
    body = request.body
    self.user = user
    isSecure = request.isSecure
    queryText = request.target[(request.target.firstIndex(of: "?") ?? request.target.endIndex)...]
  }

  /// Whether the response has the header of a response to GET, and no body.
  var isHead: Bool { method == "HEAD" }

  /// Checks the method. A GET is also allowed as HEAD if HEAD is listed.
  ///
  /// - Parameter methods: as CouchDB lists them: `GET,HEAD`.
  func allow(_ methods: String) throws(APIError) {
    guard methods.split(separator: ",").contains(where: { $0 == method }) else {
      throw APIError.methodNotAllowed(methods)
    }
  }

  /// Throws unless the body is declared as JSON.
  ///
  /// Pages of other origins cannot send such a body without asking first, so it protects a server
  /// that a browser can reach.
  func requireJSON() throws(APIError) {
    guard fields["Content-Type"].flatMap({ HeaderValue($0) })?.value == "application/json" else {
      throw APIError(415, "bad_content_type", "Content-Type must be application/json")
    }
  }

  /// Returns the body as JSON.
  func json() throws(APIError) -> FleeceElement {
    switch fields["Content-Encoding"] {
    case nil, "identity": return try APIQuery.json(body)
    case IncomingDocument.Part.gzip: return try APIQuery.json(IncomingDocument.Part.decoded(body))
    case let coding?:
      throw APIError(415, "bad_content_type", "Content-Encoding \(coding) is not supported")
    }
  }

  /// Returns the body as a JSON object.
  func object() throws -> FleeceElement {
    let root = try json()
    guard try root.kind == .dictionary else {
      throw APIError.badRequest("Request body must be a JSON object")
    }
    return root
  }

  /// Whether the client names one of these media types in its Accept field.
  func accepts(_ types: String...) -> Bool {
    fields.tokens("Accept").contains { token in
      let type = token.prefix { $0 != ";" && $0 != " " }
      return types.contains { $0 == type }
    }
  }

  /// Whether the client prefers parts to JSON where CouchDB has both: `*/*` and no field at all are
  /// answered in parts.
  var prefersParts: Bool {
    fields["Accept"] == nil || !accepts("application/json") || accepts("multipart/mixed", "multipart/related")
  }
}
