import Foundation
import LatewoodDevice
import LatewoodDocuments
import LatewoodInspection
import LatewoodQuery
import LatewoodSimulation
import LatewoodStore
import Testing

@testable import LatewoodTool

@Suite struct SizeCommandTests {
  private let tool: ToolRun

  init() throws { tool = try ToolRun() }

  /// Opens the database without compactions or purges that run by themselves.
  @discardableResult
  private func change<R>(_ body: (DocumentStore, CollectionHandle) throws -> R) throws -> R {
    var options = DocumentOptions()
    options.expiresByItself = false
    options.store.compaction = .manual
    let store = try DocumentStore.open(at: tool.path, options: options)
    let result = try body(store, try store.createCollection("films"))
    try store.close()
    return result
  }

  /// Creates 200 documents of four revisions with bodies of about 1,000 bytes, a blob that only an
  /// old revision refers to, a blob in use, an index, and a local document.
  private func makeDocuments() throws {
    try change { store, collection in
      let blobs = try [[UInt8](repeating: 1, count: 300_000), [UInt8](repeating: 2, count: 2_000_000)].map {
        try store.putBlob($0).digest
      }
      var parents: [String: RevisionID] = [:]
      for round in 0..<4 {
        try store.write { writer in
          for index in 0..<200 {
            let id = "film-\(1000 + index)"
            let blob = index == 0 && round == 0 ? blobs[0] : index == 1 ? blobs[1] : nil
            let poster = blob.map {
              #","poster":{"@type":"blob","digest":"\#(BlobListing.name(of: $0))"}"#
            }
            let text = String(repeating: "x", count: 1000 + (id == "film-1007" ? 9000 : index))
            let json = #"{"round":\#(round),"text":"\#(text)"\#(poster ?? "")}"#
            parents[id] = try writer.save(
              id, in: collection, body: tool.body(json), parent: parents[id], blobs: blob.map { [$0] } ?? []
            ).revision
          }
        }
      }
      try store.createIndex("t", IndexDefinition([IndexDefinition.Part(parsing: "text")]), in: collection)
      try store.write { try $0.putLocal("me", in: collection, body: tool.body(#"{"a":1}"#)) }
    }
  }

  private func bytes(_ report: SizeReport) -> [String: UInt64] {
    Dictionary(uniqueKeysWithValues: report.sum.map { ($0.name, $0.bytes) })
  }

  /// Surveys the file, and checks the figures for the file as a whole.
  private func survey(_ path: String? = nil, limit: Int = 10) throws -> SizeReport {
    let path = path ?? tool.path
    let report = try SizeReport.of(path, limit: limit)
    let device = try FileVolume().open(path, .readOnly)
    defer { device.close() }
    #expect(try report.parts.fileBytes == device.size())
    #expect(try report.parts.allocatedBytes == device.allocatedSize())
    #expect(report.sum.reduce(0) { $0 + $1.bytes } == report.parts.fileBytes, "\(report.sum)")
    // Holes are exactly the bytes that `ls` counts and `du` does not.
    let holes = report.sum.first { $0.name == "holes" }?.bytes ?? 0
    #expect(holes <= report.parts.fileBytes - min(report.parts.fileBytes, report.parts.allocatedBytes))
    #expect(Set(report.sum.map(\.name)).count == report.sum.count)
    return report
  }

  @Test func `the parts of documents add up, before and after a compaction`() throws {
    try makeDocuments()
    let before = bytes(try survey())
    let current: UInt64 = 200 * 1000
    for name in [
      "currentBodies", "supersededBodies", "records", "indexes", "feed", "blobs", "dead", "header",
    ] {
      #expect(before[name] ?? 0 > 0, "\(name)")
    }
    #expect((current..<current * 2).contains(before["currentBodies"] ?? 0), "\(before)")
    #expect((3 * current..<5 * current).contains(before["supersededBodies"] ?? 0), "\(before)")
    #expect((2_300_000..<2_320_000).contains(before["blobs"] ?? 0), "\(before)")
    #expect(before["log"] == 0 && before["entries"] == 0 && before["damaged"] == 0, "\(before)")
    #expect(try tool("compact", "@").code == .success)
    let after = bytes(try survey())
    #expect(after["supersededBodies"] == 0 && after["dead"] == 0, "\(after)")
    #expect(after["holes"] == 0 && after["zeros"] == 0, "\(after)")
    #expect((2_000_000..<2_020_000).contains(after["blobs"] ?? 0), "\(after)")
    #expect((current..<current * 2).contains(after["currentBodies"] ?? 0), "\(after)")
  }

  @Test func `the kinds of a collection have the right entries and sizes`() throws {
    try makeDocuments()
    let report = try survey()
    let films = try #require(report.collections.first { $0.name == "films" })
    #expect(films.documents == 200)
    func size(_ kind: SpaceKind) -> SizeReport.KindSize {
      films.kinds.first { $0.kind == kind } ?? SizeReport.KindSize(kind: kind)
    }
    #expect(size(.currentBodies).entries == 200 && size(.supersededBodies).entries == 600)
    #expect(size(.records).entries == 200 && size(.feed).entries == 200 && size(.indexes).entries == 200)
    #expect(size(.localDocuments).entries == 1)
    try change { store, collection in
      let reads = try store.reads(collection)
      #expect(size(.currentBodies).contentBytes > 0)
      let body = try #require(try reads.document("film-1007")?.body)
      let found = try #require(report.largestDocuments.items.first?.item.size)
      #expect(found.id == "film-1007" && found.bodyBytes == UInt64(body.count))
      #expect(found.supersededBytes == 3 * UInt64(body.count) && found.revisions == 4)
    }
    #expect(report.rewrittenDocuments.items.map(\.item.size.generation) == [UInt64](repeating: 4, count: 10))
    let shared = try #require(report.collections.first { $0.name == nil })
    // Two blobs in three chunks, and a record of each.
    #expect(shared.kinds.first { $0.kind == .blobs }?.entries == 5)
  }

  @Test func `the most frequently saved documents are listed, even if their revisions were pruned`() throws {
    try change { store, collection in
      try store.setDepth(5)
      for (id, times) in [("once", 1), ("twice", 2), ("often", 30), ("forgotten", 12)] {
        var parent: RevisionID?
        for round in 0..<times {
          let body = try tool.body(#"{"round":\#(round)}"#)
          parent = try store.write { try $0.save(id, in: collection, body: body, parent: parent) }.revision
        }
      }
    }
    let items = try survey(limit: 3).rewrittenDocuments.items.map(\.item.size)
    #expect(items.map(\.id) == ["often", "forgotten", "twice"])
    #expect(items.map(\.generation) == [30, 12, 2] && items.map(\.revisions) == [5, 5, 2])
    let text = try tool("size", "@").output
    #expect(text.contains("documents saved most often"))
    #expect(text.contains(#/films often +30 +5 /#) && !text.contains(#/films once +1 +1 /#), "\(text)")
  }

  @Test func `a compaction frees the predicted space`() throws {
    try makeDocuments()
    try change { store, collection in try store.write { try $0.setExpiry(of: "film-1007", in: collection, 1) }
    }
    let report = try survey()
    let blobs = report.savings.unneeded
    #expect(blobs.blobs == 2 && blobs.blobBytes == 2_300_000, "\(blobs)")
    #expect(blobs.unneeded == 1 && blobs.unneededBytes == 300_000, "\(blobs)")
    #expect(report.savings.expired == 1 && report.savings.expiredBytes > 10_000)
    #expect(report.savings.unfinishedUploadBytes == 0 && report.savings.tooDeepBytes == 0)
    #expect(SizeAdvice.all(about: report).compactMap(\.command).first == "latewood compact \(tool.path)")
    #expect(
      SizeAdvice.all(about: report).contains {
        $0.command == "latewood expiry \(tool.path) --collection films"
      })
    #expect(try tool("compact", "@").code == .success)
    let after = try survey()
    let (said, real) = (report.savings.compactedBytes, after.parts.fileBytes)
    #expect(said < real + real / 20 && real < said + said / 20, "\(said) was said, it is \(real)")
    #expect(after.savings.expired == 0 && after.savings.unneeded.unneeded == 0)
    #expect(after.savings.supersededBytes == 0)
  }

  @Test func `pruning frees the predicted space`() throws {
    try makeDocuments()
    func records(_ report: SizeReport) -> UInt64 {
      report.collections.flatMap(\.kinds).reduce(0) { $0 + ($1.kind == .records ? $1.contentBytes : 0) }
    }
    let before = try survey()
    #expect(before.savings.depth == 20 && before.savings.pruning.map(\.depth) == [10, 5, 1])
    #expect(before.savings.pruning.map(\.bytes).prefix(2) == [0, 0])
    let said = before.savings.pruning[2].bytes
    #expect(said >= 200 * 3 * 20)
    try change { store, _ in try store.setDepth(1) }
    let between = try survey()
    #expect(between.savings.tooDeepBytes == said && between.savings.pruning.isEmpty)
    #expect(try tool("compact", "@").code == .success)
    let after = try survey()
    #expect(records(before) - records(after) == said && after.savings.tooDeepBytes == 0)
  }

  @Test func `a log not yet merged is reported, even beside the writer`() throws {
    try change { _, _ in }
    try change { store, collection in
      try store.write { writer in
        for index in 0..<50 {
          try writer.save(
            "d\(index)", in: collection, body: tool.body(#"{"y":"\#(String(repeating: "y", count: 2000))"}"#),
            parent: nil)
        }
      }
      let report = try survey()
      #expect(report.parts.hasWriter && report.parts.log > 100_000, "\(report.sum)")
      let films = try #require(report.collections.first { $0.name == "films" })
      #expect(films.documents == 50 && films.contentBytes > 100_000)
      #expect(report.largestDocuments.items.count == 10)
      #expect(try tool("size", "@").output.contains("log that no checkpoint has merged"))
    }
    #expect(try survey().parts.log == 0)
  }

  @Test func `a store of entries is divided by keyspace`() throws {
    var options = Store.Options()
    options.compaction = .manual
    let store = try Store.open(at: tool.path, options: options)
    let (words, pictures) = (try store.keyspace("words"), try store.keyspace("bodies/of pictures"))
    try store.write { transaction in
      for index in 0..<500 { try transaction.put("word-\(1000 + index)", "w", in: words) }
      for index in 1...3 {
        try transaction.put("p\(index)", [UInt8](repeating: 7, count: index * 100_000), in: pictures)
      }
    }
    try store.close()
    let report = try survey(limit: 2)
    #expect(!report.holdsDocuments && report.collections.isEmpty)
    #expect(report.keyspaces.map(\.content.name) == ["bodies/of pictures", "words"])
    #expect(report.keyspaces[0].facts.extents == 3 && report.keyspaces[0].facts.extentBytes == 600_000)
    #expect(report.keyspaces[1].content.entries == 500 && report.keyspaces[1].content.keyBytes == 500 * 9)
    #expect(report.keyspaces[1].content.valueBytes == 500)
    #expect(report.largestEntries.items.map(\.item.key) == [Array("p3".utf8), Array("p2".utf8)])
    let parts = bytes(report)
    #expect(parts["entries"] ?? 0 > 600_000 && parts["currentBodies"] == 0 && parts["log"] == 0)
    let text = try tool("size", "@", "--limit", "0")
    #expect(text.output.contains("3 large values outside of the tree, 586 KiB"), "\(text.output)")
    #expect(!text.output.contains("largest entries"))
    let lines = try tool("size", "@").lines
    #expect(lines.allSatisfy { DisplayWidth.of($0) <= 80 }, "\(lines)")
  }

  @Test func `the parts of every readable golden file add up, and others are refused`() throws {
    var surveyed = 0
    for file in try CorpusFile.all() {
      let path = "\(tool.directory)/golden"
      try Repository.write(file.bytes, to: path)
      do { _ = try SizeReport.of(path, limit: 3) } catch {
        #expect(file.kind != .readable, "\(file.name): \(error)")
        #expect([.damaged, .cannotOpen].contains(Failure(error).exitCode), "\(file.name): \(error)")
        continue
      }
      _ = try survey(path)
      surveyed += 1
    }
    #expect(surveyed > 5)
  }

  @Test func `an empty file is refused, and a damaged one is reported`() throws {
    try Repository.write([], to: tool.path)
    #expect(try tool("size", "@").code == .cannotOpen)
    try FileVolume().remove(tool.path)
    try makeDocuments()
    #expect(try tool("compact", "@").code == .success)
    let sound = try Repository.read(FileVolume(), tool.path)
    let file = try InspectedFile(path: tool.path)
    let map = try FileMap(file)
    file.close()
    for part in [Region.Kind.node, .extent] {
      var bytes = sound
      bytes[Int(try #require(map.regions.first { $0.kind == part }).range.lowerBound) + 60] ^= 1
      try Repository.write(bytes, to: tool.path)
      #expect(try survey().faults.map(\.kind) == [.damaged], "\(part)")
      let result = try tool("size", "@", "--json")
      #expect(result.code == .no, "\(part): \(result.error)")
      #expect(result.output.contains("latewood salvage"), "\(part): \(result.output)")
    }
  }

  @Test func `info, stats, a dry run and size agree about one file`() throws {
    struct Info: Decodable { let logBytes, deadBytes, liveBytes, compactionSaves: UInt64 }
    struct Sample: Decodable { let logBytes, deadBytes, liveBytes, fileBytes: UInt64 }
    struct Dry: Decodable { let bytesBefore, bytesAfter, allocatedBytesBefore, allocatedBytesAfter: UInt64 }
    func decoded<T: Decodable>(_ type: T.Type, _ words: String...) throws -> T {
      let run = try tool.run(words + ["--json"])
      #expect(run.code == .success, "\(words): \(run.error)")
      return try JSONDecoder().decode(type, from: Data(run.output.utf8))
    }
    func compare() throws -> SizeReport {
      let size = try survey()
      let info = try decoded(Info.self, "info", "@")
      let stats = try decoded(Sample.self, "stats", "@")
      let dry = try decoded(Dry.self, "compact", "@", "--dry-run")
      let (fileBytes, log) = (size.parts.fileBytes, size.parts.log)
      #expect(info.logBytes == log && stats.logBytes == log)
      let dead = size.parts.dead + size.parts.frames + size.parts.holes + size.parts.room
      #expect(info.deadBytes == dead && stats.deadBytes == dead)
      #expect(info.liveBytes == size.parts.live && stats.liveBytes == size.parts.live)
      #expect(stats.fileBytes == fileBytes && dry.bytesBefore == fileBytes)
      #expect(dry.bytesAfter == size.savings.compactedBytes)
      #expect(dry.allocatedBytesBefore == size.parts.allocatedBytes)
      #expect(dry.allocatedBytesAfter == dry.allocatedBytesBefore - size.allocatedBytesSaved)
      let text = try tool("compact", "@", "--dry-run").output
      let onDisk = "(\(Quantity.bytes(dry.allocatedBytesBefore)) on the disk)"
      #expect(text.contains("\(Quantity.bytes(fileBytes)) \(onDisk)"))
      // `info` relies on counters, and does not know about blobs.
      let more = size.savings.unneeded.unneededBytes + (size.parts.allocatedBytes + log) / 50
      let saves = size.allocatedBytesSaved
      #expect(info.compactionSaves <= saves + fileBytes / 20 && saves <= info.compactionSaves + more)
      return size
    }
    try makeDocuments()
    // The tree of the last checkpoint lies behind its replay offset, but it is not part of the log.
    #expect(try compare().parts.log == 0)
    try change { store, collection in
      try store.write { try $0.save("more", in: collection, body: tool.body(#"{"a":1}"#), parent: nil) }
      #expect(try compare().parts.log > 0)
    }
    let compacted = try decoded(Dry.self, "compact", "@")
    #expect(compacted.allocatedBytesBefore >= compacted.allocatedBytesAfter)
    #expect(try compare().parts.allocatedBytes == compacted.allocatedBytesAfter)
  }

  @Test func `info predicts the savings of a compaction, even with many short old bodies`() throws {
    try change { store, collection in
      var parents: [Int: RevisionID] = [:]
      for round in 0..<6 {
        try store.write { writer in
          for number in 0..<1000 {
            let body = try tool.body(#"{"round":\#(round),"number":\#(number)}"#)
            parents[number] = try writer.save(
              "film-\(number)", in: collection, body: body, parent: parents[number]
            ).revision
          }
        }
      }
    }
    struct Info: Decodable { let compactionSaves: UInt64 }
    let info = try JSONDecoder().decode(Info.self, from: Data(tool("info", "@", "--json").output.utf8))
    let size = try survey()
    let (told, exact) = (info.compactionSaves, size.allocatedBytesSaved)
    #expect(told <= exact + exact / 20 && exact <= told + told / 10, "\(told) and \(exact)")
  }

  @Test func `every keyspace of documents has a kind`() throws {
    try makeDocuments()
    let store = try Store.open(at: tool.path, mode: .readOnly)
    for keyspace in try store.keyspaces() {
      let role = SpaceRole(keyspace.name, isOfDocuments: true)
      #expect(role.kind != .entries, "\(keyspace.name)")
      #expect(role.collection == nil || ["films", "_default"].contains(role.collection), "\(keyspace.name)")
      #expect(SpaceRole(keyspace.name, isOfDocuments: false) == SpaceRole("x", isOfDocuments: false))
    }
    try store.close()
    #expect(SpaceRole("entries/a/17", isOfDocuments: true).collection == "a")
    #expect(SpaceRole("mine/a", isOfDocuments: true).kind == .entries)
  }

  @Test func `the largest items match a full sort`() {
    var random = SeededRandom(seed: SeededRandom.seed())
    for _ in 0..<200 {
      let sizes = (0..<random.below(40)).map { _ in UInt64(random.below(12)) }
      let limit = random.below(45)
      var largest = LargestItems<Int>(limit: limit)
      for (index, size) in sizes.enumerated() { largest.add(size, index) }
      let sorted = sizes.enumerated().sorted { ($1.element, $0.offset) < ($0.element, $1.offset) }
      #expect(largest.items.map(\.item) == sorted.prefix(limit).map(\.offset), "\(random.replay)")
    }
  }

  @Test(arguments: [
    ("films.latewood", "films.latewood"), ("my films", "'my films'"), ("it's", #"'it'\''s'"#), ("$x", "'$x'"),
    ("-x", "'-x'"), ("", "''"), ("größe/a.b", "größe/a.b"),
  ])
  func `a suggested command can be pasted into a shell`(path: String, quoted: String) {
    #expect(ShellText.quoted(path) == quoted)
  }
}
