import LatewoodConcurrency
import LatewoodDocuments
import LatewoodFleece
import LatewoodHTTP
import LatewoodServing
import Testing

/// A service over a database in memory, with one database `notes`.
struct TestService {
  let store: DocumentStore
  let service: DatabaseService

  /// - Parameters:
  ///   - users: the users; nil if everybody may do everything.
  ///   - sleep: how feeds wait for a time; default: until the test ends.
  init(
    users: UserDirectory? = nil,
    sleep: @escaping ChangesFeed.Sleep = { _ in try await Task.sleep(for: .seconds(86_400)) }
  ) throws {
    store = try DocumentStore.inMemory()
    var settings = DatabaseService.Settings(version: "0.0.0")
    settings.sleep = sleep
    settings.users = users
    service = DatabaseService(store, settings)
    #expect(try send("PUT", "/notes").status == 201)
  }

  /// Sends a request with a body in JSON.
  ///
  /// - Parameter user: the user; an administrator if not given.
  func send(
    _ method: String, _ target: String, _ body: String = "", fields: [(String, String)] = [],
    as user: RequestUser = .everybody
  ) throws -> APIResponse {
    var all = HTTPFields(fields)
    if all["Content-Type"] == nil { all.add("Content-Type", "application/json") }
    return service.respond(to: APIRequest(method, target, fields: all, body: Array(body.utf8), user: user))
  }

  /// Sends a request, and returns the answer as a JSON value.
  func json(_ method: String, _ target: String, _ body: String = "") throws -> FleeceElement {
    let answer = try send(method, target, body)
    return try FleeceBody(written: JSON.fleece(from: answer.body)).root
  }
}

extension APIResponse {
  /// The member `error` of the body.
  var error: String {
    get throws { try FleeceBody(written: JSON.fleece(from: body)).root.element(for: "error")?.string() ?? "" }
  }

  var text: String { String(decoding: body, as: UTF8.self) }
}
