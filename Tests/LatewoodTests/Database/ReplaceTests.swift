import Foundation
import Latewood
import LatewoodSimulation
import Testing

/// Databases that replace others.
@Suite struct ReplaceTests {
  private let directory: TemporaryDirectory
  private let target: String

  init() throws {
    directory = try TemporaryDirectory()
    target = directory.path + "/target.latewood"
    let source = try Database.open(at: directory.file)
    try source.defaultCollection.save(MutableDocument(id: "new", ["n": 1]))
    try source.close()
    let old = try Database.open(at: target)
    try old.defaultCollection.save(MutableDocument(id: "old"))
    try old.close()
  }

  private func ids(at path: String) throws -> [String] {
    let database = try Database.open(at: path, mode: .readOnly)
    defer { #expect(throws: Never.self) { try database.close() } }
    return try database.defaultCollection.documentIDs()
  }

  @Test func `a closed database is replaced by a copy that its owner can write`() throws {
    let files = FileManager.default
    try files.setAttributes([.posixPermissions: 0o444], ofItemAtPath: directory.file)
    try Database.replace(at: target, with: directory.file)
    let permissions = try files.attributesOfItem(atPath: target)[.posixPermissions] as? Int
    #expect(permissions == 0o644)
    let source = try Database.open(at: directory.file, mode: .readOnly)
    let replaced = try Database.open(at: target)
    #expect(try replaced.defaultCollection.documentIDs() == ["new"])
    #expect(try replaced.identity != source.identity)
    try replaced.defaultCollection.save(MutableDocument(id: "more"))
    #expect(try replaced.verify().isSound)
    try replaced.close()
    let names = try files.contentsOfDirectory(atPath: directory.path)
    #expect(
      Set(names) == ["test.latewood", "test.latewood.lock", "target.latewood", "target.latewood.lock"])
  }

  @Test func `an open database is not replaced, even if it is open for reading only`() throws {
    for mode in [Database.OpenMode.openExisting, .readOnly] {
      let open = try Database.open(at: target, mode: mode)
      refusal(.busy) { try Database.replace(at: target, with: directory.file) }
      #expect(try open.defaultCollection.documentIDs() == ["old"])
      try open.close()
      #expect(try ids(at: target) == ["old"])
    }
    // The source may be open, but not replaced by itself.
    let source = try Database.open(at: directory.file)
    refusal(.busy) { try Database.replace(at: directory.file, with: directory.file) }
    try Database.replace(at: target, with: directory.file)
    #expect(try ids(at: target) == ["new"])
    try source.close()
  }

  @Test func `replacing works where no database exists, and by name`() throws {
    let all = DatabaseDirectory(path: directory.path)
    try all.replace("none", with: directory.file)
    #expect(try ids(at: all.path(of: "none")) == ["new"])
    try all.replace("target", with: directory.file)
    #expect(try ids(at: target) == ["new"])
    refusal(.invalidParameter) { try all.replace("No name", with: directory.file) }
  }

  @Test func `a bad source leaves the old file, and a file of another kind is never replaced`() throws {
    refusal(.notFound) { try Database.replace(at: target, with: directory.path + "/missing") }
    let text = directory.path + "/text"
    try Data("no database".utf8).write(to: URL(fileURLWithPath: text))
    refusal(.wrongFormat) { try Database.replace(at: target, with: text) }
    #expect(try ids(at: target) == ["old"])
    refusal(.wrongFormat) { try Database.replace(at: text, with: directory.file) }
    #expect(try Data(contentsOf: URL(fileURLWithPath: text)) == Data("no database".utf8))
  }

  @Test func `replacing through a link replaces the file it leads to`() throws {
    let link = directory.path + "/link.latewood"
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
    try Database.replace(at: link, with: directory.file)
    #expect(try ids(at: target) == ["new"])
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == target)
  }
}
