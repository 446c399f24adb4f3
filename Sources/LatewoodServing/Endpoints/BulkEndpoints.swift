import LatewoodDocuments
import LatewoodFleece
import LatewoodHTTP

/// Requests about many documents: `_bulk_docs`, `_bulk_get`, `_revs_diff`, `_missing_revs`.
struct BulkEndpoints {
  private let database: ServedDatabase

  init(_ database: ServedDatabase) { self.database = database }

  func answer(_ name: String, _ call: APICall) throws -> APIResponse {
    try call.allow("POST")
    if name != "_bulk_get" { try call.requireJSON() }
    switch name {
    case "_bulk_docs": return try save(call)
    case "_bulk_get": return try read(call)
    default: return try difference(call, isShort: name == "_missing_revs")
    }
  }

  // MARK: - _bulk_docs

  private enum Item {
    case document(DocumentEditor.Prepared)
    case local(FleeceElement, id: String)
    case refused(Outcome)
  }

  private func save(_ call: APICall) throws -> APIResponse {
    let request = try call.object()
    guard let list = try request.element(for: "docs") else {
      throw APIError.badRequest("POST body must include `docs` parameter.")
    }
    guard let documents = try list.elements() else {
      throw APIError.badRequest("`docs` parameter must be an array.")
    }
    if try request.element(for: "all_or_nothing")?.boolean() == true {
      throw APIError(417, "not_implemented", "all_or_nothing is not supported")
    }
    let isEdit = try request.element(for: "new_edits")?.boolean() ?? true
    let editor = database.editor
    let items = try documents.map { json in
      do { return try item(json, isEdit: isEdit, editor) } catch let error as APIError
        where BulkEndpoints.isAboutOne(error, isEdit: isEdit)
      {
        let revision = try json.element(for: "_rev")?.string()
        return .refused(
          Outcome(id: try json.element(for: "_id")?.string() ?? "", revision: revision, error: error))
      }
    }
    let outcomes = try database.write { writer in
      try items.map { item in try save(item, isEdit: isEdit, editor, writer) }
    }
    return APIResponse(201) { output in
      output.beginArray()
      // Revisions of other replicas are only listed if they were refused.
      for outcome in outcomes where isEdit || outcome.error != nil { outcome.write(to: &output) }
      output.endArray()
    }
  }

  /// Whether a document that cannot be saved does not prevent the others: the user must not edit
  /// it, or CouchDB takes it from replicas, so that it would otherwise stop a replication for ever.
  private static func isAboutOne(_ error: APIError, isEdit: Bool) -> Bool {
    if error.status == 401 || error.status == 403 { return true }
    return !isEdit && (error.error == "illegal_docid" || error.status == 415 || error == .oddRevision)
  }

  private func item(_ json: FleeceElement, isEdit: Bool, _ editor: DocumentEditor) throws -> Item {
    let document = try IncomingDocument(json)
    let id = document.id ?? database.service.makeID()
    if id.begins(withBytes: LocalEndpoints.prefix) { return .local(json, id: id) }
    try IncomingDocument.check(id: id)
    if !isEdit { _ = try document.foreignHistory() }
    return .document(try editor.prepare(document, id: id))
  }

  private struct Outcome {
    var id: String
    var revision: String?
    var error: APIError?

    func write(to output: inout JSONOutput) {
      output.beginDictionary()
      if error == nil { output.member("ok", true) }
      output.member("id", id)
      if let revision { output.member("rev", revision) }
      if let error {
        output.member("error", error.error)
        output.member("reason", error.reason)
      }
      output.endDictionary()
    }
  }

  /// Saves one document. A document that is refused does not prevent the others.
  private func save(
    _ item: Item, isEdit: Bool, _ editor: DocumentEditor, _ writer: DocumentWriter
  ) throws -> Outcome {
    switch item {
    case .refused(let outcome): return outcome
    case .local(let json, let id):
      var outcome = Outcome(id: id)
      do { outcome.revision = try LocalEndpoints.put(json, id, database, writer) } catch let error as APIError
      {
        outcome.error = error
      }
      return outcome
    case .document(let prepared):
      var outcome = Outcome(id: prepared.id)
      do {
        outcome.revision = try (isEdit ? editor.edit : editor.insert)(prepared, writer).description
      } catch let error as APIError {
        outcome.error = error
      } catch let error as DatabaseError where BulkEndpoints.isRefusal(error) {
        outcome.error = APIError(error)
      }
      if outcome.error != nil, !isEdit {
        outcome.revision = try prepared.document.foreignHistory().first?.description
      }
      return outcome
    }
  }

  /// Whether an error is about one document: the batch has changed nothing for it, and can go on.
  private static func isRefusal(_ error: DatabaseError) -> Bool {
    switch error.code {
    case .conflict, .notFound, .notUnique, .badDocumentID, .badRevisionID: true
    default: false
    }
  }

  // MARK: - _bulk_get

  private func read(_ call: APICall) throws -> APIResponse {
    guard let asked = try call.json().element(for: "docs")?.elements() else {
      throw APIError.badRequest("Missing JSON list of 'docs'.")
    }
    let reads = try database.reads()
    let view = try RevisionWriter(call.query)
    let isLatest = call.query.flag("latest")
    return try APIResponse { output in
      output.beginDictionary()
      output.key("results")
      output.beginArray()
      for item in asked {
        output.beginDictionary()
        output.key("id")
        let id = try item.element(for: "id")?.string()
        if let id { output.text(id) } else { output.null() }
        output.key("docs")
        output.beginArray()
        try write(item, id, view, isLatest: isLatest, reads, to: &output)
        output.endArray()
        output.endDictionary()
      }
      output.endArray()
      output.endDictionary()
    }
  }

  private func write(
    _ item: FleeceElement, _ id: String?, _ view: RevisionWriter, isLatest: Bool, _ reads: DocumentReads,
    to output: inout JSONOutput
  ) throws {
    let named = try item.element(for: "rev")?.string()
    guard let id else {
      let error = APIError.badRequest("document id missed")
      return BulkEndpoints.write(error, nil, nil, to: &output)
    }
    var view = view
    let revision: RevisionID?
    do throws(APIError) {
      revision = try named.map { (text) throws(APIError) in try APIQuery.revision(text) }
    } catch { return BulkEndpoints.write(error, id, named, to: &output) }
    if let list = try item.element(for: "atts_since") {
      view.attachmentsSince = try APIQuery.revisions(list)
    }
    guard let record = try reads.record(of: id) else {
      return BulkEndpoints.write(.missing, id, named ?? "undefined", to: &output)
    }
    for found in try reads.open(revision.map { [$0] }, of: record, isLatest: isLatest) {
      switch found {
      case .missing(let revision): BulkEndpoints.write(.missing, id, revision.description, to: &output)
      case .found(let node, let body):
        output.beginDictionary()
        output.key("ok")
        try view.write(id, node, of: record, body, reads, database.store, to: &output)
        output.endDictionary()
      }
    }
  }

  private static func write(
    _ error: APIError, _ id: String?, _ revision: String?, to output: inout JSONOutput
  ) {
    output.beginDictionary()
    output.key("error")
    output.beginDictionary()
    output.key("id")
    if let id { output.text(id) } else { output.null() }
    output.key("rev")
    if let revision { output.text(revision) } else { output.null() }
    output.member("error", error.error)
    output.member("reason", error.reason)
    output.endDictionary()
    output.endDictionary()
  }

  // MARK: - _revs_diff

  private func difference(_ call: APICall, isShort: Bool) throws -> APIResponse {
    // CouchDB allows digests that no revision here can have. They are missing.
    var odd: [(id: String, revisions: [String])] = []
    let asked = try (call.object().members() ?? []).map { id, list in
      let (revisions, others) = try APIQuery.possibleRevisions(list)
      if !others.isEmpty { odd.append((id, others)) }
      return (id: id, revisions: revisions)
    }
    let found = try database.reads().difference(asked)
    let others = Dictionary(odd.map { (ExactName($0.id), $0.revisions) }, uniquingKeysWith: { $0 + $1 })
    let ids = Set(found.map { ExactName($0.id) })
    return APIResponse { output in
      output.beginDictionary()
      if isShort {
        output.key("missing_revs")
        output.beginDictionary()
      }
      for item in found {
        let missing = item.missing.sorted().map(\.description) + (others[ExactName(item.id)] ?? [])
        BulkEndpoints.write(item.id, missing, item.possibleAncestors, isShort: isShort, to: &output)
      }
      for item in odd where !ids.contains(ExactName(item.id)) {
        BulkEndpoints.write(item.id, item.revisions, [], isShort: isShort, to: &output)
      }
      if isShort { output.endDictionary() }
      output.endDictionary()
    }
  }

  private static func write(
    _ id: String, _ missing: [String], _ ancestors: [RevisionID], isShort: Bool,
    to output: inout JSONOutput
  ) {
    output.key(id)
    if isShort { return write(missing, to: &output) }
    output.beginDictionary()
    output.key("missing")
    write(missing, to: &output)
    if !ancestors.isEmpty {
      output.key("possible_ancestors")
      write(ancestors.map(\.description), to: &output)
    }
    output.endDictionary()
  }

  private static func write(_ revisions: [String], to output: inout JSONOutput) {
    output.beginArray()
    for revision in revisions { output.text(revision) }
    output.endArray()
  }
}
