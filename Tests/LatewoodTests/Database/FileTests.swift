import Foundation
import Latewood
import LatewoodSimulation
import Testing

@Suite struct FileTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  @Test func `databases in a directory are found and deleted by name`() throws {
    let all = DatabaseDirectory(path: directory.path)
    #expect(try all.existing("people") == nil && !all.exists("people"))
    let people = try all.open("people")
    _ = try all.open("work/2019")
    #expect(try all.names() == ["people", "work/2019"])
    #expect(try all.existing("people") != nil)
    refusal(.busy) { try all.delete("people") }
    try people.close()
    #expect(try all.delete("people"))
    #expect(try !all.delete("people"))
    // Its lock file has been removed, too.
    let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
    #expect(!names.contains { $0.hasPrefix("people") })
    for name in ["", "1a", "A", "a b", "_x", "a.b", String(repeating: "a", count: 240)] {
      refusal(.invalidParameter) { _ = try all.open(name) }
    }
    #expect(try all.path(of: "a/b_$()+-0").hasSuffix("/a:b_$()+-0.latewood"))
  }

  @Test func `a file opened twice is one database`() throws {
    let first = try Database.open(at: directory.file)
    let second = try Database.open(at: directory.file)
    try first.defaultCollection.save(MutableDocument(id: "a"))
    #expect(try second.defaultCollection.contains("a"))
    try first.close()
    try second.defaultCollection.save(MutableDocument(id: "b"))
    try second.close()
    let reader = try Database.open(at: directory.file, mode: .readOnly)
    #expect(try reader.defaultCollection.count == 2)
    refusal(.notWritable) { try reader.defaultCollection.save(MutableDocument(id: "c")) }
  }

  @Test func `an installed prebuilt database has a new identity`() throws {
    let original = try Database.open(at: directory.file)
    try original.defaultCollection.save(MutableDocument(id: "a", ["n": 1]))
    let target = directory.path + "/installed"
    try Database.copy(from: directory.file, to: target)
    let installed = try Database.open(at: target)
    #expect(try installed.defaultCollection.document("a")?.int("n") == 1)
    #expect(try installed.identity != original.identity)
    #expect(try installed.verify().faults == [])
    refusal(.conflict) { try Database.copy(from: directory.file, to: target) }
    refusal(.notFound) { _ = try Database.open(at: directory.path + "/none", mode: .openExisting) }
    try Data("no database".utf8).write(to: URL(fileURLWithPath: directory.path + "/text"))
    refusal(.wrongFormat) { _ = try Database.open(at: directory.path + "/text") }
  }

  @Test func `a read-only prebuilt database is installed with write permission for its owner`() throws {
    let original = try Database.open(at: directory.file)
    try original.defaultCollection.save(MutableDocument(id: "a", ["n": 1]))
    let identity = try original.identity
    try original.close()
    let files = FileManager.default
    try files.setAttributes([.posixPermissions: 0o444], ofItemAtPath: directory.file)
    let target = directory.path + "/installed"
    try Database.copy(from: directory.file, to: target)
    let permissions = try files.attributesOfItem(atPath: target)[.posixPermissions] as? Int
    #expect(permissions == 0o644)
    let installed = try Database.open(at: target)
    try installed.defaultCollection.save(MutableDocument(id: "b"))
    #expect(try installed.defaultCollection.count == 2)
    #expect(try installed.identity != identity)
    try installed.close()
    let names = try files.contentsOfDirectory(atPath: directory.path)
    #expect(Set(names) == ["test.latewood", "test.latewood.lock", "installed", "installed.lock"])
  }

  @Test func `installing a prebuilt database leaves its old revisions behind`() throws {
    let original = try Database.open(at: directory.file)
    let notes = try original.defaultCollection
    let text = String(repeating: "Das ist lang. ", count: 4000)
    for round in 0..<6 {
      for id in ["a", "b", "c", "d"] {
        try notes.update(id) {
          $0["round"].int = round
          $0["text"].string = "\(round) \(text)"
          return true
        }
      }
    }
    try notes.save(
      MutableDocument(
        id: "photo", ["photo": DocumentValue(try original.saveBlob(Data(count: 900_000)))]))
    try notes.delete(#require(try notes.document("photo")))
    let target = directory.path + "/installed"
    try Database.copy(from: directory.file, to: target)
    func size(_ path: String) throws -> Int {
      try #require(try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int)
    }
    let (copied, whole) = try (size(target), size(directory.file))
    #expect(copied < 400_000, "\(copied) of \(whole)")
    let installed = try Database.open(at: target)
    #expect(try installed.defaultCollection.document("c")?.int("round") == 5)
    let verified = try installed.verify()
    #expect(verified.faults == [] && verified.bodies == 5 && verified.blobs == 0)
  }

  @Test func `a file holds several independent collections`() throws {
    let database = try Database.open(at: directory.file)
    let notes = try database.createCollection("notes")
    try notes.save(MutableDocument(id: "a"))
    #expect(try database.collectionNames == ["_default", "notes"])
    #expect(try database.defaultCollection.count == 0)
    #expect(try database.collection("none") == nil)
    #expect(try database.dropCollection("notes"))
    refusal(.notFound) { try notes.save(MutableDocument(id: "b")) }
    #expect(try database.createCollection("notes").count == 0)
    #expect(try database.verify().faults == [])
  }

  @Test func `blobs are stored once, and stay as long as they are needed`() throws {
    let database = try Database.open(at: directory.file)
    let notes = try database.defaultCollection
    let content = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
    let blob = try database.saveBlob(content, contentType: "image/png")
    #expect(blob.length == 3_000_000 && blob.digest.hasPrefix("sha256-"))
    #expect(try database.saveBlob(content).digest == blob.digest)
    // Nothing refers to it yet, but it is held.
    try database.compact()
    let saved = try notes.save(
      MutableDocument(id: "a", ["photo": DocumentValue(blob), "more": ["x", DocumentValue(blob)]]))
    #expect(saved.blob("photo") == blob)
    let stored = try database.content(of: blob)
    #expect(try stored.data() == content)
    #expect(try stored.data(in: 1_048_570..<1_048_590) == content[1_048_570..<1_048_590])
    #expect(try notes.document("a")?.toJSON().contains(#""@type":"blob""#) == true)
    #expect(try database.verify().blobs == 1)
    try notes.purge("a")
    _ = consume stored
    try database.compact()
    #expect(try database.verify().blobs == 0)
    #expect(try database.verify().faults == [])
  }

  @Test func `a backup can be opened as a database`() throws {
    let database = try Database.open(at: directory.file)
    let notes = try database.defaultCollection
    try notes.save(MutableDocument(id: "a"))
    let target = directory.path + "/backup"
    #expect(try !database.backup(to: target).isIncremental)
    try notes.save(MutableDocument(id: "b"))
    #expect(try database.backup(to: target).isIncremental)
    let backup = try Database.open(at: target, mode: .readOnly)
    #expect(try backup.defaultCollection.count == 2)
    #expect(try backup.verify().faults == [])
  }

  @Test func `expired documents are gone the next time the database opens`() throws {
    let database = try Database.open(at: directory.file)
    let notes = try database.defaultCollection
    for id in ["a", "b"] { try notes.save(MutableDocument(id: id)) }
    let soon = Date(timeIntervalSinceNow: 3600)
    try notes.setExpiration(of: "a", soon)
    let set = try #require(try notes.expiration(of: "a"))
    #expect(abs(set.timeIntervalSince(soon)) <= 1)
    try notes.setExpiration(of: "a", nil)
    #expect(try notes.expiration(of: "a") == nil)
    try database.close()
    let again = try Database.open(at: directory.file)
    #expect(try again.defaultCollection.count == 2)
    try again.defaultCollection.setExpiration(of: "b", Date(timeIntervalSince1970: 1))
    try again.close()
    let third = try Database.open(at: directory.file)
    #expect(try third.defaultCollection.documentIDs() == ["a"])
    #expect(try third.defaultCollection.changes().map(\.id) == ["a"])
  }
}
