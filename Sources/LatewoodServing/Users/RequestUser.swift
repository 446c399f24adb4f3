/// The user in whose name a request is made.
package struct RequestUser: Sendable, Equatable {
  /// How a user was recognized.
  enum Handler: String, Sendable {
    case cookie
    case password = "default"
  }

  /// The role that may do everything.
  package static let administratorRole = "_admin"

  /// Nil for a request without credentials.
  package let name: String?
  let roles: [String]
  /// Nil for a request without credentials.
  let handler: Handler?

  init(_ account: UserAccount, by handler: Handler) {
    name = account.name
    roles = account.roles
    self.handler = handler
  }

  private init(roles: [String]) {
    name = nil
    self.roles = roles
    handler = nil
  }

  /// A request without credentials, to a server that has users.
  package static let nobody = RequestUser(roles: [])

  /// A request to a server without users: everybody who reaches it is its administrator.
  package static let everybody = RequestUser(roles: [administratorRole])

  var isAdministrator: Bool { roles.contains(RequestUser.administratorRole) }
}

/// The right that a request needs.
///
/// Administrators may do everything. Other users read and write the documents of all databases, but
/// not design documents; and they do not create, delete or maintain databases.
enum AccessRules {
  private enum Right {
    case anybody
    case user(String)
    case administrator(String)

    static let database = Right.user("You are not authorized to access this db.")
    static let databaseAdministrator = Right.administrator("You are not a db or server admin.")
    static let serverAdministrator = Right.administrator("You are not a server admin.")
  }

  /// Returns the error about a request that its user may not make; nil if it is allowed.
  static func objection(to call: APICall) -> APIError? {
    if call.user.isAdministrator { return nil }
    switch right(for: call) {
    case .anybody: return nil
    case .user(let reason): return call.user.name == nil ? refusal(call.user, reason) : nil
    case .administrator(let reason): return refusal(call.user, reason)
    }
  }

  /// The error about an edit of a design document by others than administrators.
  static func designObjection(to user: RequestUser) -> APIError? {
    user.isAdministrator ? nil : refusal(user, "You are not a db or server admin.")
  }

  /// Somebody without a name may give one; somebody who has one has not this right.
  private static func refusal(_ user: RequestUser, _ reason: String) -> APIError {
    user.name == nil ? APIError(401, "unauthorized", reason) : APIError(403, "forbidden", reason)
  }

  private static func right(for call: APICall) -> Right {
    guard let first = call.path.first else { return .anybody }
    let isRead = call.method == "GET" || call.method == "HEAD"
    switch first {
    case "_up", "_uuids", "_session": return .anybody
    case "_utils": return call.path.count == 1 ? .anybody : .serverAdministrator
    case "_all_dbs", "_dbs_info", "_active_tasks": return .serverAdministrator
    default: break
    }
    guard call.path.count > 1 else {
      return call.method == "PUT" || call.method == "DELETE" ? .serverAdministrator : .database
    }
    switch call.path[1] {
    case "_purge", "_compact", "_view_cleanup": return .serverAdministrator
    case "_security", "_revs_limit", "_purged_infos_limit", "_index":
      return isRead ? .database : .databaseAdministrator
    default: return .database
    }
  }
}
