import LatewoodBytes
import LatewoodDevice
import LatewoodFile
import LatewoodSimulation
import LatewoodStore
import Testing

@testable import LatewoodInspection

/// Salvages of encrypted files.
@Suite struct EncryptedSalvageTests {
  private static let key = LatewoodFile.EncryptionKey.raw(Array(repeating: 7, count: 32))

  private static func salvage(
    _ bytes: [UInt8], identity: SalvageIdentity? = nil, key: LatewoodFile.EncryptionKey? = key
  ) throws -> (entries: [[UInt8]: SavedEntries.Saved], report: SalvageReport) {
    let salvage = try Salvage(DamagedFile(bytes), identity: identity, key: key)
    let sink = SavedEntries()
    let report = try salvage.run(from: [], to: nil, keyspaces: nil, into: sink)
    return (sink.entries, report)
  }

  /// Returns the entries of all keyspaces by their full keys.
  private static func entries(of store: Store) throws -> [[UInt8]: [UInt8]] {
    var result: [[UInt8]: [UInt8]] = [:]
    let snapshot = try store.snapshot()
    defer { snapshot.close() }
    for keyspace in try store.keyspaces() {
      let prefix = withUnsafeBytes(of: keyspace.id.bigEndian) { Array($0) }
      let entries = try snapshot.entries(in: keyspace)
      for entry in entries { result[prefix + entry.key] = entry.value }
    }
    return result
  }

  /// Returns the saved entries without those of the catalog.
  private static func own(_ saved: [[UInt8]: SavedEntries.Saved]) -> [[UInt8]: SavedEntries.Saved] {
    saved.filter { LiveTree.keyspace(of: $0.key) != 0 }
  }

  @Test(arguments: LatewoodFile.CipherSuite.allCases)
  func `a sound file is saved whole`(suite: LatewoodFile.CipherSuite) throws {
    let seed = SeededRandom.seed()
    for index in 0..<3 {
      var run = try RandomStore(seed: seed &+ UInt64(index), key: Self.key, suite: suite)
      try run.run(steps: 30)
      let expected = try Self.entries(of: run.store)
      let (saved, report) = try Self.salvage(run.bytes())
      let message = "LATEWOOD_SEED=\(seed &+ UInt64(index))"
      #expect(report.isWhole, "\(message)")
      #expect(Self.own(saved).mapValues(\.value) == expected, "\(message)")
      #expect(saved.values.allSatisfy { $0.trust == .certain }, "\(message)")
      try run.store.close()
    }
  }

  @Test(arguments: LatewoodFile.CipherSuite.allCases)
  func `a damaged node or frame costs only what is in it`(suite: LatewoodFile.CipherSuite) throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    var run = try RandomStore(seed: random.next(), key: Self.key, suite: suite)
    try run.run(steps: 25)
    try run.store.write { transaction in
      try transaction.put([200], Array(repeating: 1, count: 300), in: transaction.keyspace("apples"))
    }
    let expected = try Self.entries(of: run.store)
    let bytes = try run.bytes()
    let map = try FileMap(InspectedFile(path: RandomStore.path, on: run.volume, key: Self.key))
    try run.store.close()
    var lost = 0
    for region in map.regions where [.node, .extent].contains(region.kind) {
      var damaged = bytes
      let at = Int(region.range.lowerBound) + random.below(Int(region.length))
      damaged[at] ^= 1 << UInt8(random.below(8))
      let (saved, report) = try Self.salvage(damaged)
      let message = "\(region), byte \(at), \(random.replay)"
      for (key, entry) in Self.own(saved) where entry.trust == .certain {
        #expect(expected[key] == entry.value, "\(message)")
      }
      let missing = expected.filter { saved[$0.key]?.value != $0.value }.count
      lost = max(lost, missing)
      // The commits may have had all that is lost.
      let isCertain = report.isWhole && saved.values.allSatisfy { $0.trust == .certain }
      #expect(missing == 0 || !isCertain, "\(message)")
      #expect(missing < max(2, expected.count / 3), "\(missing) of \(expected.count), \(message)")
    }
    #expect(lost > 0)
  }

  @Test func `the cells of a damaged leaf are decrypted without proof`() throws {
    let volume = MemoryVolume()
    var options = SampleFile.options
    options.encryptionKey = Self.key
    let store = try Store.open(
      at: "file", on: volume, mode: .createNew, options: options, environment: .system)
    let keyspace = try store.keyspace("fruit")
    for number in 0..<40 {
      try store.put("key \(number + 10)", Array(repeating: UInt8(number), count: 20), in: keyspace)
    }
    // The commits are gone, so only the leaf has the entries.
    try store.compact()
    try store.close()
    var bytes = try GoldenFiles.bytes(at: "file", on: volume)
    let map = try FileMap(InspectedFile(path: "file", on: volume, key: Self.key))
    let leaf = try #require(map.regions.last { $0.kind == .node })
    bytes[Int(leaf.range.lowerBound) + Int(leaf.length) / 2] ^= 8
    let saved = Self.own(try Self.salvage(bytes).entries)
    #expect(saved.count >= 35 && saved.count <= 40)
    #expect(saved.values.allSatisfy { $0.trust == .unproven })
    #expect(saved.values.count { $0.value.count == 20 && Set($0.value).count == 1 } >= 38)
  }

  /// Returns the kind of the error of a salvage; nil if it works.
  private static func fault(
    _ bytes: [UInt8], identity: SalvageIdentity? = nil, key: LatewoodFile.EncryptionKey? = key
  ) -> StorageError.Kind? {
    do { _ = try salvage(bytes, identity: identity, key: key) } catch {
      return (error as? StorageError)?.kind
    }
    return nil
  }

  @Test(arguments: LatewoodFile.CipherSuite.allCases)
  func `without headers, the file id and the copies of the key beside the slots are enough`(
    suite: LatewoodFile.CipherSuite
  ) throws {
    var run = try RandomStore(seed: 5, key: Self.key, suite: suite)
    try run.run(steps: 30)
    let expected = try Self.entries(of: run.store)
    let bytes = try run.bytes()
    try run.store.close()
    let id = Array(bytes[16..<32])
    for lost in [[], [0], [1], [0, 1]] {
      // The id alone is left of a header, or nothing, in which case it is given.
      var (damaged, headless) = (bytes, bytes)
      for offset in [100, 4196] { damaged[offset] ^= 1 }
      for offset in 0..<8192 { headless[offset] = 0 }
      for slot in lost {
        for offset in 8192 + slot * 4096..<12288 + slot * 4096 {
          damaged[offset] ^= 5
          headless[offset] = 0
        }
      }
      let identity = SalvageIdentity(fileID: id)
      for (bytes, identity) in [(damaged, nil), (headless, identity)] as [([UInt8], SalvageIdentity?)] {
        if lost.count == 2 {
          #expect(Self.fault(bytes, identity: identity) == .damaged)
          continue
        }
        let (saved, report) = try Self.salvage(bytes, identity: identity)
        #expect(Self.own(saved).mapValues(\.value) == expected)
        #expect(report.origin == (identity == nil ? .damagedHeader : .given))
        #expect(Self.fault(bytes, identity: identity, key: nil) == .keyNeeded)
        #expect(
          Self.fault(bytes, identity: identity, key: .raw(Array(repeating: 9, count: 32))) == .wrongKey)
      }
      #expect(Self.fault(headless) == .damaged)
    }
  }

  @Test func `a file that has lost both copies of its key opens with an older header`() throws {
    var run = try RandomStore(seed: 6, key: Self.key)
    try run.run(steps: 20)
    let older = Array(try run.bytes().prefix(16384))
    let same = SalvageIdentity(fileID: Array(older[16..<32]))
    try run.run(steps: 5)
    func cut(_ bytes: [UInt8]) -> [UInt8] { [UInt8](repeating: 0, count: 16384) + bytes.dropFirst(16384) }
    func saved(_ identity: SalvageIdentity) throws -> [[UInt8]: [UInt8]] {
      Self.own(try Self.salvage(cut(try run.bytes()), identity: identity).entries).mapValues(\.value)
    }
    #expect(Self.fault(cut(try run.bytes())) == .damaged)
    #expect(Self.fault(cut(try run.bytes()), identity: same) == .damaged)
    let header = try SalvageIdentity(headerOf: DamagedFile(older), key: Self.key)
    // Without slots the newest checkpoint is not known, so deleted entries may come back.
    let found = try saved(header)
    for (key, value) in try Self.entries(of: run.store) { #expect(found[key] == value) }
    // A compaction gives the file another id, and keeps its key.
    try run.store.compact()
    let id = Array(try run.bytes()[16..<32])
    #expect(Self.fault(cut(try run.bytes()), identity: header) == .damaged)
    let both = try SalvageIdentity(headerOf: DamagedFile(older), key: Self.key, fileID: id)
    let compacted = try saved(both)
    for (key, value) in try Self.entries(of: run.store) { #expect(compacted[key] == value) }
    try run.store.close()
  }

  @Test func `the key is needed, and the right one`() throws {
    let run = try RandomStore(seed: 3, key: Self.key)
    let bytes = try run.bytes()
    try run.store.close()
    for (key, kind) in [
      (nil, .keyNeeded), (.raw(Array(repeating: 9, count: 32)), .wrongKey),
    ] as [(LatewoodFile.EncryptionKey?, StorageError.Kind)] {
      let refused = #expect(throws: StorageError.self) { _ = try Self.salvage(bytes, key: key) }
      #expect(refused?.kind == kind)
    }
  }
}
