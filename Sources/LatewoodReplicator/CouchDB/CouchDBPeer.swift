import LatewoodConcurrency
import LatewoodDocuments
import LatewoodFleece
import LatewoodHTTP

/// A database of a CouchDB server, or of another server with the same protocol.
///
/// Each call of the protocol is one request to an `HTTPTransport`, with three exceptions. Without
/// `_bulk_get`, documents are read one by one. Revisions with attachments are sent one by one. A
/// batch that is refused as a whole is halved repeatedly, to find the revisions that caused the
/// refusal.
///
/// 1. Credentials are sent to the origin of the URL only. A redirect is followed only within it.
/// 2. The size of everything that a server sends is limited before it is stored. A value of the
///    wrong type is an error, never a trap.
/// 3. Attachments are read when the target asks for their bytes, and sent while they are read.
package final class CouchDBPeer: ReplicationPeer {
  let requests: CouchDBRequests
  private let options: Options

  /// The abilities of the server that are known so far.
  private struct Abilities {
    var hasBulkGet = true
  }
  private let abilities = Guarded(Abilities())

  package struct Options: Sendable {
    /// The time between the heartbeats of a feed that waits, in milliseconds.
    package var heartbeat = 10_000
    /// The greatest number of requests for single documents at the same time.
    package var parallelism = 4
    /// The length of a batch from which it is sent in several requests, in bytes.
    package var batchLength = 8 << 20
    /// Whether the database is created if it does not exist.
    package var createsDatabase = false

    package init() {}
  }

  /// - Parameters:
  ///   - url: the URL of the database; credentials in the URL are used if no others are given.
  ///   - transport: sends requests to the origin of the URL.
  package init(
    _ url: HTTPURL, transport: any HTTPTransport, authentication: CouchDBAuthentication? = nil,
    fields: HTTPFields = HTTPFields(), options: Options = Options()
  ) {
    self.options = options
    let credentials = url.credentials.map { CouchDBAuthentication.session($0) } ?? .none
    requests = CouchDBRequests(url, transport, authentication ?? credentials, fields)
  }

  /// Creates the database unless it exists.
  package func create() async throws {
    let answer = try await requests.send("PUT", [], accepting: [201, 202, 412])
    answer.close()
  }

  package func information() async throws -> PeerInformation {
    do {
      return try await existingInformation()
    } catch let error as ReplicationError where error.code == .notFound && options.createsDatabase {
      try await create()
      return try await existingInformation()
    }
  }

  private func existingInformation() async throws -> PeerInformation {
    let answer = try await requests.json("GET", [""], limit: 1 << 20)
    guard let sequence = try answer["update_seq"].flatMap(CouchDBPeer.sequence) else {
      throw CouchDBRequests.notCouchDB("the answer for the database has no update_seq")
    }
    return PeerInformation(
      identity: requests.identity, lastSequence: sequence,
      epoch: try answer["instance_start_time"].flatMap(CouchDBPeer.sequence)?.text)
  }

  package func changes(_ request: ChangesRequest) async throws -> any ChangeFeed {
    CouchDBChangeFeed(request, requests, heartbeat: options.heartbeat)
  }

  /// Returns a sequence, which is text in new servers and a number in old ones.
  static func sequence(_ value: FleeceElement) throws -> PeerSequence? {
    switch try value.kind {
    case .string: try value.string().map { PeerSequence($0) }
    case .integer, .double, .array: PeerSequence(String(decoding: try value.json(), as: UTF8.self))
    default: nil
    }
  }

  // MARK: - Reading

  package func missing(_ asked: [DocumentRevisions]) async throws -> [MissingRevisions] {
    guard !asked.isEmpty else { return [] }
    var output = JSONOutput()
    output.beginDictionary()
    for document in asked {
      output.key(document.id)
      output.beginArray()
      for revision in document.revisions { output.text(revision.description) }
      output.endArray()
    }
    output.endDictionary()
    let answer = try await requests.json("POST", ["_revs_diff"], body: output.take(), limit: 64 << 20)
    var missing: [MissingRevisions] = []
    for (id, value) in try answer.members() {
      let revisions = try CouchDBPeer.revisions(value.element(for: "missing"))
      guard !revisions.isEmpty else { continue }
      let ancestors = try CouchDBPeer.revisions(value.element(for: "possible_ancestors"))
      missing.append(MissingRevisions(id, missing: revisions, possibleAncestors: ancestors))
    }
    return missing
  }

  private static func revisions(_ list: FleeceElement?) throws -> [RevisionID] {
    guard let list, let count = try list.count() else { return [] }
    return try (0..<count).map { index in
      guard let text = try list.element(at: index)?.string() else {
        throw CouchDBRequests.notCouchDB("a list of revisions has something else in it")
      }
      return try CouchDBDocument.revision(text)
    }
  }

  package func revisions(_ requested: [RevisionRequest]) async throws -> [PeerRevision] {
    guard !requested.isEmpty else { return [] }
    if abilities.withLock({ $0.hasBulkGet }) {
      if let found = try await bulkGet(requested) { return found }
      abilities.withLock { $0.hasBulkGet = false }
    }
    return try await CouchDBPeer.concurrently(requested, limit: options.parallelism) { request in
      try await self.openRevisions(request)
    }
    .flatMap { $0 }
  }

  /// Returns nil if the server has no `_bulk_get`.
  private func bulkGet(_ requested: [RevisionRequest]) async throws -> [PeerRevision]? {
    var output = JSONOutput()
    output.beginDictionary()
    output.key("docs")
    output.beginArray()
    for request in requested {
      for revision in request.revisions {
        output.beginDictionary()
        output.key("id")
        output.text(request.id)
        output.key("rev")
        output.text(revision.description)
        output.endDictionary()
      }
    }
    output.endArray()
    output.endDictionary()
    let query = [("revs", "true"), ("latest", "true"), ("attachments", "false")]
    let response = try await requests.send(
      "POST", ["_bulk_get"], query: query, body: output.take(), accepting: [200, 400, 404, 405, 501])
    guard response.head.status == 200 else {
      response.close()
      return nil
    }
    let answer: CouchDBAnswer
    do {
      answer = try await requests.json(of: response, limit: 256 << 20)
    } catch let error as HTTPError where error.kind == .tooLarge && requested.count > 1 {
      let middle = requested.count / 2
      guard let first = try await bulkGet(Array(requested[..<middle])),
        let second = try await bulkGet(Array(requested[middle...]))
      else { return nil }
      return first + second
    }
    return try await read(answer, requested)
  }

  private func read(_ answer: CouchDBAnswer, _ requested: [RevisionRequest]) async throws -> [PeerRevision] {
    guard let results = try answer["results"], let count = try results.count() else {
      throw CouchDBRequests.notCouchDB("the answer of _bulk_get has no results")
    }
    var found = RevisionList(requests)
    var failed: Set<TextKey> = []
    for index in 0..<count {
      guard let result = try results.element(at: index), let id = try result.element(for: "id")?.string(),
        let documents = try result.element(for: "docs"), let number = try documents.count()
      else { throw CouchDBRequests.notCouchDB("a result of _bulk_get has no documents") }
      for place in 0..<number {
        guard let document = try documents.element(at: place) else { continue }
        if let body = try document.element(for: "ok") {
          try found.add(body, id: id)
        } else if try document.element(for: "error")?.element(for: "error")?.string() != "not_found" {
          failed.insert(TextKey(id))
        }
      }
    }
    // A document that failed in the batch is requested alone.
    for request in requested where failed.contains(TextKey(request.id)) {
      found.add(try await openRevisions(request))
    }
    return found.list
  }

  /// The greatest length of the revisions in the query of a request, in characters: some proxies
  /// refuse URLs of more than 8 KiB.
  private static let queryLength = 6000

  /// Reads the revisions of one document from a server without `_bulk_get`.
  private func openRevisions(_ request: RevisionRequest) async throws -> [PeerRevision] {
    var found = RevisionList(requests)
    var rest = request.revisions[...]
    while !rest.isEmpty {
      var list = "["
      while let next = rest.first, list.utf8.count < CouchDBPeer.queryLength {
        list += "\(list.utf8.count > 1 ? "," : "")\"\(next)\""
        rest.removeFirst()
      }
      let query = [("revs", "true"), ("latest", "true"), ("attachments", "false"), ("open_revs", list + "]")]
      let answer = try await requests.json(
        "GET", CouchDBRequests.path(ofDocument: request.id), query: query, limit: 256 << 20)
      guard let count = try answer.root.count() else {
        throw CouchDBRequests.notCouchDB("the answer for a document is not a list of revisions")
      }
      for index in 0..<count {
        guard let body = try answer.root.element(at: index)?.element(for: "ok") else { continue }
        try found.add(body, id: request.id)
      }
    }
    return found.list
  }

  /// Revisions, each once: several requested ones may have been replaced by the same leaf.
  private struct RevisionList {
    private(set) var list: [PeerRevision] = []
    private var known: Set<[TextKey]> = []
    private let requests: CouchDBRequests

    init(_ requests: CouchDBRequests) { self.requests = requests }

    mutating func add(_ document: FleeceElement, id: String) throws {
      let revision = try CouchDBDocument.revision(of: document, requests)
      guard TextKey(revision.id) == TextKey(id) else {
        throw CouchDBRequests.notCouchDB("the server sent a document that was not requested")
      }
      add([revision])
    }

    mutating func add(_ revisions: [PeerRevision]) {
      for revision in revisions {
        let name = [TextKey(revision.id), TextKey("\(revision.history[0])")]
        if known.insert(name).inserted { list.append(revision) }
      }
    }
  }

  // MARK: - Writing

  package func insert(_ revisions: [PeerRevision]) async throws -> [InsertOutcome] {
    var outcomes = [InsertOutcome](repeating: .stored, count: revisions.count)
    var batch: [Encoded] = []
    var batchLength = 0
    var single: [Int] = []
    for (index, revision) in revisions.enumerated() {
      let json: [UInt8]
      do {
        json = try CouchDBDocument.json(of: revision)
      } catch let error as FleeceError {
        outcomes[index] = .refused(.init(.unacceptable, error.description))
        continue
      }
      // A server refuses the whole batch for a design document without the right to write it.
      guard revision.attachments.isEmpty, !revision.id.utf8.starts(with: NameRules.designPrefix.utf8) else {
        single.append(index)
        continue
      }
      let encoded = Encoded(index: index, revision: revision, json: json)
      if batchLength + encoded.json.count > options.batchLength, !batch.isEmpty {
        for (index, outcome) in try await insert(batch) { outcomes[index] = outcome }
        batch = []
        batchLength = 0
      }
      batch.append(encoded)
      batchLength += encoded.json.count
    }
    if !batch.isEmpty {
      for (index, outcome) in try await insert(batch) { outcomes[index] = outcome }
    }
    let put = try await CouchDBPeer.concurrently(single, limit: options.parallelism) { index in
      try await self.put(revisions[index])
    }
    for (index, outcome) in zip(single, put) { outcomes[index] = outcome }
    return outcomes
  }

  private struct Encoded: Sendable {
    let index: Int
    let revision: PeerRevision
    let json: [UInt8]
  }

  /// Inserts revisions without attachments. Returns the outcomes that are not `stored`.
  private func insert(_ batch: [Encoded]) async throws -> [(Int, InsertOutcome)] {
    var body = Array("{\"new_edits\":false,\"docs\":[".utf8)
    for (number, document) in batch.enumerated() {
      if number > 0 { body.append(UInt8(ascii: ",")) }
      body += document.json
    }
    body += "]}".utf8
    let response = try await requests.send(
      "POST", ["_bulk_docs"], body: body, accepting: [200, 201, 202, 400, 412, 413])
    let status = response.head.status
    guard status >= 400 else {
      return try refusals(try await requests.json(of: response, limit: 64 << 20), batch)
    }
    let failure = try await requests.failure(of: response)
    guard batch.count > 1 else { return [(batch[0].index, CouchDBPeer.outcome(status, failure.message))] }
    let middle = batch.count / 2
    return try await insert(Array(batch[..<middle])) + insert(Array(batch[middle...]))
  }

  /// Reads the answer of `_bulk_docs`: CouchDB lists only the refused revisions, other servers list
  /// all.
  private func refusals(_ answer: CouchDBAnswer, _ batch: [Encoded]) throws -> [(Int, InsertOutcome)] {
    guard let count = try answer.root.count() else {
      throw CouchDBRequests.notCouchDB("the answer of _bulk_docs is not a list")
    }
    var refused: [(Int, InsertOutcome)] = []
    for index in 0..<count {
      guard let item = try answer.root.element(at: index),
        let error = try item.element(for: "error")?.string()
      else { continue }
      let id = try item.element(for: "id")?.string().map { TextKey($0) }
      let revision = try item.element(for: "rev")?.string()
      let reason = try item.element(for: "reason")?.string() ?? error
      let outcome = CouchDBPeer.outcome(error, reason)
      for document in batch where TextKey(document.revision.id) == id {
        // Some servers do not name the revision.
        if revision == nil || revision == document.revision.history[0].description {
          refused.append((document.index, outcome))
        }
      }
    }
    return refused
  }

  /// Sends one revision by itself, with the contents of its attachments.
  private func put(_ revision: PeerRevision) async throws -> InsertOutcome {
    var type = "application/json"
    let body: HTTPBody
    if revision.attachments.contains(where: { $0.content != nil }) {
      let multipart = try MultipartDocument(revision)
      type = multipart.contentType
      body = .stream(multipart, length: multipart.length)
    } else {
      // CouchDB waits forever for the second part of a multipart body that has only one.
      body = .bytes(try CouchDBDocument.json(of: revision))
    }
    let response = try await requests.send(
      "PUT", CouchDBRequests.path(ofDocument: revision.id), query: [("new_edits", "false")],
      fields: HTTPFields([("Accept", "application/json"), ("Content-Type", type)]), stream: body,
      accepting: [200, 201, 202, 400, 401, 403, 412, 413, 500])
    let status = response.head.status
    if status < 400 {
      response.close()
      return .stored
    }
    let failure = try await requests.failure(of: response)
    if status == 500 {
      // This is CouchDB's answer to an attachment with a wrong digest. The server has not failed,
      // only its handling of this document.
      guard failure.error == "unknown_error" else { throw CouchDBRequests.error(status, failure, nil) }
      return .refused(.init(.failed, failure.message))
    }
    return CouchDBPeer.outcome(status, failure.message)
  }

  private static func outcome(_ status: Int, _ message: String) -> InsertOutcome {
    switch status {
    case 401: .refused(.init(.unauthorized, message))
    case 403: .refused(.init(.forbidden, message))
    case 412: .lacksAttachment
    case 413: .refused(.init(.tooLarge, message))
    default: .refused(.init(.unacceptable, message))
    }
  }

  private static func outcome(_ error: String, _ reason: String) -> InsertOutcome {
    switch error {
    case "forbidden": .refused(.init(.forbidden, reason))
    case "unauthorized": .refused(.init(.unauthorized, reason))
    case "too_large", "document_too_large", "attachment_too_large", "request_entity_too_large":
      .refused(.init(.tooLarge, reason))
    case "missing_stub": .lacksAttachment
    case "bad_request", "doc_validation", "illegal_docid", "invalid_doc", "doc_id_required":
      .refused(.init(.unacceptable, reason))
    default: .refused(.init(.failed, reason))
    }
  }

  package func ensureDurable() async throws -> String? {
    let response = try await requests.send(
      "POST", ["_ensure_full_commit"], body: [], accepting: [200, 201, 202, 404, 405, 501])
    guard response.head.status < 400 else {
      // A server without this request stores everything durably before it answers.
      response.close()
      return nil
    }
    let answer = try await requests.json(of: response, limit: 1 << 20)
    return try answer["instance_start_time"].flatMap(CouchDBPeer.sequence)?.text
  }

  // MARK: - Local documents

  package func localDocument(_ id: String) async throws -> LocalDocument? {
    let response = try await requests.send("GET", ["_local", id], accepting: [200, 404])
    guard response.head.status == 200 else {
      let failure = try await requests.failure(of: response)
      if failure.reason == "missing" || failure.reason == "deleted" { return nil }
      throw CouchDBRequests.error(404, failure, nil)
    }
    let answer = try await requests.json(of: response, limit: 16 << 20)
    guard let revision = try answer["_rev"]?.string() else {
      throw CouchDBRequests.notCouchDB("a local document has no revision")
    }
    return LocalDocument(revision: revision, body: try CouchDBDocument.body(of: answer.root))
  }

  package func putLocalDocument(_ id: String, body: [UInt8], revision: String?) async throws -> String {
    let json = try CouchDBDocument.json(id: "_local/\(id)", revision: revision, members: body)
    let answer = try await requests.json("PUT", ["_local", id], body: json, limit: 1 << 20)
    guard let revision = try answer["rev"]?.string() else {
      throw CouchDBRequests.notCouchDB("the answer for a local document has no revision")
    }
    return revision
  }

  // MARK: -

  /// Returns the results of a call for each item, in their order, a limited number at a time.
  private static func concurrently<Item: Sendable, Value: Sendable>(
    _ items: [Item], limit: Int, _ body: @escaping @Sendable (Item) async throws -> Value
  ) async throws -> [Value] {
    try await withThrowingTaskGroup(of: (Int, Value).self) { group in
      var values: [Int: Value] = [:]
      for (index, item) in items.enumerated() {
        if index >= limit, let (index, value) = try await group.next() { values[index] = value }
        group.addTask { (index, try await body(item)) }
      }
      for try await (index, value) in group { values[index] = value }
      return items.indices.compactMap { values[$0] }
    }
  }
}
