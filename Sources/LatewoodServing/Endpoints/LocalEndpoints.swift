import LatewoodDocuments
import LatewoodFleece
import LatewoodHTTP

/// Local documents: `_local/{id}`.
///
/// They have no history and are not replicated. As in CouchDB, the client counts their revisions:
/// an edit of `0-3` is `0-4`, an edit without a revision is `0-1`, and no edit conflicts.
struct LocalEndpoints {
  private let database: ServedDatabase

  static let prefix = "_local/"

  init(_ database: ServedDatabase) { self.database = database }

  func answer(_ id: String, hasAttachment: Bool, _ call: APICall) throws -> APIResponse {
    if hasAttachment { throw APIError.badRequest("_local documents do not accept attachments.") }
    switch call.method {
    case "GET", "HEAD": return try read(id, call)
    case "PUT":
      let document = try call.json()
      let revision = try database.write { writer in try LocalEndpoints.put(document, id, database, writer) }
      return LocalEndpoints.saved(201, id, revision)
    case "DELETE":
      let name = LocalEndpoints.name(of: id)
      let existed = try database.write { try $0.deleteLocal(name, in: database.collection) }
      guard existed else { throw APIError.missing }
      return LocalEndpoints.saved(200, id, "0-0")
    default: throw APIError.methodNotAllowed("DELETE,GET,HEAD,PUT")
    }
  }

  /// Returns an id without the prefix.
  private static func name(of id: String) -> String { id.dropping(bytes: prefix) ?? id }

  private static func saved(_ status: Int, _ id: String, _ revision: String) -> APIResponse {
    APIResponse(status) { output in
      output.beginDictionary()
      output.member("ok", true)
      output.member("id", id)
      output.member("rev", revision)
      output.endDictionary()
    }
  }

  private func read(_ id: String, _ call: APICall) throws -> APIResponse {
    let name = LocalEndpoints.name(of: id)
    guard let stored = try database.reads().localDocument(name) else { throw APIError.missing }
    return try APIResponse { output in
      try LocalEndpoints.write(id, stored, revisions: call.query.flag("revs"), to: &output)
    }
  }

  /// Writes a local document as one value.
  static func write(
    _ id: String, _ stored: (revision: String, body: [UInt8]), revisions: Bool = false,
    to output: inout JSONOutput
  ) throws {
    output.beginDictionary()
    output.member("_id", id)
    output.member("_rev", stored.revision)
    try RevisionWriter.write(membersOf: stored.body, to: &output)
    if revisions {
      output.key("_revisions")
      output.beginDictionary()
      output.member("start", 0)
      output.key("ids")
      output.beginArray()
      output.text(String(stored.revision.dropFirst(2)))
      output.endArray()
      output.endDictionary()
    }
    output.endDictionary()
  }

  /// Stores a local document in a batch, and returns its revision.
  static func put(
    _ document: FleeceElement, _ id: String, _ database: ServedDatabase, _ writer: DocumentWriter
  ) throws -> String {
    let incoming = try IncomingDocument(document)
    let name = name(of: id)
    if let objection = NameRules.objection(toIndex: name) {
      throw APIError(400, "illegal_docid", "The id of a local document \(objection)")
    }
    if incoming.isDeleted {
      try writer.deleteLocal(name, in: database.collection)
      return "0-0"
    }
    let read = try document.element(for: "_rev")?.string().flatMap { APIQuery.natural($0.dropFirst(2)) } ?? 0
    guard read < .max else { throw APIError.badRequest("Invalid rev format") }
    let revision = "0-\(read + 1)"
    try writer.setLocal(name, in: database.collection, body: incoming.body, revision: revision)
    return revision
  }
}
