import Latewood
import LatewoodDocuments
import LatewoodFleece
import LatewoodReplicator
import Testing

/// Edits of a document that has attachments from CouchDB.
@Suite struct EditedAttachmentTests {
  private struct Note: Codable, Identifiable, Equatable {
    var id: String
    var text: String

    private enum CodingKeys: String, CodingKey {
      case id = "_id"
      case text
    }
  }

  private struct Album: Codable, Identifiable {
    var id: String
    var text: String
    var attachments: [String: Blob]

    private enum CodingKeys: String, CodingKey {
      case id = "_id"
      case text
      case attachments = "_attachments"
    }
  }

  /// A collection with a document as a pull from CouchDB stores it.
  private func pulled() async throws -> (Database, DocumentCollection, CollectionPeer) {
    let database = try Database.inMemory()
    let collection = try database["notes"]
    let peer = CollectionPeer(database.documents, collection.handle)
    let names = ["a.txt", "b.txt"]
    let revision = PeerRevision(
      id: "note", history: [try RevisionID("2-bb"), try RevisionID("1-aa")],
      body: try JSON.fleece(from: #"{"text":"old"}"#),
      attachments: names.map { name in
        PeerAttachment(
          name: name, contentType: "text/plain", digest: "md5-kAFQmDzST7DWlj99KOF/cg==", length: 3,
          revisionPosition: 2, encoding: PeerAttachment.Encoding(name: "gzip", length: 23),
          content: FixedContent(bytes: [97, 98, 99]))
      })
    #expect(try await peer.insert([revision]) == [.stored])
    return (database, collection, peer)
  }

  /// Checks the attachments as a push sends them.
  private func expectUnchanged(
    _ names: [String], _ peer: CollectionPeer, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let leaves = try await peer.missing([DocumentRevisions("note", [try RevisionID("9-ff")])])
      .first?.possibleAncestors
    let leaf = try #require(leaves?.first)
    let sent = try #require(
      try await peer.revisions([RevisionRequest("note", revisions: [leaf])]).first,
      sourceLocation: sourceLocation)
    #expect(sent.history[0].generation > 2, sourceLocation: sourceLocation)
    #expect(
      String(decoding: try JSON.text(of: sent.body), as: UTF8.self) == #"{"text":"new"}"#,
      sourceLocation: sourceLocation)
    #expect(sent.attachments.map(\.name) == names, sourceLocation: sourceLocation)
    for attachment in sent.attachments {
      #expect(attachment.digest == "md5-kAFQmDzST7DWlj99KOF/cg==", sourceLocation: sourceLocation)
      #expect(attachment.contentType == "text/plain", sourceLocation: sourceLocation)
      #expect(attachment.length == 3 && attachment.revisionPosition == 2, sourceLocation: sourceLocation)
      #expect(
        attachment.encoding == PeerAttachment.Encoding(name: "gzip", length: 23),
        sourceLocation: sourceLocation)
      #expect(
        try await attachment.content?.open().next() == [97, 98, 99], sourceLocation: sourceLocation)
    }
  }

  @Test func `an edited document keeps its attachments`() async throws {
    let (database, collection, peer) = try await pulled()
    var document = try #require(try await collection.document("note")).toMutable()
    document["text"] = "new"
    try await collection.save(document)
    try await expectUnchanged(["a.txt", "b.txt"], peer)
    try await database.close()
  }

  @Test func `a value keeps the attachments that its type does not have`() async throws {
    let (database, collection, peer) = try await pulled()
    let notes = TypedCollection<Note>(collection)
    var note = try #require(try await notes.document("note"))
    note.text = "newer"
    note = try await notes.save(note)
    try await notes.update("note") { $0.text = "new" }
    try await expectUnchanged(["a.txt", "b.txt"], peer)
    try await database.close()
  }

  @Test func `a value can remove an attachment, and keeps what CouchDB says of the others`() async throws {
    let (database, collection, peer) = try await pulled()
    let albums = TypedCollection<Album>(collection)
    var album = try #require(try await albums.document("note"))
    album.text = "new"
    album.attachments["b.txt"] = nil
    album = try await albums.save(album)
    try await expectUnchanged(["a.txt"], peer)
    album.attachments = [:]
    album = try await albums.save(album)
    try await expectUnchanged([], peer)
    #expect(try await collection.document("note")?.keys == ["text"])
    try await database.close()
  }

  @Test func `attachments that are not blobs are refused`() throws {
    for value: DocumentValue in [1, ["a": 1], ["a": ["@type": "blob", "digest": "md5-"]]] {
      let document = try MutableDocument(["_attachments": value])
      let error = #expect(throws: DatabaseError.self) { try document.encodedBody() }
      #expect(error?.code == .corruptRevisionData)
      #expect(error?.advice.contains("blob") == true)
    }
  }
}
