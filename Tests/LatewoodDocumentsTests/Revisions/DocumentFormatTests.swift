import LatewoodFleece
import LatewoodSimulation
import LatewoodStore
import Testing

@testable import LatewoodDocuments

/// The names of revisions in both formats, and the upgrade from one to the other.
@Suite struct DocumentFormatTests {
  private struct Vector {
    var parent: String?
    var isDeleted: Bool
    var fleece: String
    var json: String?
    var revision: String?

    init(line: String) throws {
      let root = try FleeceBody(JSON.fleece(from: line)).root
      parent = try root.element(for: "parent")?.string()
      isDeleted = try root.element(for: "deleted")?.boolean() == true
      fleece = try root.element(for: "fleece")?.string() ?? ""
      json = try root.element(for: "json")?.string()
      revision = try root.element(for: "revision")?.string()
    }
  }

  private func revision(_ vector: Vector, _ body: [UInt8]) throws -> String {
    let parent = try vector.parent.map { try RevisionID($0) }
    return try body.withUnsafeBytes {
      try RevisionID(editing: parent, isDeleted: vector.isDeleted, body: $0, by: .valueHash).description
    }
  }

  @Test func `revisions have the names that an independent program gives them`() throws {
    let lines = try Repository.read("Tests/digests/vectors.jsonl").split(separator: UInt8(ascii: "\n"))
    #expect(lines.count > 100)
    for line in lines {
      let vector = try Vector(line: String(decoding: line, as: UTF8.self))
      let digits = Array(vector.fleece.utf8)
      let body = try stride(from: 0, to: digits.count, by: 2).map {
        try #require(UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16))
      }
      #expect(try revision(vector, body) == vector.revision, "\(vector)")
      if let json = vector.json {
        #expect(try revision(vector, JSON.fleece(from: json)) == vector.revision, "\(vector)")
      }
    }
  }

  private func store(_ format: DocumentFormat) throws -> DocumentStore {
    var options = DocumentOptions()
    options.format = format
    return try DocumentStore.inMemory(options: options)
  }

  @discardableResult
  private func save(
    _ json: String, over parent: RevisionID? = nil, in store: DocumentStore, id: String = "a"
  ) throws -> RevisionID {
    let (documents, body) = (try store.defaultCollection(), try JSON.fleece(from: json))
    return try store.write { try $0.save(id, in: documents, body: body, parent: parent).revision }
  }

  @Test func `a new database is in the newest format, and names revisions by their values`() throws {
    let newest = try DocumentStore.inMemory(options: DocumentOptions())
    #expect(try newest.format() == .version2)
    let revision = try save(#"{"b":[1,2],"a":1}"#, in: newest)
    #expect(revision.digest.count == 17 && revision.digest[0] == 2)
    #expect(try save(#"{"a":1.0,"b":[1,2.0]}"#, in: store(.version2)) == revision)
    let older = try store(.version1)
    #expect(try older.format() == .version1)
    let first = try save(#"{"a":1}"#, in: older)
    #expect(first.digest.count == 20 && first.digest[0] == 1)
  }

  @Test func `equal edits in replicas of one format are one revision, and in two formats a conflict`() throws
  {
    let stores = try [store(.version1), store(.version2), store(.version2)]
    let revisions = try stores.map { try save(#"{"n":1}"#, in: $0) }
    #expect(revisions[0] != revisions[1] && revisions[1] == revisions[2])
    let (documents, body) = (try stores[1].defaultCollection(), try JSON.fleece(from: #"{"n":1}"#))
    let same = try stores[1].write {
      try $0.insert("a", in: documents, history: [revisions[2]], body: body).isNew
    }
    #expect(!same)
    try stores[1].write { _ = try $0.insert("a", in: documents, history: [revisions[0]], body: body) }
    #expect(try stores[1].reads(documents).head(of: "a")?.hasConflicts == true)
  }

  @Test func `an upgrade keeps the names of revisions, and names later ones by their values`() throws {
    let directory = try TemporaryDirectory()
    var options = DocumentOptions()
    options.format = .version1
    var store = try DocumentStore.open(at: directory.database, options: options)
    let first = try save(#"{"n":1}"#, in: store)
    options.format = .version2
    try store.close()
    store = try DocumentStore.open(at: directory.database, options: options)
    #expect(try store.format() == .version1)
    let second = try save(#"{"n":2}"#, over: first, in: store)
    #expect(second.digest[0] == 1)
    let follower = try DocumentStore.open(at: directory.database, mode: .readOnly, options: options)
    #expect(try store.upgradeFormat())
    #expect(try !store.upgradeFormat())
    let third = try save(#"{"n":3}"#, over: second, in: store)
    #expect(third.digest[0] == 2)
    try store.expectSound()
    #expect(try follower.format() == .version2)
    try follower.close()
    try store.close()
    store = try DocumentStore.open(at: directory.database)
    #expect(try store.format() == .version2)
    let record = try #require(try store.reads(store.defaultCollection()).record(of: "a"))
    #expect(record.tree.history(of: third).map(\.id) == [third, second, first])
    #expect(try save(#"{"n":4}"#, over: third, in: store).digest[0] == 2)
    try store.expectSound()
    try store.close()
  }

  @Test func `an upgrade that is not committed changes nothing`() throws {
    let store = try store(.version1)
    #expect(throws: DatabaseError.self) {
      try store.write { _ in
        #expect(try store.upgradeFormat())
        #expect(try store.format() == .version2)
        throw DatabaseError(.conflict, "on purpose")
      }
    }
    #expect(try store.format() == .version1)
    #expect(try save(#"{"n":1}"#, in: store).digest[0] == 1)
    #expect(try store.upgradeFormat())
    #expect(try save(#"{"n":1}"#, in: store, id: "b").digest[0] == 2)
  }

  @Test func `a body that is not Fleece is refused, and nothing is changed`() throws {
    let store = try store(.version2)
    let documents = try store.defaultCollection()
    for body in [bytes("x"), [0x60, 1], [0x42, 0x61, 0xFF, 0, 0x80, 2]] {
      refusal(.corruptRevisionData) {
        try store.write { _ = try $0.save("a", in: documents, body: body, parent: nil) }
      }
    }
    #expect(try store.reads(documents).head(of: "a") == nil)
    try store.expectSound()
  }

  @Test func `a later format and unknown features are refused`() throws {
    for (key, value, code) in [
      ("format", [UInt8(3)], DatabaseError.Code.tooNew), ("features", [1], .tooNew),
      ("format", [0], .wrongFormat),
    ] {
      let directory = try TemporaryDirectory()
      try DocumentStore.open(at: directory.database, options: DocumentOptions()).close()
      let plain = try Store.open(at: directory.database)
      try plain.put(key, value, in: plain.keyspace("database"))
      try plain.close()
      refusal(code) { _ = try DocumentStore.open(at: directory.database) }
      refusal(code) { _ = try DocumentStore.open(at: directory.database, mode: .readOnly) }
    }
  }
}
