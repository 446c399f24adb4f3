import LatewoodDocuments
import LatewoodFleece
import LatewoodQuery

/// An error as CouchDB reports it: a status, a code and a reason.
struct APIError: Error, Equatable {
  var status: Int
  var error: String
  var reason: String
  /// The methods to list in the field Allow.
  var allowed: String?
  /// The value of the field Content-Range.
  var range: String?

  init(_ status: Int, _ error: String, _ reason: String) {
    self.status = status
    self.error = error
    self.reason = reason
  }

  static func badRequest(_ reason: String) -> APIError { APIError(400, "bad_request", reason) }
  static func invalid(_ reason: String) -> APIError { APIError(400, "query_parse_error", reason) }
  static func notImplemented(_ reason: String) -> APIError { APIError(501, "not_implemented", reason) }

  static let noDatabase = APIError(404, "not_found", "Database does not exist.")
  static let missing = APIError(404, "not_found", "missing")
  static let deleted = APIError(404, "not_found", "deleted")
  static let noAttachment = APIError(404, "not_found", "Document is missing attachment")
  static let tooLong = APIError(413, "too_large", "The response would be too long")
  /// A revision with a generation, and with a digest that cannot be stored.
  static let oddRevision = APIError(400, "bad_request", "The digest of the revision is not possible here")
  static let conflict = APIError(409, "conflict", "Document update conflict.")

  static func methodNotAllowed(_ methods: String) -> APIError {
    var error = APIError(405, "method_not_allowed", "Only \(methods) allowed")
    error.allowed = methods
    return error
  }

  static func specialMember(_ name: String) -> APIError {
    APIError(400, "doc_validation", "Bad special document member: \(name)")
  }

  /// Converts any error of the layers below.
  init(_ error: any Error) {
    switch error {
    case let error as APIError: self = error
    case let error as DatabaseError: self.init(error)
    case let error as FleeceError: self.init(DatabaseError(inBody: error))
    case let error as QueryError: self.init(400, "bad_request", error.reason)
    default: self.init(500, "unknown_error", "\(error)")
    }
  }

  private init(_ error: DatabaseError) {
    switch error.code {
    case .conflict: self = .conflict
    case .notFound: self = .missing
    case .badDocumentID: self.init(400, "illegal_docid", error.message)
    case .badRevisionID, .invalidParameter, .invalidJSON: self.init(400, "bad_request", error.message)
    case .notUnique: self.init(409, "conflict", error.message)
    case .notWritable: self.init(403, "forbidden", error.message)
    case .busy, .notOpen: self.init(503, "service_unavailable", error.message)
    default: self.init(500, "unknown_error", error.message)
    }
  }
}
