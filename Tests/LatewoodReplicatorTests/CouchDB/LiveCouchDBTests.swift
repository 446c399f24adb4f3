import LatewoodDevice
import LatewoodDocuments
import LatewoodFleece
import LatewoodHTTP
import LatewoodNetwork
import Testing

@testable import LatewoodReplicator

/// Tests with a running CouchDB at the URL in `LATEWOOD_COUCHDB`, which includes the credentials of
/// an administrator. `Tests/couchdb.sh` runs them.
@Suite(.enabled(if: LiveServer.url != nil, "LATEWOOD_COUCHDB does not name a server"), .serialized)
struct LiveCouchDBTests {
  @Test func `a new database is empty, and written revisions are read back`() async throws {
    try await LiveServer.withDatabase { peer, _ in
      #expect(try await peer.information().lastSequence.text.hasPrefix("0"))
      let revisions = try (0..<1200).map { number in
        PeerRevision(
          id: number == 7 ? "a/b ?+%ä" : "doc\(number)",
          history: [try RevisionID("2-\(hex(number))"), try RevisionID("1-\(hex(number + 1))")],
          isDeleted: number % 100 == 99, body: try JSON.fleece(from: "{\"n\":\(number),\"t\":\"\\u00e4\"}"))
      }
      #expect(try await peer.insert(revisions).allSatisfy { $0 == .stored })
      // A repetition changes nothing.
      #expect(try await peer.insert(revisions).allSatisfy { $0 == .stored })
      #expect(try await peer.ensureDurable() == peer.information().epoch)

      let changes = try await allChanges(peer, limit: 500)
      #expect(changes.count == 1200)
      #expect(changes.filter(\.isDeleted).count == 12)
      let asked = try revisions.map { DocumentRevisions($0.id, $0.history + [try RevisionID("3-ff")]) }
      let missing = try await peer.missing(asked)
      #expect(missing.count == 1200)
      #expect(
        missing.allSatisfy { $0.missing.map(\.description) == ["3-ff"] && $0.possibleAncestors.count == 1 })

      let read = try await peer.revisions(
        revisions.map { RevisionRequest($0.id, revisions: [$0.history[0]]) })
      #expect(Set(read.map(\.id)) == Set(revisions.map(\.id)))
      let byID = Dictionary(uniqueKeysWithValues: read.map { ($0.id, $0) })
      for revision in revisions {
        let other = try #require(byID[revision.id])
        #expect(other.history == revision.history && other.isDeleted == revision.isDeleted)
        #expect(other.body == revision.body)
      }
    }
  }

  @Test func `conflicts keep all leaves`() async throws {
    try await LiveServer.withDatabase { peer, _ in
      let root = try RevisionID("1-\(hex(1))")
      let leaves = try (2...4).map { try RevisionID("2-\(hex($0))") }
      let revisions = try leaves.map {
        PeerRevision(
          id: "c", history: [$0, root], isDeleted: $0 == leaves[2], body: try JSON.fleece(from: "{}"))
      }
      #expect(try await peer.insert(revisions) == [.stored, .stored, .stored])
      let change = try #require(try await allChanges(peer, limit: 10).first)
      #expect(change.leaves == [leaves[1], leaves[0], leaves[2]])
      let read = try await peer.revisions([RevisionRequest("c", revisions: [root])])
      #expect(Set(read.map { $0.history[0] }) == Set(leaves))
      let none = try await peer.revisions([RevisionRequest("none", revisions: [root])])
      #expect(none.isEmpty)
    }
  }

  @Test func `attachments are written and read back, and stubs stay`() async throws {
    try await LiveServer.withDatabase { peer, _ in
      let first = try RevisionID("1-\(hex(1))")
      let contents: [(String, String, [UInt8])] = [
        ("small", "text/plain", Array(String(repeating: "so it goes ", count: 300).utf8)),
        (
          "sub/name ä\".bin", "application/octet-stream",
          (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        ),
        ("empty", "image/png", []),
      ]
      let attachments = contents.map { name, type, bytes in
        PeerAttachment(
          name: name, contentType: type, length: UInt64(bytes.count), revisionPosition: 1,
          content: BytesInMemory(bytes))
      }
      let revision = PeerRevision(
        id: "_design/with attachments", history: [first], body: try JSON.fleece(from: "{\"x\":1}"),
        attachments: attachments)
      #expect(try await peer.insert([revision]) == [.stored])

      let read = try #require(
        try await peer.revisions([RevisionRequest(revision.id, revisions: [first])]).first)
      #expect(read.attachments.count == 3)
      for (name, type, bytes) in contents {
        let attachment = try #require(read.attachments.first { $0.name == name })
        #expect(attachment.contentType == type && attachment.length == UInt64(bytes.count))
        #expect(attachment.revisionPosition == 1 && attachment.digest?.hasPrefix("md5-") == true)
        #expect(try await bytesOf(attachment) == bytes)
      }

      var edited = read
      edited.history = [try RevisionID("2-\(hex(2))"), first]
      for index in edited.attachments.indices { edited.attachments[index].content = nil }
      #expect(try await peer.insert([edited]) == [.stored])
      let again = try #require(
        try await peer.revisions([RevisionRequest(revision.id, revisions: [edited.history[0]])]).first)
      #expect(
        try await bytesOf(try #require(again.attachments.first { $0.name == "small" })) == contents[0].2)

      var lost = edited
      lost.id = "other"
      #expect(try await peer.insert([lost]) == [.lacksAttachment])
      var wrong = revision
      wrong.attachments[0].digest = "md5-AAAAAAAAAAAAAAAAAAAAAA=="
      wrong.history = [try RevisionID("1-\(hex(3))")]
      guard case .refused(let refusal) = try await peer.insert([wrong])[0] else {
        Issue.record("an attachment with a wrong digest was stored")
        return
      }
      #expect(refusal.kind == .failed)
    }
  }

  @Test func `local documents have revisions`() async throws {
    try await LiveServer.withDatabase { peer, _ in
      #expect(try await peer.localDocument("checkpoint") == nil)
      let body = try JSON.fleece(from: "{\"history\":[1,2]}")
      let first = try await peer.putLocalDocument("checkpoint", body: body, revision: nil)
      #expect(try await peer.localDocument("checkpoint") == LocalDocument(revision: first, body: body))
      let second = try await peer.putLocalDocument("checkpoint", body: body, revision: first)
      #expect(second != first)
    }
  }

  @Test func `a continuous feed sees changes while they are made`() async throws {
    try await LiveServer.withDatabase { peer, _ in
      var request = ChangesRequest(since: .start)
      request.isContinuous = true
      let feed = try await peer.changes(request)
      var seen: [String] = []
      for number in 0..<20 {
        let revision = PeerRevision(
          id: "d\(number)", history: [try RevisionID("1-\(hex(number))")], body: try JSON.fleece(from: "{}"))
        #expect(try await peer.insert([revision]) == [.stored])
        while seen.count <= number { seen += try #require(try await feed.next(limit: 10)).changes.map(\.id) }
      }
      #expect(seen == (0..<20).map { "d\($0)" })
      let waiting = Task { try await feed.next(limit: 10) }
      feed.close()
      #expect(try await waiting.value?.changes.isEmpty != false)
    }
  }

  @Test func `validation functions, wrong credentials and missing databases are reported`() async throws {
    try await LiveServer.withDatabase { peer, url in
      let ddoc = PeerRevision(
        id: "_design/check", history: [try RevisionID("1-\(hex(1))")],
        body: try JSON.fleece(
          from:
            "{\"validate_doc_update\":\"function(d){if(d.bad)throw({forbidden:'no'});if(d.who)throw({unauthorized:'who'})}\"}"
        ))
      #expect(try await peer.insert([ddoc]) == [.stored])
      let revisions = try ["{}", "{\"bad\":1}", "{\"who\":1}"].enumerated().map { index, body in
        PeerRevision(
          id: "d\(index)", history: [try RevisionID("1-\(hex(index))")], body: try JSON.fleece(from: body))
      }
      #expect(
        try await peer.insert(revisions) == [
          .stored, .refused(.init(.forbidden, "no")), .refused(.init(.unauthorized, "who")),
        ])
      let attached = PeerRevision(
        id: "d3", history: [try RevisionID("1-\(hex(9))")], body: try JSON.fleece(from: "{\"bad\":1}"),
        attachments: [
          PeerAttachment(
            name: "a", contentType: "text/plain", length: 1, revisionPosition: 1, content: BytesInMemory([1]))
        ])
      #expect(try await peer.insert([attached]) == [.refused(.init(.forbidden, "forbidden: no"))])
      let illegal = PeerRevision(
        id: "_bad", history: [try RevisionID("1-\(hex(5))")], body: try JSON.fleece(from: "{}"))
      guard case .refused(let refusal) = try await peer.insert([illegal, revisions[0]])[0] else {
        Issue.record("stored")
        return
      }
      #expect(refusal.kind == .unacceptable)

      let stranger = LiveServer.peer(
        url, authentication: .basic(BasicCredentials(name: "latewood-nobody", password: "wrong")))
      #expect(await failure { _ = try await stranger.information() }?.code == .unauthorized)
      let sessions = LiveServer.peer(
        url, authentication: .session(BasicCredentials(name: "latewood-nobody", password: "wrong")))
      #expect(await failure { _ = try await sessions.information() }?.code == .unauthorized)
      let nowhere = LiveServer.peer(try HTTPURL(parsing: LiveServer.text + "/does-not-exist"))
      #expect(await failure { _ = try await nowhere.information() }?.code == .notFound)
      #expect(await failure { _ = try await nowhere.localDocument("x") }?.code == .notFound)
      #expect(await failure { _ = try await allChanges(nowhere, limit: 5) }?.code == .notFound)
      #expect(
        await failure { _ = try await nowhere.missing([DocumentRevisions("a", [try RevisionID("1-a")])]) }?
          .code == .notFound)
      #expect(await failure { _ = try await nowhere.insert(revisions) }?.code == .notFound)
    }
  }

  @Test func `a collection replicates with CouchDB in both directions`() async throws {
    try await LiveServer.withDatabase { couchDB, _ in
      let (here, back) = (try Side(), try Side())
      for number in 0..<50 { try here.save("doc-\(number)", "{\"n\":\(number),\"t\":\"ä\"}") }
      for number in 0..<50 where number % 7 == 0 { try here.save("doc-\(number)", "{\"n\":\"again\"}") }
      try here.branch("doc-1", "{\"n\":\"other\"}", from: try here.save("doc-1", "{\"n\":1.5}"))
      try here.delete("doc-3")
      try here.save("_design/app", "{\"views\":{}}")
      try here.saveBlob("picture", (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 13) })
      #expect(try await replicate(here.peer, couchDB).failures == 0)
      #expect(try await replicate(couchDB, back.peer).failures == 0)
      #expect(try back.contents() == here.contents())
      for (source, target) in [
        (here.peer as any ReplicationPeer, couchDB as any ReplicationPeer), (couchDB, back.peer),
      ] {
        let again = try await replicate(source, target)
        #expect(again.written == 0 && again.compared == 0)
      }
      try back.save("doc-9", "{\"n\":\"from there\"}")
      _ = try await replicate(back.peer, couchDB)
      let status = try await replicate(couchDB, here.peer)
      #expect(status.written == 1)
      #expect(try back.contents() == here.contents())
      try here.expectSound()
      try back.expectSound()
    }
  }

  /// Prints documents a second, for comparison with CouchDB's own replicator on the same machine.
  @Test(.enabled(if: CurrentProcess.environmentVariable("LATEWOOD_MEASURE") != nil))
  func `20,000 documents of 113 bytes are measured`() async throws {
    try await LiveServer.withDatabase { couchDB, _ in
      let (here, back) = (try Side(), try Side())
      let padding = String(repeating: "x", count: 80)
      for number in 0..<20_000 { try here.save("doc-\(number)", "{\"n\":\(number),\"p\":\"\(padding)\"}") }
      let clock = ContinuousClock()
      let pushed = try await clock.measure { _ = try await replicate(here.peer, couchDB, ReplicationSetup()) }
      let pulled = try await clock.measure { _ = try await replicate(couchDB, back.peer, ReplicationSetup()) }
      let idle = try await clock.measure { _ = try await replicate(couchDB, back.peer, ReplicationSetup()) }
      print("push \(pushed), pull \(pulled), nothing to do \(idle)")
    }
  }

  private func allChanges(_ peer: CouchDBPeer, limit: Int) async throws -> [PeerChange] {
    let feed = try await peer.changes(ChangesRequest(since: .start))
    var changes: [PeerChange] = []
    while let page = try await feed.next(limit: limit) { changes += page.changes }
    return changes
  }

  private func bytesOf(_ attachment: PeerAttachment) async throws -> [UInt8] {
    let reader = try await #require(attachment.content).open()
    defer { reader.close() }
    var bytes: [UInt8] = []
    while let next = try await reader.next() { bytes += next }
    return bytes
  }

  private func hex(_ number: Int) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 32 - digits.count) + digits
  }
}

enum LiveServer {
  static let text = CurrentProcess.environmentVariable("LATEWOOD_COUCHDB") ?? ""
  static let url = try? HTTPURL(parsing: text)

  static func peer(_ url: HTTPURL, authentication: CouchDBAuthentication? = nil) -> CouchDBPeer {
    CouchDBPeer(
      url, transport: HTTPClient(origin: url.origin, connector: SocketConnector()),
      authentication: authentication)
  }

  /// Calls `body` with a new database, which is deleted afterwards.
  static func withDatabase(_ body: (CouchDBPeer, HTTPURL) async throws -> Void) async throws {
    var generator = SystemRandomNumberGenerator()
    let url = try HTTPURL(parsing: "\(text)/latewood-\(generator.next())")
    let peer = peer(url)
    try await peer.create()
    try await peer.create()
    do {
      try await body(peer, url)
    } catch {
      try await peer.requests.send("DELETE", [], accepting: [200, 202]).close()
      throw error
    }
    try await peer.requests.send("DELETE", [], accepting: [200, 202]).close()
  }
}
