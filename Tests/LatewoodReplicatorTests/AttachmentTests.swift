import LatewoodDocuments
import LatewoodFleece
import LatewoodReplicator
import LatewoodSimulation
import Testing

/// Blobs and named attachments.
@Suite struct AttachmentTests {
  @Test func `blobs arrive, and a blob that the target has is not sent`() async throws {
    let (source, target) = (try Side(), try Side())
    var random = SeededRandom(seed: 1)
    try source.saveBlob("large", random.bytes(2_500_000))
    try source.saveBlob("small", [1, 2, 3])
    try source.saveBlob("same", [1, 2, 3])
    let opened = CountedContents()
    try await replicate(CountingPeer(source.peer, opened), target.peer)
    #expect(try target.contents() == source.contents())
    #expect(opened.count == 2)
    try source.save("large", String(try #require(try source.json("large")).dropLast()) + #","n":1}"#)
    try await replicate(CountingPeer(source.peer, opened), target.peer)
    #expect(try target.contents() == source.contents())
    #expect(opened.count == 2)
    try target.expectSound()
  }

  @Test func `a named attachment keeps its metadata through two collections`() async throws {
    let (first, second) = (try Side(), try Side())
    let attachment = PeerAttachment(
      name: "notes/été.txt", contentType: "text/plain", digest: "md5-kAFQmDzST7DWlj99KOF/cg==", length: 3,
      revisionPosition: 2, encoding: PeerAttachment.Encoding(name: "gzip", length: 23),
      content: FixedContent(bytes: [97, 98, 99]))
    let revision = PeerRevision(
      id: "with", history: [try RevisionID("2-bb"), try RevisionID("1-aa")],
      body: try JSON.fleece(from: #"{"n":1}"#), attachments: [attachment])
    #expect(try await first.peer.insert([revision]) == [.stored])
    try await replicate(first.peer, second.peer)
    let request = RevisionRequest("with", revisions: [try RevisionID("2-bb")])
    let back = try #require(try await second.peer.revisions([request]).first)
    #expect(String(decoding: try JSON.text(of: back.body), as: UTF8.self) == #"{"n":1}"#)
    let facts = try #require(back.attachments.first)
    #expect(facts.name == attachment.name)
    #expect(facts.contentType == attachment.contentType)
    #expect(facts.digest == attachment.digest)
    #expect(facts.length == 3)
    #expect(facts.revisionPosition == 2)
    #expect(facts.encoding == attachment.encoding)
    #expect(try await facts.content?.open().next() == [97, 98, 99])
    #expect(try first.contents() == second.contents())
  }

  @Test func `attachments whose names Unicode considers equal stay apart`() async throws {
    let (first, second) = (try Side(), try Side())
    let names = ["caf\u{E9}", "cafe\u{301}"]
    let attachments = names.enumerated().map { number, name in
      PeerAttachment(
        name: name, contentType: "text/plain", length: 1, revisionPosition: 1,
        content: FixedContent(bytes: [UInt8(number)]))
    }
    let revision = PeerRevision(
      id: "with", history: [try RevisionID("1-aa")], body: try JSON.fleece(from: "{}"),
      attachments: attachments)
    #expect(try await first.peer.insert([revision]) == [.stored])
    try await replicate(first.peer, second.peer)
    let request = RevisionRequest("with", revisions: [try RevisionID("1-aa")])
    let back = try #require(try await second.peer.revisions([request]).first).attachments
    for (number, name) in names.enumerated() {
      let found = try #require(back.first { Array($0.name.utf8) == Array(name.utf8) })
      #expect(try await found.content?.open().next() == [UInt8(number)])
    }
  }

  @Test func `a stub is found in an earlier revision, or its content is requested`() async throws {
    let (known, fresh) = (try Side(), try Side())
    var attachment = PeerAttachment(
      name: "a", contentType: "text/plain", digest: "md5-kAFQmDzST7DWlj99KOF/cg==", length: 3,
      revisionPosition: 1, content: FixedContent(bytes: [97, 98, 99]))
    var revision = PeerRevision(
      id: "with", history: [try RevisionID("1-aa")], body: try JSON.fleece(from: "{}"),
      attachments: [attachment])
    #expect(try await known.peer.insert([revision]) == [.stored])
    attachment.content = nil
    revision.attachments = [attachment]
    revision.history.insert(try RevisionID("2-bb"), at: 0)
    #expect(try await known.peer.insert([revision]) == [.stored])
    #expect(try await fresh.peer.insert([revision]) == [.lacksAttachment])
    try known.expectSound()
  }

  @Test func `a blob whose content is missing does not stop the replication`() async throws {
    let (source, target) = (try Side(), try Side())
    let digest = BlobDigest(of: [9, 9, 9])
    try source.save("lost", #"{"photo":{"@type":"blob","digest":"\#(digest.text)"}}"#)
    try source.save("other", "{}")
    let status = try await replicate(source.peer, target.peer)
    #expect(status.written == 2 && status.failures == 0)
    #expect(try target.contents() == source.contents())
    try target.expectSound()
  }
}

struct FixedContent: AttachmentContent {
  let bytes: [UInt8]
  func open() async throws -> any AttachmentReader { FixedReader(bytes) }
}

private actor FixedReader: AttachmentReader {
  private var bytes: [UInt8]?
  init(_ bytes: [UInt8]) { self.bytes = bytes }
  func next() async throws -> [UInt8]? { bytes.take() }
  nonisolated func close() {}
}
