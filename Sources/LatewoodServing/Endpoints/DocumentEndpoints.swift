import LatewoodDocuments
import LatewoodFleece
import LatewoodHTTP
import LatewoodReplicator

/// Single documents: `/{db}/{id}`, and `POST /{db}`.
struct DocumentEndpoints {
  private let database: ServedDatabase

  init(_ database: ServedDatabase) { self.database = database }

  func answer(_ id: String, _ call: APICall) throws -> APIResponse {
    switch call.method {
    case "GET", "HEAD":
      if let list = call.query["open_revs"], list != "[]" { return try openRevisions(list, of: id, call) }
      return try read(id, call)
    case "PUT": return try put(id, call)
    case "DELETE": return try delete(id, call)
    case "COPY": return try copy(id, call)
    // Only forms for browsers post to a document.
    case "POST": throw APIError.badRequest("Referer header required.")
    default: throw APIError.methodNotAllowed("DELETE,GET,HEAD,POST,PUT,COPY")
    }
  }

  // MARK: - Reading

  private func read(_ id: String, _ call: APICall) throws -> APIResponse {
    var view = try RevisionWriter(call.query)
    let reads = try database.reads()
    let (record, node, body) = try reads.revision(of: id, call, followsLatest: call.query.flag("latest"))
    let etag = "\"\(node.id)\""
    let showsMetadata = view.showsMetadata(of: record.tree)
    if !showsMetadata, call.matches(etag) {
      return APIResponse(304, fields: HTTPFields([("ETag", etag)]))
    }
    view.follows = view.showsContent && call.prefersParts
    var parts = MultipartOutput(boundary: database.service.makeID())
    var following: [BodyAttachments.Attachment] = []
    var response = try APIResponse { output in
      following = try view.write(id, node, of: record, body, reads, database.store, to: &output)
    }
    if !following.isEmpty {
      try parts.add([("Content-Type", "application/json")], response.body)
      for attachment in following { try parts.add(attachment, database.store) }
      response = parts.response("related")
    }
    return showsMetadata ? response : response.adding("ETag", etag)
  }

  private func openRevisions(_ list: String, of id: String, _ call: APICall) throws -> APIResponse {
    let reads = try database.reads()
    let record = try reads.record(of: id)
    var asked: [RevisionID]?
    if list != "all" { asked = try call.query.revisions("open_revs") }
    if asked == nil, record == nil { throw APIError.missing }
    var view = try RevisionWriter(call.query)
    let inParts = call.prefersParts
    view.follows = inParts && view.showsContent
    let found = try reads.open(asked, of: record, isLatest: call.query.flag("latest"))
    if inParts { return try parts(of: found, id, record, view, reads) }
    return try APIResponse { output in
      output.beginArray()
      for item in found {
        output.beginDictionary()
        switch item {
        case .missing(let revision): output.member("missing", revision.description)
        case .found(let node, let body):
          guard let record else { break }
          output.key("ok")
          try view.write(id, node, of: record, body, reads, database.store, to: &output)
        }
        output.endDictionary()
      }
      output.endArray()
    }
  }

  private func parts(
    of found: [OpenRevision], _ id: String, _ record: DocumentRecord?, _ view: RevisionWriter,
    _ reads: DocumentReads
  ) throws -> APIResponse {
    var parts = MultipartOutput(boundary: database.service.makeID())
    for item in found {
      var output = JSONOutput()
      switch item {
      case .missing(let revision):
        output.beginDictionary()
        output.member("missing", revision.description)
        output.endDictionary()
        try parts.add([("Content-Type", "application/json; error=\"true\"")], output.take())
      case .found(let node, let body):
        guard let record else { continue }
        let following = try view.write(id, node, of: record, body, reads, database.store, to: &output)
        if following.isEmpty {
          try parts.add([("Content-Type", "application/json")], output.take())
          continue
        }
        var inner = MultipartOutput(boundary: database.service.makeID())
        try inner.add([("Content-Type", "application/json")], output.take())
        for attachment in following { try inner.add(attachment, database.store) }
        try parts.add([("Content-Type", inner.contentType("related"))], inner.whole)
      }
    }
    return parts.response("mixed")
  }

  // MARK: - Writing

  /// Answers `POST /{db}`: a new document with an id of the server, or with its own.
  func post(_ call: APICall) throws -> APIResponse {
    try call.requireJSON()
    let json = try call.json()
    let document = try IncomingDocument(json)
    let id = document.id ?? database.service.makeID()
    if id.begins(withBytes: LocalEndpoints.prefix) {
      let revision = try database.write { try LocalEndpoints.put(json, id, database, $0) }
      return try saved(id, revision, document, call)
    }
    return try save(document, id: id, call)
  }

  private func put(_ id: String, _ call: APICall) throws -> APIResponse {
    try IncomingDocument.check(id: id)
    if let type = call.fields["Content-Type"].flatMap({ HeaderValue($0) }), type.value == "multipart/related",
      let boundary = type["boundary"]
    {
      let input = try MultipartInput(call.body, boundary: boundary)
      return try save(input.document, id: id, parts: input.contents, call)
    }
    return try save(try IncomingDocument(call.json()), id: id, call)
  }

  private func save(
    _ document: IncomingDocument, id: String, parts: [ExactName: IncomingDocument.Part] = [:], _ call: APICall
  ) throws -> APIResponse {
    try IncomingDocument.check(id: id)
    var document = document
    let editor = database.editor
    if call.query["new_edits"] == "false" {
      _ = try document.foreignHistory()
      let prepared = try editor.prepare(document, id: id, parts: parts)
      let revision = try database.write { try editor.insert(prepared, $0) }
      return try saved(id, revision.description, document, call)
    }
    if let named = try call.namedRevision() {
      if let other = document.revision, other != named {
        throw APIError.badRequest("Document rev from request body and query string have different values")
      }
      document.revision = named
    }
    let prepared = try editor.prepare(document, id: id, parts: parts)
    let revision = try database.write { try editor.edit(prepared, $0) }
    return try saved(id, revision.description, document, call)
  }

  private func saved(
    _ id: String, _ revision: String, _ document: IncomingDocument, _ call: APICall
  ) throws -> APIResponse {
    // Everything is committed before it is answered, but a client that asks for less gets the
    // answer that it expects.
    let isBatched = call.query["batch"] == "ok"
    let status = isBatched ? 202 : document.isDeleted ? 200 : 201
    var response = APIResponse(status) { output in
      output.beginDictionary()
      output.member("ok", true)
      output.member("id", id)
      if !isBatched { output.member("rev", revision) }
      output.endDictionary()
    }
    if !isBatched { response.fields.add("ETag", "\"\(revision)\"") }
    return response.adding(
      "Location", "/\(PercentCoding.encode(database.name))/\(PercentCoding.encode(id))")
  }

  private func delete(_ id: String, _ call: APICall) throws -> APIResponse {
    guard let head = try database.reads().head(of: id) else { throw APIError.missing }
    if head.isDeleted { throw APIError.deleted }
    guard let revision = try call.namedRevision() else { throw APIError.conflict }
    var document = IncomingDocument(body: try IncomingDocument.empty())
    document.isDeleted = true
    document.revision = revision
    let prepared = try database.editor.prepare(document, id: id)
    let saved = try database.write { try database.editor.edit(prepared, $0) }
    return try self.saved(id, saved.description, document, call)
  }

  private func copy(_ id: String, _ call: APICall) throws -> APIResponse {
    guard let text = call.fields["Destination"] else {
      throw APIError.badRequest("Destination header is mandatory for COPY.")
    }
    guard let target = HTTPTarget(parsing: "/" + text), target.segments.count <= 2 else {
      throw APIError.badRequest("Destination has to be the id of a document")
    }
    let destination = target.segments.joined(separator: "/")
    try IncomingDocument.check(id: destination)
    let parent = try target["rev"].map { try APIQuery.revision($0) }
    let asked = try call.query.revision("rev")
    let editor = database.editor
    let revision = try database.write { writer in
      let reads = try writer.reads(database.collection)
      guard let record = try reads.record(of: id),
        let node = asked.map({ record.tree[$0] }) ?? record.tree.winner
      else { throw APIError.missing }
      guard !node.isDeleted || asked != nil else { throw APIError.deleted }
      guard let body = try reads.body(of: node, in: record) else { throw APIError.missing }
      return try editor.copy(body, to: destination, parent: parent, writer)
    }
    return try saved(destination, revision.description, IncomingDocument(body: []), call)
  }
}

/// A revision that `open_revs` asks for.
enum OpenRevision {
  case found(RevisionTree.Node, body: [UInt8])
  case missing(RevisionID)
}

extension DocumentReads {
  /// Returns the revision that a request asks for by `rev`, or the winner, with its body.
  ///
  /// - Parameter followsLatest: whether the best leaf that follows from a revision stands for it.
  /// - Throws: `APIError` 404.
  func revision(
    of id: String, _ call: APICall, followsLatest: Bool = false
  ) throws -> (record: DocumentRecord, node: RevisionTree.Node, body: [UInt8]) {
    guard let record = try record(of: id), let winner = record.tree.winner else { throw APIError.missing }
    var node = winner
    if let revision = try call.query.revision("rev") {
      guard let asked = record.tree[revision] else { throw APIError.missing }
      node = followsLatest ? record.tree.latest(of: asked) : asked
    } else if winner.isDeleted {
      throw APIError.deleted
    }
    guard let body = try body(of: node, in: record) else { throw APIError.missing }
    return (record, node, body)
  }

  /// Returns revisions of a record with their bodies.
  ///
  /// - Parameters:
  ///   - asked: the revisions; nil for all leaves.
  ///   - isLatest: whether a revision that is not a leaf stands for the leaves that follow from it.
  func open(
    _ asked: [RevisionID]?, of record: DocumentRecord?, isLatest: Bool
  ) throws -> [OpenRevision] {
    guard let record else { return (asked ?? []).map { .missing($0) } }
    guard let asked else {
      return try record.tree.leaves.sorted { $0.id < $1.id }.map { try open($0, of: record) }
    }
    var found: [OpenRevision] = []
    var seen: Set<RevisionID> = []
    for revision in asked {
      guard let node = record.tree[revision] else {
        found.append(.missing(revision))
        continue
      }
      let nodes = isLatest ? record.tree.leaves(after: node) : [node]
      for node in nodes where seen.insert(node.id).inserted { found.append(try open(node, of: record)) }
    }
    return found
  }

  private func open(_ node: RevisionTree.Node, of record: DocumentRecord) throws -> OpenRevision {
    try body(of: node, in: record).map { .found(node, body: $0) } ?? .missing(node.id)
  }
}

extension RevisionTree {
  /// Returns the leaves that follow from a revision, or the revision itself if it is one, in the
  /// order of their ids.
  func leaves(after node: Node) -> [Node] {
    if node.isLeaf { return [node] }
    return leaves.filter { leaf in history(of: leaf.id).contains { $0.id == node.id } }
      .sorted { $0.id < $1.id }
  }

  /// Returns the best leaf that follows from a revision.
  func latest(of node: Node) -> Node {
    if node.isLeaf { return node }
    return leaves.first { leaf in history(of: leaf.id).contains { $0.id == node.id } } ?? node
  }
}

extension APICall {
  /// Returns the revision that the query or the field If-Match names; nil if neither does.
  func namedRevision() throws -> RevisionID? {
    if let revision = try query.revision("rev") { return revision }
    guard let text = fields["If-Match"] else { return nil }
    return try APIQuery.revision(text.filter { $0 != "\"" })
  }

  /// Whether the client has the version with an entity tag; `*` stands for any.
  func matches(_ etag: String) -> Bool {
    fields.values("If-None-Match").flatMap { $0.split(separator: ",") }.contains { part in
      // A tag has no spaces.
      let tag = part.filter { $0 != " " && $0 != "\t" }
      return tag == etag || tag == "W/\(etag)" || tag == "*"
    }
  }
}
