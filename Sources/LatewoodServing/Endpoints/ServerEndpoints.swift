import LatewoodDocuments
import LatewoodFleece

/// The resources of the whole server.
struct ServerEndpoints {
  private let service: DatabaseService

  /// The greatest number of ids in one answer, as in CouchDB.
  private static let mostIDs = 1000

  init(_ service: DatabaseService) { self.service = service }

  func root(_ call: APICall) throws -> APIResponse {
    try call.allow("GET,HEAD")
    return APIResponse { output in
      output.beginDictionary()
      output.member("couchdb", "Welcome")
      output.member("version", service.version)
      output.key("features")
      output.beginArray()
      output.endArray()
      output.key("vendor")
      output.beginDictionary()
      output.member("name", "Latewood")
      output.endDictionary()
      output.endDictionary()
    }
  }

  /// Answers a path whose first segment begins with an underscore; nil if it is not one of these
  /// resources.
  func answer(_ name: String, _ call: APICall) throws -> APIResponse? {
    guard call.path.count == 1 else { return nil }
    switch name {
    case "_up": return try up(call)
    case "_all_dbs": return try allDatabases(call)
    case "_uuids": return try ids(call)
    case "_active_tasks":
      try call.allow("GET,HEAD")
      return APIResponse { output in
        output.beginArray()
        output.endArray()
      }
    case "_session": return try SessionEndpoint(service.users).answer(call)
    case "_dbs_info": return try information(call)
    default: return nil
    }
  }

  private func up(_ call: APICall) throws -> APIResponse {
    try call.allow("GET,HEAD")
    return APIResponse { output in
      output.beginDictionary()
      output.member("status", "ok")
      output.key("seeds")
      output.beginDictionary()
      output.endDictionary()
      output.endDictionary()
    }
  }

  private func allDatabases(_ call: APICall) throws -> APIResponse {
    try call.allow("GET,HEAD")
    var names = try service.store.collectionNames().compactMap { DatabaseNames.database(of: $0) }
    names.sort { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    let options = try ListOptions(call.query)
    names = names.filter { options.contains($0) }
    if options.isDescending { names.reverse() }
    return APIResponse { output in
      output.beginArray()
      for name in names.dropFirst(options.skip).prefix(options.limit) { output.text(name) }
      output.endArray()
    }
  }

  private func ids(_ call: APICall) throws -> APIResponse {
    try call.allow("GET")
    var count = 1
    if let text = call.query["count"] {
      guard let number = APIQuery.natural(text) else {
        throw APIError.badRequest("count must be a positive integer")
      }
      guard number <= UInt64(ServerEndpoints.mostIDs) else {
        throw APIError.badRequest("count parameter too large")
      }
      count = Int(number)
    }
    let response = APIResponse { output in
      output.beginDictionary()
      output.key("uuids")
      output.beginArray()
      for _ in 0..<count { output.text(service.makeID()) }
      output.endArray()
      output.endDictionary()
    }
    return response.adding("Cache-Control", "must-revalidate, no-cache")
  }

  private func information(_ call: APICall) throws -> APIResponse {
    try call.allow("GET,HEAD,POST")
    var names: [String] = []
    if call.method == "POST" {
      try call.requireJSON()
      guard let keys = try call.object().element(for: "keys")?.elements() else {
        throw APIError.badRequest("`keys` member must exist.")
      }
      names = try keys.compactMap { try $0.string() }
    } else {
      names = try service.store.collectionNames().compactMap { DatabaseNames.database(of: $0) }
    }
    return try APIResponse { output in
      output.beginArray()
      for name in names {
        output.beginDictionary()
        output.member("key", name)
        do {
          let database = try service.database(name, call.user)
          let reads = try database.reads()
          output.key("info")
          try DatabaseEndpoints.write(database, reads, to: &output)
        } catch let error as APIError {
          output.member("error", error.error)
        }
        output.endDictionary()
      }
      output.endArray()
    }
  }
}
