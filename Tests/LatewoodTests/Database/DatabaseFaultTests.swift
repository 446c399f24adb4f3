import Foundation
import Latewood
import LatewoodSimulation
import LatewoodStore
import Testing

/// A fault found by a verification names its location.
@Suite struct DatabaseFaultTests {
  private let directory: TemporaryDirectory
  private let blob: Blob

  /// Two documents, one of which has a blob and the other two revisions.
  init() throws {
    directory = try TemporaryDirectory()
    let database = try Database.open(at: directory.file)
    let people = try database.createCollection("people")
    blob = try database.saveBlob(Data(repeating: 7, count: 3000), contentType: "image/png")
    try people.save(MutableDocument(id: "anna", ["photo": DocumentValue(blob)]))
    var ben = try people.save(MutableDocument(id: "ben", ["n": 1])).toMutable()
    ben["n"] = 2
    try people.save(ben)
    try database.close()
  }

  /// Changes the file below the documents, and returns the faults that a verification then finds.
  private func faults(_ change: (Store) throws -> Void) throws -> [DatabaseFault] {
    let store = try Store.open(at: directory.file, mode: .openExisting)
    try change(store)
    try store.close()
    let database = try Database.open(at: directory.file)
    let result = try database.verify()
    #expect(!result.isSound && !result.faults.isEmpty)
    try database.close()
    return result.faults
  }

  @Test func `a document without a feed entry is reported with its id`() throws {
    let found = try faults { store in
      let feed = try #require(try store.existingKeyspace("sequences/people"))
      let first = try #require(try store.first(in: feed))
      try store.delete(first.key, in: feed)
    }
    let fault = try #require(found.first { $0.documentID == "anna" })
    #expect(fault.collection == "people" && fault.offset == nil && fault.blobDigest == nil)
    #expect(fault.description.hasPrefix("people/anna") && fault.description.hasSuffix(fault.message))
  }

  @Test func `a blob without its content is reported with its digest`() throws {
    let found = try faults { store in
      let chunks = try #require(try store.existingKeyspace("chunks"))
      try store.write { try $0.deleteRange(in: chunks) }
    }
    #expect(found.contains { $0.blobDigest == blob.digest && $0.collection == nil })
  }

  @Test func `damaged bytes are reported with their offset`() throws {
    let first = try Database.open(at: directory.file)
    try first.compact()
    try first.close()
    var bytes = try Data(contentsOf: URL(fileURLWithPath: directory.file))
    let content = try #require(bytes.range(of: Data(repeating: 7, count: 3000)))
    bytes[content.lowerBound + 1000] ^= 1
    try bytes.write(to: URL(fileURLWithPath: directory.file))
    let database = try Database.open(at: directory.file)
    let found = try database.verify().faults
    let damage = try #require(found.first { $0.offset != nil })
    #expect(damage.offset == UInt64(content.lowerBound) && damage.collection == nil)
    #expect(damage.description == "at \(content.lowerBound): \(damage.message)")
    try database.close()
  }

  @Test func `damage in one collection does not hide faults in another`() throws {
    let first = try Database.open(at: directory.file)
    let names = ["birds", "trees"]
    for name in names {
      let text = String(repeating: name, count: 1000)
      try first.createCollection(name).save(MutableDocument(id: "long", ["text": DocumentValue(text)]))
    }
    try first.compact()
    try first.close()
    var bytes = try Data(contentsOf: URL(fileURLWithPath: directory.file))
    for name in names {
      let text = Data(String(repeating: name, count: 1000).utf8)
      let content = try #require(bytes.range(of: text))
      bytes[content.lowerBound + 500] ^= 1
    }
    try bytes.write(to: URL(fileURLWithPath: directory.file))
    let database = try Database.open(at: directory.file)
    let found = try database.verify().faults
    #expect(Set(found.compactMap(\.collection)) == ["birds", "trees"])
    #expect(found.count { $0.offset != nil } == 2)
    try database.close()
  }
}
