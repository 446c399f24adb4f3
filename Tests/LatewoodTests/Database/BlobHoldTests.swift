import Foundation
import Latewood
import LatewoodSimulation
import LatewoodTestSupport
import Testing

/// A blob stays while it may still be put into a document, and while there is a reference to it.
@Suite struct BlobHoldTests {
  private let directory: TemporaryDirectory
  private let database: Database
  private let notes: DocumentCollection
  private let content = Data(repeating: 7, count: 3_000)

  init() throws {
    directory = try TemporaryDirectory()
    database = try Database.open(at: directory.file)
    notes = try database.defaultCollection
  }

  @Test func `a failed batch does not release a blob that was saved before it`() throws {
    let blob = try database.saveBlob(content)
    #expect(throws: OnPurpose.self) {
      try database.inBatch {
        try notes.save(MutableDocument(id: "a", ["photo": DocumentValue(blob)]))
        throw OnPurpose()
      }
    }
    try database.compact()
    try notes.save(MutableDocument(id: "a", ["photo": DocumentValue(blob)]))
    #expect(try database.content(of: blob).data() == content)
    try notes.purge("a")
    try database.compact()
    #expect(try !database.hasContent(of: blob))
  }

  @Test func `equal content saved twice is held twice`() throws {
    let mine = try database.saveBlob(content)
    let other = try database.saveBlob(content)
    let saved = try notes.save(MutableDocument(id: "a", ["photo": DocumentValue(mine)]))
    var again = saved.toMutable()
    again["n"] = 1
    try notes.save(again)
    try notes.purge("a")
    try database.compact()
    try notes.save(MutableDocument(id: "b", ["photo": DocumentValue(other)]))
    try notes.purge("b")
    try database.compact()
    #expect(try !database.hasContent(of: mine), "both have been used")
    #expect(try database.verify().blobs == 0)
  }

  @Test func `blobs of deleted and local documents are kept`() throws {
    let first = try database.saveBlob(content)
    let second = try database.saveBlob(Data("second".utf8))
    let note = try notes.save(MutableDocument(id: "a"))
    try notes.delete(note, keeping: ["photo": DocumentValue(first)])
    try notes.setLocalDocument("b", ["photo": DocumentValue(second), "other": DocumentValue(first)])
    try notes.setLocalDocument("bb", ["photo": DocumentValue(second)])
    try database.compact()
    #expect(try database.content(of: first).data() == content)
    #expect(try database.content(of: second).data() == Data("second".utf8))
    #expect(try database.verify().faults == [])
    try notes.setLocalDocument("b", ["photo": DocumentValue(first)])
    try database.compact()
    #expect(try database.hasContent(of: second), "another local document has it")
    #expect(try notes.deleteLocalDocument("bb"))
    try notes.purge("a")
    try database.compact()
    #expect(try database.hasContent(of: first) && !database.hasContent(of: second))
    #expect(try database.verify().faults == [])
    #expect(try notes.deleteLocalDocument("b"))
    try database.compact()
    #expect(try database.verify().blobs == 0)
    #expect(try database.verify().faults == [])
  }

  @Test func `a batch can read the blob it saved, and after a failed batch the blob is gone`() throws {
    var lost: (blob: Blob, content: BlobContent)?
    #expect(throws: OnPurpose.self) {
      try database.inBatch {
        let blob = try database.saveBlob(content)
        let stored = try database.content(of: blob)
        #expect(try stored.data() == content)
        try stored.forEachPiece { piece in
          #expect(piece == content)
          try notes.save(MutableDocument(id: "a", ["photo": DocumentValue(blob)]))
          return true
        }
        lost = (blob, stored)
        throw OnPurpose()
      }
    }
    let (blob, stored) = try #require(lost)
    #expect(try !database.hasContent(of: blob))
    refusal(.notFound) { _ = try stored.data() }
    lost = nil
    #expect(try database.saveBlob(content) == blob)
    #expect(try database.content(of: blob).data() == content)
    #expect(try database.verify().faults == [])
  }
}
