import LatewoodDocuments
import LatewoodFleece
import LatewoodHTTP

/// Sessions: `_session`.
struct SessionEndpoint {
  /// Nil if the server has no users.
  private let users: UserDirectory?

  init(_ users: UserDirectory?) { self.users = users }

  /// Whether a request has to be answered by `logIn`.
  static func isLogin(_ request: APIRequest) -> Bool {
    guard request.method == "POST", let target = HTTPTarget(parsing: request.target) else { return false }
    return target.segments.filter { !$0.isEmpty } == ["_session"]
  }

  /// Answers a request for a session with a name and a password, in JSON or encoded as a form.
  func logIn(_ request: APIRequest) async -> APIResponse {
    guard let users else { return APIResponse(APIError.methodNotAllowed("GET,HEAD")) }
    let result: Result<UserAccount, APIError>
    switch SessionEndpoint.credentials(request) {
    case .success(let credentials): result = await users.logIn(credentials, from: request.address)
    case .failure(let error): result = .failure(error)
    }
    switch result {
    case .success(let account):
      let response = APIResponse { output in
        output.beginDictionary()
        output.member("ok", true)
        output.member("name", account.name)
        SessionEndpoint.write(account.roles, to: &output)
        output.endDictionary()
      }
      return response.adding(
        "Set-Cookie", SessionCookie.field(users.makeCookie(for: account), isSecure: request.isSecure))
    case .failure(let error):
      let response = APIResponse(error)
      guard error == UserDirectory.wrong else { return response }
      return response.adding("Set-Cookie", SessionCookie.field("", isSecure: request.isSecure))
    }
  }

  // Not inlined, because Swift 6.3 cannot optimize an async function with typed errors in it.
  @inline(never) private static func credentials(_ request: APIRequest) -> Result<BasicCredentials, APIError>
  {
    do {
      let call = try APICall(request, .nobody)
      let type = call.fields["Content-Type"].flatMap { HeaderValue($0) }?.value
      if type == "application/x-www-form-urlencoded" {
        let text = String(validating: call.body, as: UTF8.self)
        let form = text.flatMap { HTTPTarget(parsing: "/?" + $0) }
        guard let form else { throw APIError.badRequest("The form is not percent-encoded UTF-8") }
        return .success(BasicCredentials(name: form["name"] ?? "", password: form["password"] ?? ""))
      }
      try call.requireJSON()
      let object = try call.object()
      // CouchDB accepts `username`, too.
      let name = try (object.element(for: "name") ?? object.element(for: "username"))?.string() ?? ""
      let password = try object.element(for: "password")?.string() ?? ""
      return .success(BasicCredentials(name: name, password: password))
    } catch { return .failure(APIError(error)) }
  }

  func answer(_ call: APICall) throws -> APIResponse {
    switch call.method {
    case "GET", "HEAD": return information(call.user)
    case "DELETE" where users != nil:
      return APIResponse.ok().adding("Set-Cookie", SessionCookie.field("", isSecure: call.isSecure))
    default: throw APIError.methodNotAllowed(users == nil ? "GET,HEAD" : "DELETE,GET,HEAD,POST")
    }
  }

  private func information(_ user: RequestUser) -> APIResponse {
    APIResponse { output in
      output.beginDictionary()
      output.member("ok", true)
      output.key("userCtx")
      output.beginDictionary()
      output.key("name")
      if let name = user.name { output.text(name) } else { output.null() }
      SessionEndpoint.write(user.roles, to: &output)
      output.endDictionary()
      output.key("info")
      output.beginDictionary()
      output.key("authentication_handlers")
      output.beginArray()
      if users != nil {
        for handler in [RequestUser.Handler.cookie, .password] { output.text(handler.rawValue) }
      }
      output.endArray()
      if let handler = user.handler { output.member("authenticated", handler.rawValue) }
      output.endDictionary()
      output.endDictionary()
    }
  }

  private static func write(_ roles: [String], to output: inout JSONOutput) {
    output.key("roles")
    output.beginArray()
    for role in roles { output.text(role) }
    output.endArray()
  }
}
