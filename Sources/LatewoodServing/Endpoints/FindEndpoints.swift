import LatewoodDocuments
import LatewoodFleece
import LatewoodHTTP
import LatewoodQuery

/// Queries by Mango selectors, and their indexes: `_find`, `_index`.
///
/// Indexes are those of the collection, so they have no design documents; the name of an index also
/// stands for its design document. Queries sort without an index, too.
struct FindEndpoints {
  private let database: ServedDatabase

  init(_ database: ServedDatabase) { self.database = database }

  func answer(_ name: String, _ call: APICall) throws -> APIResponse {
    switch name {
    case "_find": return try find(call)
    case "_explain":
      try call.allow("POST")
      throw APIError.notImplemented("this server does not have _explain yet")
    default: return try index(call)
    }
  }

  // MARK: - _find

  private func find(_ call: APICall) throws -> APIResponse {
    try call.allow("POST")
    try call.requireJSON()
    let options = try FindOptions(call.object())
    let reads = try database.reads()
    let page = try found(options, reads)
    var view = RevisionWriter()
    view.conflicts = options.conflicts
    return try APIResponse { output in
      output.beginDictionary()
      output.key("docs")
      output.beginArray()
      for id in page { try view.writeWinner(of: id, options.projection, reads, database.store, to: &output) }
      output.endArray()
      output.member("bookmark", options.bookmark(after: page.last, count: page.count))
      output.endDictionary()
    }
  }

  /// Returns the ids of the documents of a page.
  private func found(_ options: FindOptions, _ reads: DocumentReads) throws -> [String] {
    if options.limit == 0 { return [] }
    var request = options.request
    // Design documents are never found, but the query meets them.
    let designs = try reads.count(AllDocumentsQuery(prefix: NameRules.designPrefix))
    let (sum, isTooLarge) = options.skip.addingReportingOverflow(options.limit)
    let (needed, isTooLargeWithDesigns) = sum.addingReportingOverflow(designs)
    if !isTooLarge, !isTooLargeWithDesigns { request.limit = needed }
    var ids: [String] = []
    var skipped = 0
    try reads.find(request) { document in
      let id = document.id
      if id.begins(withBytes: NameRules.designPrefix) { return true }
      if skipped < options.skip {
        skipped += 1
        return true
      }
      ids.append(id)
      return ids.count < options.limit
    }
    return ids
  }

  // MARK: - _index

  private func index(_ call: APICall) throws -> APIResponse {
    // The name of the design document is one segment or two.
    let name =
      call.path.count == 6 && call.path[2] == "_design" ? call.path.dropFirst(4) : call.path.dropFirst(3)
    if name.count == 2, name.first == "json", let index = name.last {
      try call.allow("DELETE")
      guard try database.store.dropIndex(index, in: database.collection) else {
        throw APIError.missing
      }
      return .ok()
    }
    guard call.path.count == 2 else {
      throw APIError.notImplemented("indexes have no design documents, so they are deleted by name")
    }
    try call.allow("GET,POST")
    return call.method == "GET" ? try list() : try create(call)
  }

  private func list() throws -> APIResponse {
    let indexes = try database.reads().indexList()
    return APIResponse { output in
      output.beginDictionary()
      output.member("total_rows", indexes.count + 1)
      output.key("indexes")
      output.beginArray()
      FindEndpoints.write("_all_docs", nil, [.init(MatchedDocument.idField)], to: &output)
      for index in indexes {
        FindEndpoints.write(
          index.name, "\(NameRules.designPrefix)\(index.name)", index.definition.parts, to: &output)
      }
      output.endArray()
      output.endDictionary()
    }
  }

  private static func write(
    _ name: String, _ design: String?, _ parts: [IndexDefinition.Part], to output: inout JSONOutput
  ) {
    output.beginDictionary()
    output.key("ddoc")
    if let design { output.text(design) } else { output.null() }
    output.member("name", name)
    output.member("type", design == nil ? "special" : "json")
    output.key("def")
    output.beginDictionary()
    output.key("fields")
    output.beginArray()
    for part in parts {
      output.beginDictionary()
      output.member(part.path.text + (part.isEach ? "[]" : ""), part.isDescending ? "desc" : "asc")
      output.endDictionary()
    }
    output.endArray()
    output.endDictionary()
    output.endDictionary()
  }

  private func create(_ call: APICall) throws -> APIResponse {
    try call.requireJSON()
    let body = try call.object()
    let type = try body.element(for: "type")?.string() ?? "json"
    if type == "text" { throw APIError.notImplemented("full-text indexes are created by the app") }
    guard type == "json" else { throw APIError(400, "invalid_index", "Invalid type for index: \(type)") }
    guard let index = try body.element(for: "index"), let fields = try index.element(for: "fields") else {
      throw APIError(400, "missing_required_key", "Missing required key: fields")
    }
    let order = try FindOptions.order(fields)
    let condition = try index.element(for: "partial_filter_selector").map { selector in
      do throws(QueryError) { return try MangoParser.predicate(of: selector) } catch {
        throw APIError(selector: error)
      }
    }
    let definition = try IndexDefinition(
      order.map { .init($0.path, isDescending: $0.isDescending) }, where: condition)
    let given = try body.element(for: "name")?.string()
    let name = given ?? definition.parts.map(\.text).joined(separator: ",")
    if let objection = NameRules.objection(toIndex: name) {
      throw APIError(400, "invalid_index", "The name of the index \(objection)")
    }
    let existed = try database.reads().indexList().contains { $0.name == name }
    try database.store.createIndex(name, definition, in: database.collection)
    let design = try body.element(for: "ddoc")?.string() ?? name
    return APIResponse { output in
      output.beginDictionary()
      output.member("result", existed ? "exists" : "created")
      output.member(
        "id", design.begins(withBytes: NameRules.designPrefix) ? design : "\(NameRules.designPrefix)\(design)"
      )
      output.member("name", name)
      output.endDictionary()
    }
  }
}
