import LatewoodDevice
import LatewoodDocuments
import LatewoodFleece
import LatewoodInspection
import LatewoodQuery
import LatewoodStore
import Testing

@testable import LatewoodTool

/// `salvage` turns a damaged file into a new one with the names of the old, and a report on the
/// credibility of its entries.
@Suite struct SalvageRunTests {
  private func salvage(
    _ directory: ToolDirectory, _ source: String, _ target: String, limit: Int = 20,
    identity: SalvageIdentity? = nil
  ) throws -> SalvageRun {
    try SalvageRun(
      from: directory.file(source), to: directory.file(target), identity: identity, listLimit: limit,
      on: ToolDirectory.console())
  }

  @Test func `a sound file is salvaged completely`() throws {
    let directory = try ToolDirectory()
    try directory.makeDatabase("a")
    let before = try directory.bytes(of: "a")
    let run = try salvage(directory, "a", "b")
    #expect(run.isWhole && run.saved == 800 && run.older == 0 && run.unproven == 0)
    #expect(try directory.entries(of: "b") == directory.entries(of: "a"))
    #expect(try directory.bytes(of: "a") == before)
    #expect(try Directories.names(in: directory.path).sorted() == ["a", "a.lock", "b"])
  }

  @Test func `uncertain entries are counted, and listed up to the limit`() throws {
    let directory = try ToolDirectory()
    try directory.makeDatabase("a")
    let whole = try directory.entries(of: "a")
    var bytes = try directory.bytes(of: "a")
    let start = 16384 + 4096 * 3
    bytes.replaceSubrange(start..<start + 4096, with: [UInt8](repeating: 0, count: 4096))
    try directory.write(bytes, to: "damaged")
    let run = try salvage(directory, "damaged", "b", limit: 3)
    #expect(!run.isWhole && run.unproven > 3 && run.listed.count == 3)
    #expect(run.saved < 800 && run.saved + Int(run.report.missing) == 800)
    let saved = try directory.entries(of: "b")
    for (name, entries) in saved {
      for (key, value) in entries { #expect(whole[name]?[key] == value) }
    }
    #expect(saved.keys.sorted() == ["fruit", "roots"])
  }

  @Test func `a keyspace whose name is lost is named after its number`() throws {
    let directory = try ToolDirectory()
    try directory.makeDatabase("a")
    var bytes = try directory.bytes(of: "a")
    // All names of keyspaces in the file: since the compaction they are only in the catalog's leaf.
    for name in ["fruit", "roots"] {
      let text = Array(name.utf8)
      for at in 16384..<bytes.count - text.count where bytes[at..<at + text.count].elementsEqual(text) {
        bytes.replaceSubrange(at..<at + text.count, with: [UInt8](repeating: 0xFF, count: text.count))
      }
    }
    try directory.write(bytes, to: "damaged")
    let run = try salvage(directory, "damaged", "b")
    #expect(!run.isWhole)
    #expect(run.keyspaces.contains { $0.isNameLost && $0.name == "keyspace-2" && $0.entries == 400 })
    _ = try directory.entries(of: "b")
  }

  @Test func `an existing target is refused, and a failure leaves no files`() throws {
    let directory = try ToolDirectory()
    try directory.makeDatabase("a")
    try directory.write([1, 2, 3], to: "there")
    let error = #expect(throws: Failure.self) { try salvage(directory, "a", "there") }
    #expect(error?.code == "alreadyExists" && error?.exitCode == .cannotOpen)
    #expect(try directory.bytes(of: "there") == [1, 2, 3])
    #expect(throws: Failure.self) { try salvage(directory, "a", "a") }
    try directory.write([UInt8](repeating: 0, count: 50_000), to: "nothing")
    let other = #expect(throws: Failure.self) { try salvage(directory, "nothing", "b") }
    #expect(other?.exitCode == .damaged && other?.advice.contains("--header-of") == true)
    let wrong = #expect(throws: Failure.self) {
      try salvage(directory, "a", "b", identity: SalvageIdentity(fileID: [UInt8](repeating: 5, count: 16)))
    }
    #expect(wrong?.advice.contains("not the file id of the file") == true)
    #expect(try !FileVolume().exists(directory.file("b")))
    #expect(try !FileVolume().exists(directory.file("b.salvaging")))
  }

  @Test func `documents are salvaged, and faults between them are counted`() throws {
    let directory = try ToolDirectory()
    let store = try DocumentStore.open(at: directory.file("docs"))
    let collection = try #require(try store.collection("_default"))
    for index in 0..<300 {
      try store.write { writer in
        let body = try JSON.fleece(from: #"{"text":"\#(String(repeating: "y", count: index))"}"#)
        _ = try writer.save("doc-\(index)", in: collection, body: body, parent: nil)
      }
    }
    try store.compact()
    try store.close()
    let sound = try salvage(directory, "docs", "same")
    #expect(sound.isWhole && sound.documentFaults == 0)
    var bytes = try directory.bytes(of: "docs")
    let start = bytes.count / 2 / 4096 * 4096
    bytes.replaceSubrange(start..<start + 4096, with: [UInt8](repeating: 0, count: 4096))
    try directory.write(bytes, to: "damaged")
    let run = try salvage(directory, "damaged", "b")
    #expect(!run.isWhole && run.documentFaults != nil)
    _ = try directory.entries(of: "b")
  }

  @Test func `indexes of a partly salvaged file are rebuilt`() throws {
    let directory = try ToolDirectory()
    let store = try DocumentStore.open(at: directory.file("docs"))
    let collection = try #require(try store.collection("_default"))
    for index in 0..<300 {
      try store.write { writer in
        let body = try JSON.fleece(
          from: #"{"n":\#(index),"text":"\#(String(repeating: "y", count: index))"}"#)
        _ = try writer.save("doc-\(index)", in: collection, body: body, parent: nil)
      }
    }
    try store.createIndex("n", IndexDefinition([IndexDefinition.Part(parsing: "n:desc")]), in: collection)
    let words = try TextDefinition([TextDefinition.Field(parsing: "text")])
    try store.createIndex("words", fullText: words, in: collection)
    try store.compact()
    try store.close()
    for (name, from, length) in [("whole", 0, 0), ("early", 3, 8192), ("late", 20, 4096)] {
      var bytes = try directory.bytes(of: "docs")
      let start = 16384 + 4096 * from
      guard start + length <= bytes.count else { continue }
      bytes.replaceSubrange(start..<start + length, with: [UInt8](repeating: 0, count: length))
      try directory.write(bytes, to: "damaged-\(name)")
      let run = try salvage(directory, "damaged-\(name)", "saved-\(name)")
      #expect(run.isWhole == (length == 0))
      let saved = try DocumentStore.open(at: directory.file("saved-\(name)"))
      let faults = try saved.verify(deep: true).faults.map { "\($0)" }
      #expect(
        faults.allSatisfy { !$0.contains("the index ") && !$0.contains("full-text") },
        "\(name): \(faults.prefix(3))")
      let found = try #require(try saved.collection("_default"))
      #expect(try saved.reads(found).indexList().map(\.isReady) == [true], "\(name)")
      #expect(try saved.reads(found).textIndexList().map(\.isReady) == [true], "\(name)")
      try saved.close()
    }
  }
}
