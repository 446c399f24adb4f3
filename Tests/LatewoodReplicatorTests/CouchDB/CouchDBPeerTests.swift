import LatewoodConcurrency
import LatewoodDocuments
import LatewoodFleece
import LatewoodHTTP
import LatewoodHTTPScripts
import Testing

@testable import LatewoodReplicator

@Suite struct CouchDBPeerTests {
  @Test func `the identity of a database has no credentials`() async throws {
    let server = ScriptedServer { _ in
      ScriptedResponse(200, json: "{\"update_seq\":5,\"instance_start_time\":\"0\"}")
    }
    let peer = try peer(server, "http://user:secret@example.com:5984/a%2Fb/")
    let information = try await peer.information()
    #expect(information.identity == "http://example.com:5984/a%2Fb/")
    #expect(information.lastSequence == PeerSequence("5") && information.epoch == "0")
  }

  @Test func `a login obtains a cookie, which is renewed when the server refuses it`() async throws {
    let logins = Guarded(0)
    let server = ScriptedServer { request in
      if request.target.segments == ["_session"] {
        let number = logins.withLock { logins in
          logins += 1
          return logins
        }
        let fields = HTTPFields([("Set-Cookie", "AuthSession=c\(number); Path=/; HttpOnly")])
        return ScriptedResponse(200, Array("{\"ok\":true}".utf8), fields: fields)
      }
      if request.head.fields["Cookie"] == "AuthSession=c1", request.target.segments.last == "_revs_diff" {
        return ScriptedResponse(401, json: "{\"error\":\"unauthorized\"}")
      }
      return ScriptedResponse(200, json: "{\"update_seq\":\"1-x\"}")
    }
    let peer = try peer(server, "http://user:secret@h/db")
    _ = try await peer.information()
    let missing = try await peer.missing([DocumentRevisions("a", [try RevisionID("1-a")])])
    #expect(missing.isEmpty)
    #expect(logins.withLock { $0 } == 2)
    #expect(
      server.requests.map { $0.head.fields["Cookie"] } == [
        nil, "AuthSession=c1", "AuthSession=c1", nil, "AuthSession=c2",
      ])
    #expect(server.requests.allSatisfy { $0.head.fields["Authorization"] == nil })
    #expect(server.requests[0].text == "{\"name\":\"user\",\"password\":\"secret\"}")
  }

  @Test func `a server without sessions is sent the name and password`() async throws {
    let server = ScriptedServer { request in
      request.target.segments == ["_session"]
        ? ScriptedResponse(404, json: "{}") : ScriptedResponse(200, json: "{\"update_seq\":1}")
    }
    let peer = try peer(server, "http://user:secret@h/db")
    for _ in 0..<2 { _ = try await peer.information() }
    #expect(server.requests.map(\.target.text) == ["/_session", "/db/", "/db/"])
    #expect(server.requests[1].head.fields["Authorization"] == "Basic dXNlcjpzZWNyZXQ=")
  }

  @Test func `a redirect is followed within the origin only, and credentials never leave it`() async throws {
    for (location, status, code) in [
      ("/other/", 302, nil), ("http://h/other/", 307, nil), ("http://evil/db/", 302, .unexpectedAnswer),
      ("http://h:81/db/", 308, .unexpectedAnswer), ("//evil/db", 301, .unexpectedAnswer),
      ("", 302, .unexpectedAnswer),
      ("/db/", 302, .unexpectedAnswer), ("file:///etc/passwd", 302, .unexpectedAnswer),
    ] as [(String, Int, ReplicationError.Code?)] {
      let server = ScriptedServer { request in
        request.target.segments.first == "other"
          ? ScriptedResponse(200, json: "{\"update_seq\":1}")
          : ScriptedResponse(status, [], fields: HTTPFields([("Location", location)]))
      }
      let url = try HTTPURL(parsing: "http://user:secret@h/db")
      let client = HTTPClient(origin: url.origin, connector: server)
      let credentials = try #require(url.credentials)
      let peer = CouchDBPeer(url, transport: client, authentication: .basic(credentials))
      let error = await failure { _ = try await peer.information() }
      #expect(error?.code == code, "\(location)")
      #expect(error?.description.contains("secret") != true)
      #expect(server.requests.count <= 7)
    }
  }

  @Test func `a redirect from TLS to a connection without it is insecure`() async throws {
    let server = ScriptedServer { _ in
      ScriptedResponse(302, [], fields: HTTPFields([("Location", "http://h/db/")]))
    }
    let url = try HTTPURL(parsing: "https://h/db")
    // The scripted server does not encrypt, but the peer only looks at the URL.
    let client = HTTPClient(origin: url.origin, connector: server)
    #expect(
      await failure { _ = try await CouchDBPeer(url, transport: client).information() }?.code == .insecure)
  }

  @Test(
    arguments: [
      (200, "<html>Please pay</html>", .unexpectedAnswer), (200, "", .unexpectedAnswer),
      (200, "[]", .unexpectedAnswer),
      (200, "{\"update_seq\":", .unexpectedAnswer), (200, "{\"couchdb\":\"Welcome\"}", .unexpectedAnswer),
      (200, "{\"update_seq\":true}", .unexpectedAnswer), (204, "", .unexpectedAnswer),
      (400, "{}", .unexpectedAnswer),
      (401, "{}", .unauthorized), (403, "x", .forbidden), (404, "{\"error\":\"not_found\"}", .notFound),
      (429, "", .unavailable), (500, "[", .unavailable), (503, "{\"error\":1}", .unavailable),
    ] as [(Int, String, ReplicationError.Code)])
  func `every wrong answer is a typed error`(status: Int, body: String, code: ReplicationError.Code)
    async throws
  {
    let server = ScriptedServer { _ in ScriptedResponse(status, Array(body.utf8)) }
    let peer = try peer(server)
    #expect(await failure { _ = try await peer.information() }?.code == code)
  }

  @Test func `an error has the delay that the server asks for, limited to a day`() async throws {
    for (value, delay) in [("7", Duration.seconds(7)), ("x", nil), ("99999999", .seconds(86400))] {
      let server = ScriptedServer { _ in
        ScriptedResponse(503, [], fields: HTTPFields([("Retry-After", value)]))
      }
      let peer = try peer(server)
      #expect(await failure { _ = try await peer.information() }?.retryAfter == delay)
    }
  }

  @Test func `an answer that is cut at any byte is an error, unless it is complete`() async throws {
    let whole = "{\"a\":{\"missing\":[\"1-x\"],\"possible_ancestors\":[]}}"
    for cut in 0..<200 {
      let server = ScriptedServer { _ in ScriptedResponse(200, json: whole, fault: .cutAfter(cut)) }
      let peer = try peer(server)
      let error = await failure {
        let missing = try await peer.missing([DocumentRevisions("a", [RevisionID("1-x")])])
        #expect(missing == [MissingRevisions("a", missing: [try RevisionID("1-x")])])
      }
      #expect(error == nil || error?.code == .unreachable)
    }
  }

  @Test func `a refusal that is cut within its body is a lost connection`() async throws {
    let reason = "{\"error\":\"not_found\",\"reason\":\"missing\"}"
    let length = try ScriptedResponse(404, json: reason).encoded().count
    for cut in length - reason.utf8.count..<length {
      let server = ScriptedServer { _ in ScriptedResponse(404, json: reason, fault: .cutAfter(cut)) }
      let peer = try peer(server)
      #expect(await failure { _ = try await peer.localDocument("x") }?.code == .unreachable)
    }
  }

  @Test func `a batch that is refused as a whole is halved down to the cause`() async throws {
    let server = ScriptedServer { request in
      if request.text.contains("\"bad") { return ScriptedResponse(413, json: "{\"error\":\"too_large\"}") }
      return ScriptedResponse(201, json: "[]")
    }
    let peer = try peer(server)
    let revisions = try (0..<20).map { number in
      PeerRevision(
        id: number == 13 ? "bad" : "d\(number)", history: [try RevisionID("1-a")],
        body: try JSON.fleece(from: "{}"))
    }
    let outcomes = try await peer.insert(revisions)
    #expect(outcomes[13] == .refused(.init(.tooLarge, "too_large")))
    #expect(outcomes.enumerated().allSatisfy { $0 == 13 || $1 == .stored })
    #expect(server.requests.count < 12)
  }

  @Test func `refusals are matched with their revisions`() async throws {
    let server = ScriptedServer { _ in
      ScriptedResponse(
        201,
        json: """
          [{"ok":true,"id":"a","rev":"1-a"},{"id":"b","rev":"1-b","error":"forbidden","reason":"no"},\
          {"id":"c","error":"unauthorized","reason":"who"},{"id":"a","rev":"2-x","error":"forbidden","reason":"no"}]
          """)
    }
    let peer = try peer(server)
    let revisions = try ["a", "b", "c"].map {
      PeerRevision(id: $0, history: [try RevisionID("1-\($0)")], body: try JSON.fleece(from: "{\"x\":1}"))
    }
    #expect(
      try await peer.insert(revisions) == [
        .stored, .refused(.init(.forbidden, "no")), .refused(.init(.unauthorized, "who")),
      ])
    #expect(
      server.requests[0].text == """
        {"new_edits":false,"docs":[\
        {"_id":"a","_rev":"1-a","_revisions":{"start":1,"ids":["a"]},"x":1},\
        {"_id":"b","_rev":"1-b","_revisions":{"start":1,"ids":["b"]},"x":1},\
        {"_id":"c","_rev":"1-c","_revisions":{"start":1,"ids":["c"]},"x":1}]}
        """)
  }

  @Test func `a continuous feed reads pages, then lines, and continues after its end`() async throws {
    let server = ScriptedServer { request in
      let since = request.target["since"] ?? ""
      if request.target["feed"] == "continuous" {
        return ScriptedResponse(
          200,
          Array(
            """
            {"seq":"3-c","id":"c","changes":[{"rev":"1-c"}]}\n\n{"seq":"4-d","id":"d","changes":[{"rev":"2-d"},\
            {"rev":"1-d"}],"deleted":true}\n{"last_seq":"4-d"}\n
            """.utf8), isChunked: true)
      }
      let change =
        since == "0"
        ? "{\"seq\":1,\"id\":\"a\",\"changes\":[{\"rev\":\"1-a\"}]},{\"seq\":\"2-b\",\"id\":\"b\",\"changes\":[{\"rev\":\"1-b\"}]}"
        : ""
      return ScriptedResponse(
        200, json: "{\"results\":[\(change)],\"last_seq\":\"\(since == "0" ? "2-b" : since)\",\"pending\":0}")
    }
    var request = ChangesRequest(since: .start)
    request.isContinuous = true
    let feed = try await peer(server).changes(request)
    let first = try #require(try await feed.next(limit: 2))
    #expect(first.changes.map(\.sequence.text) == ["1", "2-b"] && first.pending == 0)
    #expect(try await feed.next(limit: 2) == ChangesPage([], last: PeerSequence("2-b"), pending: 0))
    var found: [PeerChange] = []
    while found.count < 2 { found += try #require(try await feed.next(limit: 2)).changes }
    #expect(found.map(\.id) == ["c", "d"] && found[1].isDeleted && found[1].leaves.count == 2)
    #expect(try await feed.next(limit: 5)?.last == PeerSequence("4-d"))
    feed.close()
    #expect(try await feed.next(limit: 5) == nil)
    #expect(server.requests.last?.target["since"] == "4-d")
  }

  @Test func `filters are sent to the server`() async throws {
    let server = ScriptedServer { _ in ScriptedResponse(200, json: "{\"results\":[],\"last_seq\":0}") }
    let peer = try peer(server)
    var request = ChangesRequest(since: .start)
    request.ids = ["a\""]
    _ = try await peer.changes(request).next(limit: 5)
    request.selector = Array("{\"x\":1}".utf8)
    _ = try await peer.changes(request).next(limit: 5)
    request.ids = nil
    let feed = try await peer.changes(request)
    _ = try await feed.next(limit: 5)
    #expect(try await feed.next(limit: 5) == nil)
    #expect(server.requests.map { $0.target["filter"] } == ["_doc_ids", "_selector", "_selector"])
    #expect(
      server.requests.map(\.text) == [
        "{\"doc_ids\":[\"a\\\"\"]}", "{\"selector\":{\"$and\":[{\"_id\":{\"$in\":[\"a\\\"\"]}},{\"x\":1}]}}",
        "{\"selector\":{\"x\":1}}",
      ])
  }

  @Test func `a missing local document is nil, and a missing database is an error`() async throws {
    for (reason, code) in [("missing", nil), ("deleted", nil), ("Database does not exist.", .notFound)]
      as [(String, ReplicationError.Code?)]
    {
      let server = ScriptedServer { _ in
        ScriptedResponse(404, json: "{\"error\":\"not_found\",\"reason\":\"\(reason)\"}")
      }
      let peer = try peer(server)
      let error = await failure {
        let document = try await peer.localDocument("x")
        #expect(document == nil)
      }
      #expect(error?.code == code)
    }
  }
}

/// A peer whose server is in this process.
func peer(_ server: ScriptedServer, _ url: String = "http://h/db") throws -> CouchDBPeer {
  let url = try HTTPURL(parsing: url)
  return CouchDBPeer(url, transport: HTTPClient(origin: url.origin, connector: server))
}

/// The replication error that a call throws.
func failure(_ body: () async throws -> Void) async -> ReplicationError? {
  do {
    try await body()
    return nil
  } catch let error as ReplicationError {
    return error
  } catch {
    Issue.record("not a typed error: \(error)")
    return nil
  }
}
