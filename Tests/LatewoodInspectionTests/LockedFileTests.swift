import LatewoodBytes
import LatewoodDevice
import LatewoodFile
import LatewoodSimulation
import LatewoodStore
import Testing

@testable import LatewoodInspection

/// Encrypted files, inspected with their key and without it.
@Suite struct LockedFileTests {
  private static let key = LatewoodFile.EncryptionKey.raw(Array(repeating: 7, count: 32))

  private static func run(_ suite: LatewoodFile.CipherSuite, seed: UInt64) throws -> RandomStore {
    var run = try RandomStore(seed: seed, key: key, suite: suite)
    try run.run(steps: 30)
    return run
  }

  private static func steps(of file: InspectedFile) throws -> [FrameWalk.Step] {
    var walk = FrameWalk(file)
    var steps: [FrameWalk.Step] = []
    while let step = try walk.next() { steps.append(step) }
    return steps
  }

  @Test(arguments: LatewoodFile.CipherSuite.allCases)
  func `without the key, the map has the same bytes, log and nodes`(suite: LatewoodFile.CipherSuite) throws {
    let seed = SeededRandom.seed()
    for index in 0..<4 {
      let message = "LATEWOOD_SEED=\(seed &+ UInt64(index))"
      let run = try Self.run(suite, seed: seed &+ UInt64(index))
      let opened = try InspectedFile(path: RandomStore.path, on: run.volume, key: Self.key)
      let locked = try InspectedFile(path: RandomStore.path, on: run.volume, needsKey: false)
      #expect(!opened.isLocked && locked.isLocked && locked.suite == suite)
      let (map, lockedMap) = (try FileMap(opened), try FileMap(locked))
      FileMapTests.check(map, message)
      FileMapTests.check(lockedMap, message)
      try FileMapTests.checkSound(map, opened, run.store, message)
      #expect(lockedMap.faults.isEmpty, "\(message)")
      #expect(try Self.steps(of: opened) == Self.steps(of: locked), "\(message)")
      #expect(lockedMap.totals[.log] == map.totals[.log], "\(message)")
      let nodes = lockedMap.regions.filter { $0.kind == .lockedNode }.map(\.range)
      let known = map.regions.filter { $0.kind == .node || $0.kind == .deadNode }.map(\.range)
      #expect(nodes == known, "\(message)")
      #expect(lockedMap.regions.allSatisfy { ![.node, .extent, .deadNode, .deadCommit].contains($0.kind) })
      #expect(try locked.checkpoints() == opened.checkpoints(), "\(message)")
      for reference in nodes.prefix(3) {
        let refused = #expect(throws: StorageError.self) {
          _ = try locked.units.node(at: reference.lowerBound)
        }
        #expect(refused?.kind == .keyNeeded, "\(message)")
      }
      opened.close()
      locked.close()
      try run.store.close()
    }
  }

  @Test func `an encrypted file is refused without a key, unless the caller can do without`() throws {
    let run = try Self.run(.aes256, seed: 1)
    let refused = #expect(throws: StorageError.self) {
      _ = try InspectedFile(path: RandomStore.path, on: run.volume)
    }
    #expect(refused?.kind == .keyNeeded)
    // A wrong key is not taken for a missing one.
    let wrong = #expect(throws: StorageError.self) {
      _ = try InspectedFile(
        path: RandomStore.path, on: run.volume, key: .raw(Array(repeating: 8, count: 32)), needsKey: false)
    }
    #expect(wrong?.kind == .wrongKey)
    try run.store.close()
  }

  @Test(arguments: LatewoodFile.CipherSuite.allCases)
  func `damage to slots, log and nodes is found without the key`(suite: LatewoodFile.CipherSuite) throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    let run = try Self.run(suite, seed: random.next())
    try run.store.write { try $0.put([1], Array(repeating: 2, count: 500), in: $0.keyspace("apples")) }
    try run.store.sync()
    let bytes = try run.bytes()
    try run.store.close()
    func map(of bytes: [UInt8]) throws -> FileMap {
      let file = try InspectedFile(path: "file", on: GoldenFiles.volume(bytes), needsKey: false)
      defer { file.close() }
      return try FileMap(file)
    }
    let sound = try map(of: bytes)
    for region in sound.regions {
      guard [.header, .slot, .log, .lockedNode].contains(region.kind) else { continue }
      var changed = bytes
      // Only the first bytes of a slot's block are part of it.
      let length = region.kind == .slot ? 104 : region.kind == .header ? 100 : Int(region.length)
      changed[Int(region.range.lowerBound) + random.below(length)] ^= 1 << UInt8(random.below(8))
      let damaged = try map(of: changed)
      let message = "\(region) \(random.replay)"
      FileMapTests.check(damaged, message)
      switch region.kind {
      case .lockedNode:
        #expect(!damaged.regions.contains(region), "\(message)")
        // A length beyond that of any node, but perhaps not of the file.
        var longer = bytes
        longer[Int(region.range.lowerBound) + 14] ^= 2
        #expect(try !map(of: longer).regions.contains(region), "\(message)")
      case .log:
        // Padding between frames is not checked, and a changed last frame is an unfinished write.
        #expect(
          damaged.regions != sound.regions || !damaged.faults.isEmpty || region.length < 64, "\(message)")
      default:
        #expect(!damaged.faults.isEmpty, "\(message)")
      }
    }
  }

  @Test(arguments: LatewoodFile.CipherSuite.allCases)
  func `every byte is explained, and without the key nothing that is encrypted`(
    suite: LatewoodFile.CipherSuite
  ) throws {
    let seed = SeededRandom.seed()
    let run = try Self.run(suite, seed: seed)
    try run.store.write { try $0.put([1], Array(repeating: 2, count: 500), in: $0.keyspace("apples")) }
    try run.store.sync()
    for key in [Self.key, nil] {
      let file = try InspectedFile(path: RandomStore.path, on: run.volume, key: key, needsKey: false)
      defer { file.close() }
      let message = "LATEWOOD_SEED=\(seed), key \(key != nil)"
      let annotator = Annotator(file)
      let rows = try annotator.rows(in: 0..<file.size)
      AnnotatorTests.check(rows, cover: 0..<file.size, message)
      // Parts of old commits are punched out.
      let faults = rows.filter { $0.isFault && !$0.meaning.hasPrefix("commit: checksum") }
      #expect(faults == [], "\(message)")
      let meanings = Set(rows.map { $0.meaning.prefix { $0 != ":" } })
      for name in ["slot 0", "slot 1", "commit", "checkpoint", "nodes"] {
        #expect(meanings.contains(name[...]), "\(message), \(name)")
      }
      // Every trailer that is shown is one that the epochs of slots and frames account for.
      let trailers = rows.indices.filter { rows[$0].meaning.hasSuffix(": epoch") }
      for index in trailers {
        #expect(rows[index].range.count == 16 && rows[index + 2].range.count == 16, "\(message)")
        #expect(rows[index + 1].meaning.contains("number in the epoch"), "\(message)")
      }
      let nodes = rows.filter { $0.meaning.hasSuffix(": own offset \($0.range.lowerBound &- 16)") }.count
      #expect(trailers.count > nodes && nodes > 0, "\(message)")
      let isLocked = !rows.contains { $0.meaning.hasPrefix("leaf: kind") }
      #expect(isLocked == (key == nil), "\(message)")
      #expect(isLocked == rows.contains { $0.meaning == "node: entries, encrypted" }, "\(message)")
      #expect(!isLocked || !rows.contains { $0.meaning.contains("`") }, "\(message)")
      // Parts of the file are explained like the whole.
      var random = SeededRandom(seed: seed)
      for _ in 0..<30 {
        let start = UInt64(random.below(Int(file.size)))
        let range = start..<min(file.size, start + 200)
        let part = try annotator.rows(in: range)
        AnnotatorTests.check(part, cover: range, "\(message), \(range)")
        let whole = rows.filter { $0.range.overlaps(range) }
        #expect(part.map(\.meaning) == whole.map(\.meaning), "\(message), \(range)")
      }
    }
    try run.store.close()
  }

  @Test func `only the key tells a forged checkpoint`() throws {
    let run = try Self.run(.chaCha20, seed: SeededRandom.seed())
    try run.store.checkpoint()
    var bytes = try run.bytes()
    try run.store.close()
    let file = try InspectedFile(path: "file", on: GoldenFiles.volume(bytes), key: Self.key)
    let slot = try #require(file.newestSlot?.slot)
    let (index, codec) = (slot.index, try #require(file.header.header).codec)
    // The time of the slot is changed, and its checksum is right.
    let start = Int(FileLayout.slotOffset(index))
    bytes[start + 40] ^= 1
    bytes.withUnsafeMutableBytes { bytes in
      guard let base = bytes.baseAddress else { return }
      _ = codec.seal(.slot, at: UInt64(start), base + start, 104)
    }
    withExtendedLifetime(file) {}
    let locked = try InspectedFile(path: "file", on: GoldenFiles.volume(bytes), needsKey: false)
    #expect(locked.slots[index].slot != nil)
    let opened = try InspectedFile(path: "file", on: GoldenFiles.volume(bytes), key: Self.key)
    #expect(opened.slots[index].slot == nil)
    #expect(opened.faults.contains { $0.offset == UInt64(start) })
  }
}
