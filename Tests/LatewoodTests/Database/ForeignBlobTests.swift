import Foundation
import Latewood
import LatewoodSimulation
import LatewoodTestSupport
import Testing

/// Documents that refer to blobs whose content is missing, for now or for ever.
@Suite struct ForeignBlobTests {
  private let directory: TemporaryDirectory
  private let database: Database
  private let notes: DocumentCollection
  private let content = Data(repeating: 7, count: 3_000)
  /// The description of `content` from another database.
  private let photo: Blob

  init() throws {
    directory = try TemporaryDirectory()
    database = try Database.open(at: directory.file)
    notes = try database.defaultCollection
    photo = try Database.inMemory().saveBlob(content, contentType: "image/png")
  }

  private func expectMissing(
    _ count: Int, blobs: Int = 0, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let report = try database.verify()
    #expect(report.faults == [], sourceLocation: sourceLocation)
    #expect(report.missingBlobs == count && report.blobs == blobs, sourceLocation: sourceLocation)
  }

  @Test func `JSON of another database is saved with its blobs, whose content may arrive later`() throws {
    let other = try Database.inMemory()
    let sent = try other.defaultCollection.save(
      MutableDocument(id: "a", ["list": ["x", DocumentValue(try other.saveBlob(content))]]))
    let saved = try notes.save(MutableDocument(id: "a", json: try sent.toJSON()))
    #expect(saved.revisionID == sent.revisionID)
    let blob = try #require(try notes.document("a")?["list"][1].blob)
    #expect(blob.digest == photo.digest && blob.length == 3_000)
    #expect(try !database.hasContent(of: blob))
    let error = refusal(.notFound) { _ = try database.content(of: blob) }
    #expect(error?.message.contains(blob.digest) == true && error?.advice.contains("saveBlob") == true)
    try expectMissing(1)
    try database.compact()
    try expectMissing(1)

    _ = try database.saveBlob(content)
    #expect(try database.content(of: blob).data() == content)
    try expectMissing(0, blobs: 1)
    // Now only the document refers to it.
    try database.close()
    let again = try Database.open(at: directory.file)
    try again.compact()
    #expect(try again.content(of: blob).data() == content)
    #expect(try again.verify().faults == [])
    try again.defaultCollection.purge("a")
    try again.compact()
    #expect(try !again.hasContent(of: blob) && again.verify().blobs == 0)
  }

  @Test func `every way to save accepts a blob without content, and all keep the content later`() throws {
    let members: [String: DocumentValue] = ["photo": DocumentValue(photo)]
    try notes.save(MutableDocument(id: "saved", members))
    try notes.delete(notes.save(MutableDocument(id: "deleted")), keeping: members)
    try notes.setLocalDocument("local", members)
    try notes.insert(MutableDocument(id: "inserted", members), history: ["1-ab"])
    try notes.insert(MutableDocument(id: "merged"), history: ["1-ab"])
    try notes.insert(MutableDocument(id: "merged"), history: ["1-cd"])
    var merged = try #require(try notes.document("merged")).toMutable()
    merged["photo"].blob = photo
    try notes.resolveConflicts(with: merged)
    try expectMissing(1)
    _ = try database.saveBlob(content)
    try database.close()
    let again = try Database.open(at: directory.file)
    let there = try again.defaultCollection
    for (id, isLocal) in [
      ("saved", false), ("deleted", false), ("local", true), ("inserted", false), ("merged", false),
    ] {
      try again.compact()
      #expect(try again.content(of: photo).data() == content, "before \(id) is gone")
      #expect(try isLocal ? there.deleteLocalDocument(id) : there.purge(id))
    }
    try again.compact()
    #expect(try !again.hasContent(of: photo))
    let report = try again.verify()
    #expect(report.faults == [] && report.blobs == 0 && report.missingBlobs == 0)
  }

  @Test func `a blob known only from a document is forgotten with the document`() throws {
    try notes.save(MutableDocument(id: "a", ["photo": DocumentValue(photo)]))
    try notes.save(MutableDocument(id: "b", ["photo": DocumentValue(photo)]))
    try notes.purge("a")
    try database.compact()
    try expectMissing(1)
    try notes.purge("b")
    try database.compact()
    try expectMissing(0)
  }

  @Test func `content saved in a failed batch leaves no trace`() throws {
    try notes.save(MutableDocument(id: "a", ["photo": DocumentValue(photo)]))
    #expect(throws: OnPurpose.self) {
      try database.inBatch {
        _ = try database.saveBlob(content)
        #expect(try database.content(of: photo).data() == content)
        throw OnPurpose()
      }
    }
    refusal(.notFound) { _ = try database.content(of: photo) }
    try database.compact()
    try expectMissing(1)
    try database.inBatch {
      try notes.save(MutableDocument(id: "b", ["photo": DocumentValue(photo)]))
      _ = try database.saveBlob(content)
    }
    #expect(try database.content(of: photo).data() == content)
    try expectMissing(0, blobs: 1)
  }

  @Test func `a blob with a SHA-1 digest is kept unchanged, and has no content`() throws {
    let digest = "sha1-" + Data(repeating: 9, count: 20).base64EncodedString()
    let json =
      #"{"photo":{"@type":"blob","content_type":"image/png","digest":"\#(digest)","length":3000}}"#
    let saved = try notes.save(MutableDocument(id: "a", json: json))
    #expect(try notes.document("a")?.toJSON() == json && saved["photo"].isBlob)
    let blob = try #require(saved.blob("photo"))
    #expect(blob.digest == digest && blob.length == 3_000 && blob.contentType == "image/png")
    #expect(try JSONDecoder().decode(Blob.self, from: JSONEncoder().encode(blob)) == blob)
    #expect(try !database.hasContent(of: blob))
    let error = refusal(.notFound) { _ = try database.content(of: blob) }
    #expect(error?.advice.contains("saveBlob") == true)
    try database.compact()
    try expectMissing(0)
  }
}
