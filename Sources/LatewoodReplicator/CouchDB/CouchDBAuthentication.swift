import LatewoodConcurrency
import LatewoodFleece
import LatewoodHTTP

/// The way in which a client proves who it is.
package enum CouchDBAuthentication: Sendable {
  case none
  /// A name and password with every request.
  case basic(BasicCredentials)
  /// A cookie that the server issues for a name and password, so that it does not have to hash the
  /// password for every request. A server without `_session` is sent the name and password instead.
  case session(BasicCredentials)
  /// A token that another server has issued.
  case bearer(String)
}

/// The state of a client's login.
///
/// Thread safety: any task. Two tasks may log in at the same time; both cookies are valid.
final class CouchDBLogin: Sendable {
  private let authentication: CouchDBAuthentication

  private enum Session {
    case none
    case cookie(String)
    /// The server has no sessions.
    case unavailable
  }
  private let session = Guarded(Session.none)

  init(_ authentication: CouchDBAuthentication) { self.authentication = authentication }

  /// Adds the proof to the fields of a request. Logs in first if necessary.
  ///
  /// - Parameter send: sends a request to the origin, without a proof.
  func add(
    to fields: inout HTTPFields, _ send: @Sendable (HTTPRequest) async throws -> any HTTPResponse
  ) async throws {
    switch authentication {
    case .none: break
    case .basic(let credentials): fields.set("Authorization", credentials.authorization)
    case .bearer(let token): fields.set("Authorization", "Bearer \(token)")
    case .session(let credentials):
      if case .none = session.withLock({ $0 }) { try await logIn(credentials, send) }
      switch session.withLock({ $0 }) {
      case .cookie(let cookie): fields.set("Cookie", cookie)
      case .none, .unavailable: fields.set("Authorization", credentials.authorization)
      }
    }
  }

  /// Records that the server did not accept the proof. Returns whether to try again, because the
  /// cookie may have expired.
  func refuse() -> Bool {
    session.withLock { session in
      guard case .cookie = session else { return false }
      session = .none
      return true
    }
  }

  /// Takes a cookie that replaces the current one before it expires.
  func take(_ head: HTTPResponseHead) {
    guard case .session = authentication, let cookie = CouchDBLogin.cookie(head) else { return }
    session.withLock { session in
      if case .cookie = session { session = .cookie(cookie) }
    }
  }

  private func logIn(
    _ credentials: BasicCredentials, _ send: @Sendable (HTTPRequest) async throws -> any HTTPResponse
  ) async throws {
    var output = JSONOutput()
    output.beginDictionary()
    output.key("name")
    output.text(credentials.name)
    output.key("password")
    output.text(credentials.password)
    output.endDictionary()
    let fields = HTTPFields([("Content-Type", "application/json"), ("Accept", "application/json")])
    let request = HTTPRequest(
      "POST", HTTPTarget(["_session"]), fields: fields, body: .bytes(output.take()))
    let response = try await send(request)
    response.close()
    let head = response.head
    if head.status == 200, let cookie = CouchDBLogin.cookie(head) {
      session.withLock { $0 = .cookie(cookie) }
    } else if head.status == 401 {
      throw ReplicationError(.unauthorized, "the server does not accept the name or the password")
    } else if head.status == 429 || head.status >= 500 {
      throw ReplicationError(.unavailable, "the server answered the login with status \(head.status)")
    } else {
      session.withLock { $0 = .unavailable }
    }
  }

  private static func cookie(_ head: HTTPResponseHead) -> String? {
    for value in head.fields.values("Set-Cookie") where value.hasPrefix("AuthSession=") {
      let cookie = value.prefix { $0 != ";" }
      if cookie.utf8.count > "AuthSession=".utf8.count { return String(cookie) }
    }
    return nil
  }
}
