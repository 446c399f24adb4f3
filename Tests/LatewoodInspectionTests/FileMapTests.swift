import LatewoodBytes
import LatewoodDevice
import LatewoodSimulation
import LatewoodStore
import Testing

@testable import LatewoodInspection

@Suite struct FileMapTests {
  /// Checks what holds for the map of every file.
  static func check(_ map: FileMap, _ message: String) {
    var at: UInt64 = 0
    var before: Region?
    for region in map.regions {
      #expect(region.range.lowerBound == at && !region.range.isEmpty, "\(message), offset \(at)")
      at = region.range.upperBound
      if let before, before.kind == region.kind, before.keyspace == region.keyspace {
        #expect(
          [.node, .extent, .lockedNode, .deadNode, .header, .slot].contains(region.kind),
          "\(message), offset \(at)")
      }
      before = region
    }
    #expect(at == map.size, "\(message)")
    #expect(map.totals.values.reduce(0, +) == map.size, "\(message)")
  }

  /// Checks what also holds for the map of a sound file.
  static func checkSound(_ map: FileMap, _ file: InspectedFile, _ store: Store, _ message: String) throws {
    let totals = map.totals
    let statistics = try store.statistics()
    #expect(map.faults.isEmpty, "\(message)")
    #expect(totals[.damaged] == nil, "\(message)")
    #expect(map.size == statistics.fileSize, "\(message)")
    #expect(totals[.node, default: 0] + totals[.extent, default: 0] == statistics.liveBytes, "\(message)")
    #expect(totals[.node, default: 0] == map.tree.nodeBytes, "\(message)")
    #expect(map.tree.entries == statistics.entries, "\(message)")
    // Except for padding, which does not follow the last frame.
    let log = totals[.log, default: 0]
    #expect(log >= file.log.commitBytes && log <= file.log.commitBytes + 7 * file.log.commits, "\(message)")
    let shape = TreeShape(map.tree)
    #expect(shape.depth == statistics.treeHeight, "\(message)")
    #expect(shape.levels.last?.items ?? 0 == Int(statistics.entries), "\(message)")
    #expect(shape.bytes == map.tree.nodeBytes, "\(message)")
    #expect(shape.levels.allSatisfy { $0.histogram.reduce(0, +) == $0.nodes }, "\(message)")
    let own = map.tree.keyspaces.values
    #expect(own.reduce(0) { $0 + $1.entries } == map.tree.entries, "\(message)")
    #expect(own.reduce(0) { $0 + $1.extentBytes } == map.tree.extentBytes, "\(message)")
    #expect(own.reduce(0) { $0 + $1.nodeBytes } <= map.tree.nodeBytes, "\(message)")
  }

  @Test(arguments: GoldenFiles.names) func `covers every golden file exactly`(name: String) throws {
    let volume = try GoldenFiles.volume(GoldenFiles.bytes(name))
    let file: InspectedFile
    do { file = try InspectedFile(path: "file", on: volume) } catch {
      #expect(["too-new", "unknown-feature"].contains(name) || error.kind == .notADatabase, "\(name)")
      return
    }
    let map = try FileMap(file)
    Self.check(map, name)
    guard !name.hasPrefix("damaged"), !["malformed-operation", "cut-short", "short-key"].contains(name) else {
      #expect(name == "damaged-extent" || !map.faults.isEmpty, "\(name)")
      return
    }
    let store = try Store.open(at: GoldenFiles.path(name), mode: .readOnly)
    if name != "torn-slot" && name != "second-header" && name != "lost-checkpoint" {
      try Self.checkSound(map, file, store, name)
    }
    try store.close()
  }

  @Test func `identifies the parts of golden files`() throws {
    func totals(_ name: String) throws -> [Region.Kind: UInt64] {
      try FileMap(InspectedFile(path: GoldenFiles.path(name))).totals
    }
    #expect(
      try totals("annotated") == [
        .header: 8192, .slot: 8192, .deadCommit: 136, .frame: 56 + 6, .node: 130, .checkpoint: 144,
      ])
    #expect(try totals("reserved-room")[.reserved] != nil)
    #expect(try totals("torn-tail")[.skipped] != nil)
    #expect(try totals("after-torn-tail")[.skipped] != nil)
    #expect(try totals("holes")[.hole] ?? 0 >= 4096)
    #expect(try totals("high-tree")[.deadNode] != nil)
    #expect(try totals("damaged-node")[.damaged] != nil)
    #expect(try totals("damaged-commit")[.damaged] != nil)
  }

  @Test func `covers random files exactly and agrees with the store`() throws {
    let seed = SeededRandom.seed()
    for index in 0..<6 {
      var run = try RandomStore(seed: seed &+ UInt64(index))
      try run.run(steps: 40)
      let message = "LATEWOOD_SEED=\(seed &+ UInt64(index))"
      let file = try InspectedFile(path: RandomStore.path, on: run.volume)
      let map = try FileMap(file)
      Self.check(map, message)
      try Self.checkSound(map, file, run.store, message)
      for keyspace in try run.store.keyspaces() where file.log.commits == 0 {
        let entries = try run.store.count(in: keyspace)
        #expect(map.tree.keyspaces[keyspace.id]?.entries ?? 0 == UInt64(entries), "\(message)")
        #expect(entries == 0 || map.tree.names[keyspace.id] == keyspace.name, "\(message)")
      }
      file.close()
      #expect(try run.store.verify().faults.isEmpty, "\(message)")
      try run.store.close()
    }
  }

  @Test func `never traps on truncated or changed files`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    for name in GoldenFiles.names {
      let bytes = try GoldenFiles.bytes(name)
      for round in 0..<12 {
        var changed = bytes
        if round % 3 == 0 {
          changed.removeLast(random.below(bytes.count))
        } else {
          for _ in 0...random.below(4) {
            let at =
              round % 3 == 1 ? random.below(bytes.count) : min(bytes.count - 1, 16384 + random.below(4096))
            changed[at] = UInt8(truncatingIfNeeded: random.next())
          }
        }
        let volume = try GoldenFiles.volume(changed)
        do {
          let file = try InspectedFile(path: "file", on: volume)
          Self.check(try FileMap(file), "\(name) \(random.replay)")
        } catch {
          #expect([.notADatabase, .tooNew].contains(error.kind), "\(name) \(random.replay)")
        }
      }
    }
  }
}
