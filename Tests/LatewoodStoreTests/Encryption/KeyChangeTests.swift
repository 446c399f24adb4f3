import LatewoodConcurrency
import LatewoodCrypto
import LatewoodDevice
import LatewoodFile
import LatewoodModels
import LatewoodSimulation
import Testing

@testable import LatewoodStore

/// Changing the key of an encrypted store.
@Suite struct KeyChangeTests {
  private static func encryption(_ byte: UInt8) throws -> NewEncryption {
    try NewEncryption(.raw(SecretBytes(count: 32) { $0[0] = byte }), suite: .chaCha20)
  }

  private static func options(_ byte: UInt8) throws -> Store.Options {
    var options = Store.Options()
    options.encryption = try encryption(byte)
    options.compaction = .manual
    options.checkpointsInBackground = false
    return options
  }

  private func open(_ volume: any Volume, key: UInt8, _ mode: Store.OpenMode = .openExisting) throws -> Store
  {
    try Store.open(
      at: "store", on: volume, mode: mode, options: try Self.options(key), environment: .system)
  }

  private func opens(_ volume: any Volume, key: UInt8) throws -> Bool {
    do {
      let store = try open(volume, key: key)
      #expect(try store.get("a", in: store.keyspace("s")) == Array("1".utf8))
      #expect(try store.verify().faults == [])
      try store.close()
      return true
    } catch let error as StoreError {
      guard error.code == .permissionDenied else { throw error }
      return false
    }
  }

  @Test func `after a change only the new key opens the store, also after a compaction`() throws {
    let volume = MemoryVolume()
    var store = try open(volume, key: 1, .createNew)
    try store.put("a", "1", in: store.keyspace("s"))
    try store.backup(to: "backup")
    try store.changeEncryptionKey(to: try Self.encryption(2))
    try store.put("b", "2", in: store.keyspace("s"))
    try store.close()
    #expect(try !opens(volume, key: 1))
    #expect(try opens(volume, key: 2))
    store = try open(volume, key: 2)
    try store.compact()
    try store.close()
    #expect(try !opens(volume, key: 1))
    #expect(try opens(volume, key: 2))
  }

  @Test func `a store that is not encrypted refuses a key, and so does a reader`() throws {
    let volume = MemoryVolume()
    var options = Store.Options()
    options.encryption = nil
    let plain = try Store.open(
      at: "plain", on: volume, mode: .createNew, options: options, environment: .system)
    #expect(throws: StoreError.self) { try plain.changeEncryptionKey(to: try Self.encryption(2)) }
    let store = try open(volume, key: 1, .createNew)
    let reader = try open(volume, key: 1, .readOnly)
    #expect(throws: StoreError.self) { try reader.changeEncryptionKey(to: try Self.encryption(2)) }
    try reader.close()
    try store.close()
    #expect(try !opens(volume, key: 2))
  }

  @Test func `after a power cut at any call, the old key or the new one opens the store`() throws {
    let seed = SeededRandom.seed()
    var random = SeededRandom(seed: seed)
    let perCall = Effort.count(12, low: 3)
    var found: [[Bool]: Int] = [:]
    let start = SimulatedVolume()
    let store = try open(start.process(1), key: 1, .createNew)
    try store.put("a", "1", in: store.keyspace("s"))
    try store.close()
    let before = try start.liveBytes(of: "store")
    for call in 0... {
      let volume = SimulatedVolume()
      try volume.place(before, at: "store")
      volume.inject(.powerCut, atCall: call)
      var isChanged = false
      do {
        let store = try open(volume.process(1), key: 1)
        try store.changeEncryptionKey(to: try Self.encryption(2))
        isChanged = true
        try store.close()
      } catch {}
      let images = volume.crashImages(seed: random.next(), random: 8)
      for index in CrashRun.sample(images.count, perCall, &random) {
        let outcome = try [1, 2].map { key in try opens(images[index].makeVolume(), key: UInt8(key)) }
        #expect(outcome[1] || (outcome[0] && !isChanged), "call \(call), image \(index); seed \(seed)")
        #expect(!isChanged || !outcome[0], "call \(call), image \(index); seed \(seed)")
        found[outcome, default: 0] += 1
      }
      if !volume.isCrashed { break }
    }
    // All three states occur.
    #expect(found.count == 3, "\(found)")
  }
}
