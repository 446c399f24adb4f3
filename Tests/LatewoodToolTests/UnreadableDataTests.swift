import LatewoodBytes
import LatewoodDevice
import LatewoodDocuments
import LatewoodInspection
import LatewoodSimulation
import LatewoodStore
import Testing

@testable import LatewoodTool

/// What `size` and `info` report about live data that cannot be read.
@Suite struct UnreadableDataTests {
  private static let block = 4096
  private let tool: ToolRun

  init() throws { tool = try ToolRun() }

  private static func options() -> Store.Options {
    var options = Store.Options()
    options.compaction = .manual
    options.checkpointsInBackground = false
    options.punchesHoles = false
    options.nodeSize = 16384
    options.reading = .buffered(cacheBytes: 1 << 20)
    return options
  }

  /// Returns the bytes of a file with two keyspaces, large values, dead nodes, and no log after its
  /// checkpoint.
  private static func entries() throws -> [UInt8] {
    let volume = SimulatedVolume(seed: 5)
    let store = try Store.open(
      at: "db", on: volume, mode: .createNew, options: options(), environment: .system)
    for round in 0..<2 {
      for name in ["fruit", "roots"] {
        let space = try store.keyspace(name)
        try store.write { transaction in
          for number in 0..<300 {
            let length = number % 100 == round ? 6000 : 150
            try transaction.put(
              "key \(number)", [UInt8](repeating: UInt8(number % 200), count: length), in: space)
          }
        }
      }
      try store.checkpoint()
    }
    try store.close()
    return try volume.liveBytes(of: "db")
  }

  private static func documents() throws -> [UInt8] {
    let volume = SimulatedVolume(seed: 6)
    var options = DocumentOptions()
    options.store = Self.options()
    options.expiresByItself = false
    let store = try DocumentStore.open(at: "db", on: volume, mode: .createNew, options: options)
    let collection = try #require(try store.collection(CollectionHandle.defaultName))
    for round in 0..<3 {
      try store.write { writer in
        for number in 0..<100 {
          let text = String(repeating: "x", count: number % 10 == 0 ? 3000 : 100 + round)
          let body = try BodyReader().body(of: Array(#"{"text":"\#(text)"}"#.utf8))
          _ = try writer.save("film-\(round)-\(number)", in: collection, body: body, parent: nil)
        }
      }
      try store.store.checkpoint()
    }
    try store.close()
    return try volume.liveBytes(of: "db")
  }

  private static func canCompact(_ volume: SimulatedVolume) throws -> Bool {
    let store = try Store.open(
      at: "db", on: volume, mode: .openExisting, options: options(), environment: .system)
    defer { do { try store.close() } catch {} }
    do { try store.compact() } catch let error as StoreError where error.code == .inputOutput { return false }
    return true
  }

  @Test(arguments: [false, true])
  func `size reports an unreadable block exactly if no compaction can succeed`(holdsDocuments: Bool) throws {
    let bytes = try holdsDocuments ? Self.documents() : Self.entries()
    var (reported, silent) = (0, 0)
    for start in stride(from: 16384, to: bytes.count, by: Self.block) {
      let volume = SimulatedVolume()
      try volume.place(bytes, at: "db")
      volume.makeUnreadable("db", UInt64(start)..<UInt64(start + Self.block))
      let report: SizeReport
      do { report = try SizeReport.of("db", on: volume, limit: 3) } catch {
        // Without this block the file cannot be opened.
        #expect(throws: StoreError.self, "\(start): \(error)") { try Self.canCompact(volume) }
        continue
      }
      var infoIsSilent: Bool
      do { infoIsSilent = try DatabaseInfo.of("db", on: volume).faults.isEmpty } catch {
        infoIsSilent = false
      }
      #expect(report.sum.reduce(0) { $0 + $1.bytes } == UInt64(bytes.count), "\(start): \(report.sum)")
      let canCompact = try Self.canCompact(volume)
      #expect(report.faults.isEmpty == canCompact, "\(start): \(report.faults)")
      // `info` reads only some nodes, but reports nothing that does not hold.
      #expect(infoIsSilent || !canCompact, "\(start)")
      let advice = SizeAdvice.all(about: report)
      #expect(advice.contains { $0.command?.hasPrefix("latewood salvage") == true } != canCompact)
      if canCompact {
        #expect(report.incomplete.isEmpty)
        silent += 1
      } else {
        reported += 1
      }
    }
    #expect(reported > 3 && silent > 3, "\(reported) \(silent)")
  }

  @Test func `other keyspaces are counted although one cannot be read`() throws {
    let volume = SimulatedVolume()
    try volume.place(Self.entries(), at: "db")
    let sound = try SizeReport.of("db", on: volume, limit: 3)
    let file = try InspectedFile(path: "db", on: volume)
    let tree = try LiveTree(file.checkpoint?.record.root, file.units)
    file.close()
    let leaf = try #require(
      tree.nodes.first { node in
        node.level == 0 && node.length > 2 * UInt32(Self.block)
          && node.keyspace.map { tree.name(of: $0) } == "fruit"
      })
    // A block of which the leaf has every byte.
    let block = (leaf.offset / UInt64(Self.block) + 1) * UInt64(Self.block)
    volume.makeUnreadable("db", block..<block + UInt64(Self.block))
    let report = try SizeReport.of("db", on: volume, limit: 3)
    #expect(report.incomplete == ["fruit"])
    #expect(report.faults.first?.kind == .inputOutput && report.faults.first?.offset == leaf.offset)
    func content(_ report: SizeReport, _ name: String) -> KeyspaceContent? {
      report.keyspaces.first { $0.content.name == name }?.content
    }
    #expect(content(report, "roots")?.entries == 300)
    #expect(content(report, "roots")?.bytes == content(sound, "roots")?.bytes)
    #expect(content(report, "fruit")?.entries ?? 300 < 300)
  }

  @Test func `info reports an unreadable root with advice, in text and for programs`() throws {
    let bytes = try Self.entries()
    try Repository.write(bytes, to: tool.path)
    #expect(try tool("info", "@").code == .success)
    #expect(try tool("info", "@", "--json").output.contains(#""faults":[],"advice":null"#))
    let file = try InspectedFile(path: tool.path)
    let root = try #require(file.checkpoint?.record.root)
    file.close()
    var damaged = bytes
    damaged[Int(root.reference.offset) + 60] ^= 1
    try Repository.write(damaged, to: tool.path)
    for command in ["info", "size"] {
      let text = try tool(command, "@")
      #expect(text.code == .no && text.output.contains("latewood salvage"), "\(text)")
      #expect(text.output.contains("at offset \(root.reference.offset)"), "\(text)")
      #expect(
        text.lines.allSatisfy { DisplayWidth.of($0) <= 80 || $0.contains("latewood salvage") }, "\(text)")
      let json = try tool(command, "@", "--json").output
      #expect(json.contains(#""faults":[{"offset":\#(root.reference.offset),"#), "\(json)")
      #expect(json.contains("latewood salvage"), "\(json)")
    }
    let dry = try tool("compact", "@", "--dry-run")
    #expect(dry.code == .damaged && dry.error.contains("a compaction would fail"), "\(dry)")
  }

  @Test func `info points out a file that is larger than automatic compaction leaves it`() throws {
    let store = try Store.open(at: tool.path, options: Self.options())
    let space = try store.keyspace("a")
    for _ in 0..<40 { try store.put("k", [UInt8](repeating: 1, count: 1 << 20), in: space) }
    try store.close()
    let info = try DatabaseInfo.of(tool.path)
    #expect(info.faults.isEmpty && info.advice?.command?.hasPrefix("latewood size") == true)
    #expect(try tool("info", "@").output.contains("larger than automatic compaction leaves it"))
  }
}
