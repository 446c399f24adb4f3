import LatewoodConcurrency
import LatewoodDevice
import LatewoodFleece
import LatewoodHTTP
import LatewoodHTTPScripts

@testable import LatewoodReplicator

/// One side of a recorded session: a server that returns the recorded answers to equivalent
/// requests, even in other batches and another order.
///
/// The answers of CouchDB are split by document: whether it was missing, its contents, and whether
/// it was refused. Failures are returned first, as often as they were recorded. A request that
/// never succeeded fails forever.
///
/// `couchdb-sessions.txt` contains sessions of CouchDB 3.5's replicator, with one exchange on each
/// line.
final class RecordedServer: Sendable {
  private struct Answer {
    let status: Int
    let type: String
    let body: [UInt8]
  }

  private struct State {
    /// The failures of each kind of request that are still to come.
    var failures: [String: [Answer]] = [:]
    var locals: [String: [UInt8]] = [:]
    var asked: Set<String> = []
    var stored: Set<String> = []
  }

  /// The ids with revisions that the recorded client asked for in `_revs_diff`, and those that it
  /// stored.
  private(set) nonisolated(unsafe) var recordedAsked: Set<String> = []
  private(set) nonisolated(unsafe) var recordedStored: Set<String> = []
  private nonisolated(unsafe) var information: Answer?
  private nonisolated(unsafe) var session: Answer?
  /// The rows of `_changes`.
  private nonisolated(unsafe) var changes: [FleeceElement] = []
  /// The documents by their ids with revisions.
  private nonisolated(unsafe) var documents: [String: [UInt8]] = [:]
  private nonisolated(unsafe) var attachments: [String: [UInt8]] = [:]
  private nonisolated(unsafe) var differences: [String: [UInt8]] = [:]
  /// The items of the answers of `_bulk_docs`, by id.
  private nonisolated(unsafe) var outcomes: [String: [UInt8]] = [:]
  private nonisolated(unsafe) var puts: [String: Answer] = [:]
  /// The id of a document for which every batch is refused.
  private nonisolated(unsafe) var tooLarge: String?
  private nonisolated(unsafe) var isForEver: Set<String> = []
  private let state = Guarded(State())

  /// The ids with revisions that this client has asked for, and those that it has stored.
  var asked: Set<String> { state.withLock { $0.asked } }
  var stored: Set<String> { state.withLock { $0.stored } }

  // SAFETY of the properties that are not isolated: they are set here, and only read later.
  init(_ session: String, _ side: String) throws {
    var succeeded: Set<String> = []
    for line in try RecordedServer.lines() {
      let exchange = try CouchDBAnswer(Array(line.utf8))
      guard try exchange["session"]?.string() == session, try exchange["side"]?.string() == side else {
        continue
      }
      let kind = try take(exchange)
      if let kind { succeeded.insert(kind) }
    }
    isForEver = Set(state.withLock { Array($0.failures.keys) }).subtracting(succeeded)
  }

  private static func lines(beside file: StaticString = #filePath) throws -> [Substring] {
    let directory = "\(file)".split(separator: "/", omittingEmptySubsequences: false).dropLast()
    let device = try FileVolume().open(directory.joined(separator: "/") + "/couchdb-sessions.txt", .readOnly)
    defer { device.close() }
    var bytes = [UInt8](repeating: 0, count: Int(try device.size()))
    _ = try bytes.withUnsafeMutableBytes { try device.read(into: $0, at: 0) }
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
  }

  // MARK: - Reading a recording

  /// Reads an exchange. Returns its kind if it succeeded.
  private func take(_ exchange: CouchDBAnswer) throws -> String? {
    let method = try exchange["method"]?.string() ?? ""
    let target = HTTPTarget(parsing: try exchange["path"]?.string() ?? "") ?? HTTPTarget([])
    guard case .integer(let status) = try exchange["status"]?.number() else { return nil }
    let text = try exchange["text"]?.string().map { Array($0.utf8) }
    let answer = Answer(
      status: Int(status), type: try exchange["type"]?.string() ?? "application/json",
      body: try text ?? Base64.decode(Array((exchange["base64"]?.string() ?? "").utf8)) ?? [])
    let kind = RecordedServer.kind(method, target)
    if kind == "_session" {
      session = answer
      return nil
    }
    let request = try exchange["request"]?.string().map { try CouchDBAnswer(Array($0.utf8)) }
    if kind == "GET _local", status == 404 { return nil }
    if kind == "PUT _local" {
      if status >= 400 { state.withLock { $0.failures[kind, default: []].append(answer) } }
      return kind
    }
    if kind.hasPrefix("PUT ") {
      let id = String(kind.dropFirst(4))
      puts[id] = answer
      if status < 400, let stored = try CouchDBAnswer(answer.body)["rev"]?.string() {
        recordedStored.insert("\(id) \(stored)")
      }
      return nil
    }
    if status == 413, let id = try CouchDBAnswer(answer.body)["reason"]?.string() {
      tooLarge = id
      return kind
    }
    let json = answer.type.hasPrefix("application/json") ? try? CouchDBAnswer(answer.body) : nil
    guard status < 400, json != nil || answer.type.hasPrefix("multipart/") else {
      state.withLock { $0.failures[kind, default: []].append(answer) }
      return nil
    }
    try take(kind, target, request, answer, json)
    return kind
  }

  private func take(
    _ kind: String, _ target: HTTPTarget, _ request: CouchDBAnswer?, _ answer: Answer, _ json: CouchDBAnswer?
  ) throws {
    switch kind {
    case "information": information = answer
    case "_changes":
      let known = try Set(changes.map { try $0.element(for: "seq")?.json() })
      for row in try RecordedServer.elements(json?["results"]) {
        if try !known.contains(row.element(for: "seq")?.json()) { changes.append(row) }
      }
    case "_revs_diff":
      for (id, list) in try request?.members() ?? [] {
        for revision in try RecordedServer.elements(list) {
          recordedAsked.insert("\(id) \(try revision.string() ?? "")")
        }
      }
      for (id, value) in try json?.members() ?? [] { differences[id] = try value.json() }
    case "_bulk_get":
      for result in try RecordedServer.elements(json?["results"]) {
        for document in try RecordedServer.elements(result.element(for: "docs")) {
          if let body = try document.element(for: "ok") { try take(document: body) }
        }
      }
    case "_bulk_docs":
      var refused: Set<String> = []
      for item in try RecordedServer.elements(json?.root) {
        let id = try item.element(for: "id")?.string() ?? ""
        outcomes[id] = try item.json()
        if try item.element(for: "error") != nil { refused.insert(id) }
      }
      for document in try RecordedServer.elements(request?["docs"]) {
        let name = try RecordedServer.name(document)
        if !refused.contains(name.id) { recordedStored.insert("\(name.id) \(name.revision)") }
      }
    case "document": try take(multipart: answer)
    default: break
    }
  }

  private func take(document: FleeceElement) throws {
    let name = try RecordedServer.name(document)
    documents["\(name.id) \(name.revision)"] = try document.json()
  }

  /// Reads the attachments in a `multipart/mixed` body that contains a `multipart/related` body.
  private func take(multipart answer: Answer) throws {
    for part in try RecordedServer.parts(answer.body, answer.type) {
      var id: String?
      for inner in try RecordedServer.parts(part.bytes, part.fields["Content-Type"] ?? "") {
        if let id {
          let name = inner.fields["Content-Disposition"].flatMap { HeaderValue($0)?["filename"] } ?? ""
          attachments["\(id)/\(name)"] = inner.bytes
        } else {
          id = try CouchDBAnswer(inner.bytes)["_id"]?.string()
        }
      }
    }
  }

  private static func parts(_ bytes: [UInt8], _ type: String) throws -> [(fields: HTTPFields, bytes: [UInt8])]
  {
    guard let boundary = HeaderValue(type)?["boundary"] else { return [] }
    var parts: [(fields: HTTPFields, bytes: [UInt8])] = []
    var parser = try MultipartParser(boundary: boundary)
    parser.append(bytes)
    while let event = try parser.next() {
      switch event {
      case .part(let fields): parts.append((fields, []))
      case .data(let data): parts[parts.count - 1].bytes += data
      case .end: break
      }
    }
    return parts
  }

  private static func kind(_ method: String, _ target: HTTPTarget) -> String {
    let path = target.segments.dropFirst()
    switch path.first {
    case nil where target.segments.first == "_session": return "_session"
    case nil, "": return "information"
    case "_changes", "_revs_diff", "_bulk_get", "_bulk_docs", "_ensure_full_commit": return path.first ?? ""
    case "_local": return "\(method) _local"
    default:
      if method == "PUT" { return "PUT \(path.joined(separator: "/"))" }
      return target["open_revs"] == nil ? "attachment" : "document"
    }
  }

  private static func elements(_ list: FleeceElement?) throws -> [FleeceElement] {
    guard let list else { return [] }
    return try (0..<(list.count() ?? 0)).compactMap { try list.element(at: $0) }
  }

  private static func name(_ document: FleeceElement) throws -> (id: String, revision: String) {
    (try document.element(for: "_id")?.string() ?? "", try document.element(for: "_rev")?.string() ?? "")
  }

  // MARK: - Answering

  func answer(_ request: ScriptedRequest) -> ScriptedResponse {
    let kind = RecordedServer.kind(request.head.method, request.target)
    let failure: Answer? = state.withLock { state in
      guard let failure = state.failures[kind]?.first else { return nil }
      if !isForEver.contains(kind) { state.failures[kind]?.removeFirst() }
      return failure
    }
    if let failure { return RecordedServer.response(failure) }
    do {
      return try answer(kind, request)
    } catch { return ScriptedResponse(400, json: "{\"error\":\"replay\",\"reason\":\"\(kind) \(error)\"}") }
  }

  private static func response(_ answer: Answer) -> ScriptedResponse {
    ScriptedResponse(answer.status, answer.body, fields: HTTPFields([("Content-Type", answer.type)]))
  }

  private static func response(_ status: Int, _ before: String, _ items: [[UInt8]], _ after: String)
    -> ScriptedResponse
  {
    ScriptedResponse(
      status, Array(before.utf8) + Array(items.joined(separator: Array(",".utf8))) + Array(after.utf8),
      isChunked: true)
  }

  private func answer(_ kind: String, _ request: ScriptedRequest) throws -> ScriptedResponse {
    switch kind {
    case "_session": return session.map(RecordedServer.response) ?? ScriptedResponse(404, json: "{}")
    case "information": return information.map(RecordedServer.response) ?? ScriptedResponse(404, json: "{}")
    case "_changes": return try changes(request.target)
    case "_revs_diff": return try difference(request.body)
    case "_bulk_get":
      let results = try RecordedServer.elements(CouchDBAnswer(request.body)["docs"]).map { item in
        let id = try item.element(for: "id")?.string() ?? ""
        let document = documents["\(id) \(try item.element(for: "rev")?.string() ?? "")"]
        let found =
          document.map { Array("{\"ok\":".utf8) + $0 } ?? Array("{\"error\":{\"error\":\"not_found\"}".utf8)
        return Array("{\"id\":".utf8) + quoted(id) + Array(",\"docs\":[".utf8) + found + Array("}]}".utf8)
      }
      return RecordedServer.response(200, "{\"results\":[", results, "]}")
    case "_bulk_docs": return try store(request.body)
    case "_ensure_full_commit":
      let epoch = try information.flatMap { try CouchDBAnswer($0.body)["instance_start_time"]?.string() }
      return ScriptedResponse(201, json: "{\"ok\":true,\"instance_start_time\":\"\(epoch ?? "0")\"}")
    case "GET _local", "PUT _local": return try local(request)
    case "attachment":
      let path = request.target.segments.dropFirst().joined(separator: "/")
      return attachments[path].map { ScriptedResponse(200, $0) } ?? ScriptedResponse(404, json: "{}")
    default:
      let id = String(kind.dropFirst(4))
      let put = puts[id]
      if let put, put.status < 400, let revision = try CouchDBAnswer(put.body)["rev"]?.string() {
        state.withLock { _ = $0.stored.insert("\(id) \(revision)") }
      }
      return put.map(RecordedServer.response) ?? ScriptedResponse(404, json: "{}")
    }
  }

  private func quoted(_ text: String) -> [UInt8] {
    var output = JSONOutput()
    output.text(text)
    return output.take()
  }

  private func changes(_ target: HTTPTarget) throws -> ScriptedResponse {
    let since = target["since"] ?? "0"
    let sequences = try changes.map { try $0.element(for: "seq").flatMap(CouchDBPeer.sequence)?.text ?? "" }
    let start = sequences.firstIndex(of: since).map { $0 + 1 } ?? 0
    let end = min(start + (Int(target["limit"] ?? "") ?? 1000), changes.count)
    let rows = try changes[start..<end].map { try $0.json() }
    let last = end > 0 ? try changes[end - 1].element(for: "seq")?.json() ?? [] : [UInt8(ascii: "0")]
    return RecordedServer.response(
      200, "{\"results\":[", rows, "],\"last_seq\":\(String(decoding: last, as: UTF8.self))}")
  }

  private func difference(_ body: [UInt8]) throws -> ScriptedResponse {
    var missing: [[UInt8]] = []
    for (id, list) in try CouchDBAnswer(body).members() {
      let names = try RecordedServer.elements(list).map { "\(id) \(try $0.string() ?? "")" }
      let isStored = state.withLock { state in
        state.asked.formUnion(names)
        return state.stored.isSuperset(of: names)
      }
      if !isStored, let difference = differences[id] {
        missing.append(quoted(id) + Array(":".utf8) + difference)
      }
    }
    return RecordedServer.response(200, "{", missing, "}")
  }

  private func store(_ body: [UInt8]) throws -> ScriptedResponse {
    let names = try RecordedServer.elements(CouchDBAnswer(body)["docs"]).map { try RecordedServer.name($0) }
    if let tooLarge, names.contains(where: { $0.id == tooLarge }) {
      return ScriptedResponse(413, json: "{\"error\":\"document_too_large\",\"reason\":\"\(tooLarge)\"}")
    }
    let items = names.compactMap { outcomes[$0.id] }
    let refused = try Set(
      items.compactMap { item in
        let answer = try CouchDBAnswer(item)
        return try answer["error"] == nil ? nil : try answer["id"]?.string()
      })
    state.withLock { state in
      for name in names where !refused.contains(name.id) {
        state.stored.insert("\(name.id) \(name.revision)")
      }
    }
    return RecordedServer.response(201, "[", items, "]")
  }

  private func local(_ request: ScriptedRequest) throws -> ScriptedResponse {
    let id = request.target.segments.last ?? ""
    guard request.head.method == "PUT" else {
      return state.withLock { $0.locals[id] }.map { ScriptedResponse(200, $0) }
        ?? ScriptedResponse(404, json: "{\"error\":\"not_found\",\"reason\":\"missing\"}")
    }
    let members = try CouchDBDocument.body(of: CouchDBAnswer(request.body).root)
    let document = try CouchDBDocument.json(id: "_local/\(id)", revision: "0-1", members: members)
    state.withLock { $0.locals[id] = document }
    return ScriptedResponse(201, json: "{\"ok\":true,\"id\":\"_local/\(id)\",\"rev\":\"0-1\"}")
  }
}
