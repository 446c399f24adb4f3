import LatewoodDocuments
import LatewoodFleece
import LatewoodHTTP

/// A database as a whole.
struct DatabaseEndpoints {
  private let service: DatabaseService
  private var store: DocumentStore { service.store }

  init(_ service: DatabaseService) { self.service = service }

  // MARK: - /{db}

  func answer(_ name: String, _ call: APICall) throws -> APIResponse {
    switch call.method {
    case "PUT":
      if call.query.flag("partitioned") {
        throw APIError.notImplemented("a database of this server cannot be partitioned")
      }
      return try create(name)
    case "DELETE": return try delete(name, call)
    case "GET", "HEAD":
      let database = try service.database(name, call.user)
      let reads = try database.reads()
      return try APIResponse { output in try DatabaseEndpoints.write(database, reads, to: &output) }
    case "POST":
      return try DocumentEndpoints(try service.database(name, call.user)).post(call)
    default: throw APIError.methodNotAllowed("DELETE,GET,HEAD,POST")
    }
  }

  private func create(_ name: String) throws -> APIResponse {
    if let objection = DatabaseNames.objection(to: name) { throw objection }
    guard let collection = DatabaseNames.collection(of: name) else { throw APIError.noDatabase }
    // In a batch, so that only one of two clients creates the database.
    try store.write { _ in
      guard try store.collection(collection) == nil else {
        throw APIError(412, "file_exists", "The database could not be created, the file already exists.")
      }
      _ = try store.createCollection(collection)
    }
    return APIResponse.ok(201).adding("Location", "/\(PercentCoding.encode(name))")
  }

  private func delete(_ name: String, _ call: APICall) throws -> APIResponse {
    if call.query["rev"] != nil {
      throw APIError.badRequest(
        "You tried to DELETE a database with a ?=rev parameter. Did you mean to DELETE a document instead?")
    }
    let database = try service.database(name, call.user)
    if database.collection.name == CollectionHandle.defaultName {
      throw APIError(403, "forbidden", "The default collection cannot be deleted.")
    }
    guard try store.dropCollection(database.collection.name) else { throw APIError.noDatabase }
    return .ok()
  }

  /// Writes the information about a database.
  static func write(_ database: ServedDatabase, _ reads: DocumentReads, to output: inout JSONOutput) throws {
    let totals = try reads.totals()
    output.beginDictionary()
    output.member("db_name", database.name)
    output.member("doc_count", totals.documents)
    output.member("doc_del_count", totals.tombstones)
    output.member("update_seq", database.text(of: try reads.lastSequence()))
    output.member("purge_seq", "0")
    output.member("compact_running", false)
    output.member("instance_start_time", database.service.startTime)
    output.key("props")
    output.beginDictionary()
    output.endDictionary()
    output.endDictionary()
  }

  // MARK: - /{db}/_…

  func answer(_ name: String, _ database: ServedDatabase, _ call: APICall) throws -> APIResponse {
    switch name {
    case "_ensure_full_commit":
      try call.allow("POST")
      try call.requireJSON()
      try store.sync()
      return APIResponse(201) { output in
        output.beginDictionary()
        output.member("ok", true)
        output.member("instance_start_time", service.startTime)
        output.endDictionary()
      }
    case "_revs_limit": return try revisionsLimit(call)
    case "_purged_infos_limit":
      // Purges are not listed, so nothing is limited; the number is CouchDB's.
      try call.allow("GET")
      return DatabaseEndpoints.number(1000)
    case "_compact":
      try call.allow("POST")
      try call.requireJSON()
      _ = try store.sweep()
      return .ok(202)
    case "_view_cleanup":
      try call.allow("POST")
      try call.requireJSON()
      return .ok(202)
    case "_purge": return try purge(database, call)
    default: return try security(call)
    }
  }

  private static func number(_ number: Int) -> APIResponse {
    APIResponse { $0.integer(Int64(number)) }
  }

  private func revisionsLimit(_ call: APICall) throws -> APIResponse {
    try call.allow("GET,PUT")
    if call.method == "GET" { return DatabaseEndpoints.number(store.depth) }
    guard let limit = try call.json().natural(), limit > 0 else {
      throw APIError.badRequest("`rev_limit` must be a positive integer")
    }
    try store.setDepth(Int(clamping: limit))
    return .ok()
  }

  /// Users have the same rights in all databases.
  private func security(_ call: APICall) throws -> APIResponse {
    try call.allow("GET,PUT")
    if call.method == "PUT" {
      throw APIError.notImplemented("users have the same rights in all databases")
    }
    return APIResponse { output in
      output.beginDictionary()
      output.endDictionary()
    }
  }

  private func purge(_ database: ServedDatabase, _ call: APICall) throws -> APIResponse {
    try call.allow("POST")
    try call.requireJSON()
    let asked = try (call.object().members() ?? []).map { id, list throws in
      guard try list.kind == .array else { throw APIError.badRequest("Invalid list of revisions") }
      return (id: id, revisions: try APIQuery.revisions(list))
    }
    let purged = try database.write { writer in
      try asked.map { id, revisions in
        try (id: id, revisions: writer.purge(id, in: database.collection, leaves: revisions))
      }
    }
    return APIResponse(201) { output in
      output.beginDictionary()
      output.key("purge_seq")
      output.null()
      output.key("purged")
      output.beginDictionary()
      for (id, revisions) in purged {
        output.key(id)
        output.beginArray()
        for revision in revisions { output.text(revision.description) }
        output.endArray()
      }
      output.endDictionary()
      output.endDictionary()
    }
  }
}
