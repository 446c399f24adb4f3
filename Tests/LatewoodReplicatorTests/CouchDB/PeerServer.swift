import LatewoodDocuments
import LatewoodFleece
import LatewoodHTTP
import LatewoodHTTPScripts

@testable import LatewoodReplicator

/// CouchDB's API for a peer of this process, as far as a replication uses it. A scripted server
/// around it can cut connections at every byte.
struct PeerServer: Sendable {
  let peer: any ReplicationPeer

  func answer(_ request: ScriptedRequest) async -> ScriptedResponse {
    do {
      let path = Array(request.target.segments.dropFirst())
      switch (request.head.method, path.first) {
      case ("GET", ""): return try await information()
      case ("GET", "_changes"): return try await changes(request.target)
      case ("POST", "_revs_diff"): return try await difference(request.body)
      case ("POST", "_bulk_get"): return try await bulkGet(request.body)
      case ("POST", "_bulk_docs"): return try await bulkDocuments(request.body)
      case ("POST", "_ensure_full_commit"):
        let epoch = try await peer.ensureDurable()
        return ScriptedResponse(201, json: "{\"ok\":true,\"instance_start_time\":\"\(epoch ?? "0")\"}")
      case ("GET", "_local"): return try await local(path[1])
      case ("PUT", "_local"): return try await putLocal(path[1], request.body)
      case ("GET", _): return try await attachment(path, request.target["rev"] ?? "")
      case ("PUT", _): return try await put(request)
      default: return ScriptedResponse(405, json: "{\"error\":\"method_not_allowed\"}")
      }
    } catch let error as ReplicationError where error.code == .conflict {
      return ScriptedResponse(409, json: "{\"error\":\"conflict\"}")
    } catch { return ScriptedResponse(500, json: "{\"error\":\"\(type(of: error))\"}") }
  }

  private func information() async throws -> ScriptedResponse {
    let information = try await peer.information()
    return ScriptedResponse(
      200,
      json: """
        {"update_seq":"\(information.lastSequence)","instance_start_time":"\(information.epoch ?? "0")"}
        """)
  }

  private func changes(_ target: HTTPTarget) async throws -> ScriptedResponse {
    let feed = try await peer.changes(ChangesRequest(since: PeerSequence(target["since"] ?? "0")))
    defer { feed.close() }
    let since = PeerSequence(target["since"] ?? "0")
    let page = try await feed.next(limit: Int(target["limit"] ?? "") ?? 100) ?? ChangesPage([], last: since)
    let rows = page.changes.map { change in
      let leaves = change.leaves.map { "{\"rev\":\"\($0)\"}" }.joined(separator: ",")
      return
        "{\"seq\":\"\(change.sequence)\",\"id\":\"\(change.id)\",\"changes\":[\(leaves)],\"deleted\":\(change.isDeleted)}"
    }
    return ScriptedResponse(
      200,
      json: "{\"results\":[\(rows.joined(separator: ",\n"))],\"last_seq\":\"\(page.last)\",\"pending\":0}")
  }

  private func difference(_ body: [UInt8]) async throws -> ScriptedResponse {
    let asked = try CouchDBAnswer(body).members().map { id, list in
      DocumentRevisions(
        id, try (0..<(list.count() ?? 0)).map { try RevisionID(list.element(at: $0)?.string() ?? "") })
    }
    let missing = try await peer.missing(asked).map { document in
      let list = document.missing.map { "\"\($0)\"" }.joined(separator: ",")
      let ancestors = document.possibleAncestors.map { "\"\($0)\"" }.joined(separator: ",")
      return "\"\(document.id)\":{\"missing\":[\(list)],\"possible_ancestors\":[\(ancestors)]}"
    }
    return ScriptedResponse(200, json: "{\(missing.joined(separator: ","))}")
  }

  private func bulkGet(_ body: [UInt8]) async throws -> ScriptedResponse {
    let list = try CouchDBAnswer(body)["docs"]
    var results: [[UInt8]] = []
    for index in 0..<(try list?.count() ?? 0) {
      guard let item = try list?.element(at: index), let id = try item.element(for: "id")?.string(),
        let revision = try item.element(for: "rev")?.string()
      else { continue }
      for revision in try await peer.revisions([RevisionRequest(id, revisions: [RevisionID(revision)])]) {
        var stubs = revision
        for place in stubs.attachments.indices { stubs.attachments[place].content = nil }
        let document = try CouchDBDocument.json(of: stubs)
        results.append(Array("{\"id\":\"\(id)\",\"docs\":[{\"ok\":".utf8) + document + Array("}]}".utf8))
      }
    }
    let rows = Array(results.joined(separator: Array(",".utf8)))
    return ScriptedResponse(200, Array("{\"results\":[".utf8) + rows + Array("]}".utf8), isChunked: true)
  }

  private func bulkDocuments(_ body: [UInt8]) async throws -> ScriptedResponse {
    let list = try CouchDBAnswer(body)["docs"]
    let revisions = try (0..<(list?.count() ?? 0)).compactMap { try revision(list?.element(at: $0), [:]) }
    let outcomes = try await peer.insert(revisions)
    let refused = zip(revisions, outcomes).filter { $1 != .stored }.map { revision, _ in
      "{\"id\":\"\(revision.id)\",\"rev\":\"\(revision.history[0])\",\"error\":\"forbidden\",\"reason\":\"no\"}"
    }
    return ScriptedResponse(201, json: "[\(refused.joined(separator: ","))]")
  }

  private func put(_ request: ScriptedRequest) async throws -> ScriptedResponse {
    let type = HeaderValue(request.head.fields["Content-Type"] ?? "")
    var parts: [(fields: HTTPFields, bytes: [UInt8])] = [(HTTPFields(), request.body)]
    if let boundary = type?["boundary"] {
      parts = []
      var parser = try MultipartParser(boundary: boundary)
      parser.append(request.body)
      while let event = try parser.next() {
        switch event {
        case .part(let fields): parts.append((fields, []))
        case .data(let bytes): parts[parts.count - 1].bytes += bytes
        case .end: break
        }
      }
      guard parser.hasEnded else { return ScriptedResponse(400, json: "{}") }
    }
    var contents: [String: [UInt8]] = [:]
    for part in parts.dropFirst() {
      let name = part.fields["Content-Disposition"].flatMap { HeaderValue($0)?["filename"] }
      contents[name ?? ""] = part.bytes
    }
    guard let document = parts.first,
      let revision = try revision(CouchDBAnswer(document.bytes).root, contents)
    else { return ScriptedResponse(400, json: "{}") }
    guard try await peer.insert([revision]) == [.stored] else {
      return ScriptedResponse(412, json: "{\"error\":\"missing_stub\"}")
    }
    return ScriptedResponse(201, json: "{\"ok\":true}")
  }

  private func revision(_ document: FleeceElement?, _ contents: [String: [UInt8]]) throws -> PeerRevision? {
    guard let document else { return nil }
    let url = try HTTPURL(parsing: "http://unused/db")
    let unused = HTTPClient(origin: url.origin, connector: ScriptedServer { _ in ScriptedResponse(500, []) })
    var revision = try CouchDBDocument.revision(
      of: document, CouchDBRequests(url, unused, .none, HTTPFields()))
    for place in revision.attachments.indices {
      revision.attachments[place].content = contents[revision.attachments[place].name].map {
        BytesInMemory($0)
      }
    }
    return revision
  }

  private func attachment(_ path: [String], _ revision: String) async throws -> ScriptedResponse {
    let request = RevisionRequest(
      path.dropLast().joined(separator: "/"), revisions: [try RevisionID(revision)])
    let attachments = try await peer.revisions([request]).first?.attachments ?? []
    guard let content = attachments.first(where: { $0.name == path.last })?.content else {
      return ScriptedResponse(404, json: "{\"error\":\"not_found\"}")
    }
    let reader = try await content.open()
    var bytes: [UInt8] = []
    while let next = try await reader.next() { bytes += next }
    return ScriptedResponse(200, bytes)
  }

  private func local(_ id: String) async throws -> ScriptedResponse {
    guard let document = try await peer.localDocument(id) else {
      return ScriptedResponse(404, json: "{\"error\":\"not_found\",\"reason\":\"missing\"}")
    }
    return ScriptedResponse(
      200, try CouchDBDocument.json(id: "_local/\(id)", revision: document.revision, members: document.body))
  }

  private func putLocal(_ id: String, _ body: [UInt8]) async throws -> ScriptedResponse {
    let document = try CouchDBAnswer(body)
    let revision = try await peer.putLocalDocument(
      id, body: try CouchDBDocument.body(of: document.root), revision: try document["_rev"]?.string())
    return ScriptedResponse(201, json: "{\"ok\":true,\"rev\":\"\(revision)\"}")
  }
}

/// An attachment in memory.
struct BytesInMemory: AttachmentContent {
  let bytes: [UInt8]

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  func open() async throws -> any AttachmentReader { Reader(bytes) }

  private actor Reader: AttachmentReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    func next() -> [UInt8]? {
      guard !rest.isEmpty else { return nil }
      defer { rest = rest.dropFirst(100_000) }
      return Array(rest.prefix(100_000))
    }

    nonisolated func close() {}
  }
}
