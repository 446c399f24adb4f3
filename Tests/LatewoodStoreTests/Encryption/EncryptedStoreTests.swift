import LatewoodBytes
import LatewoodConcurrency
import LatewoodCrypto
import LatewoodDevice
import LatewoodFile
import LatewoodModels
import LatewoodSimulation
import Testing

@testable import LatewoodStore

/// Encrypted stores, whose units are decrypted when they are first read.
@Suite struct EncryptedStoreTests {
  private let directory: StoreDirectory
  /// Bytes that are in every key and value.
  private static let secret = Array("top secret".utf8)

  init() throws { directory = try StoreDirectory() }

  private func options(_ suite: LatewoodStore.CipherSuite, key byte: UInt8 = 1) throws -> Store.Options {
    var options = Store.Options()
    options.encryption = NewEncryption(
      .raw(SecretBytes(count: 32) { $0[0] = byte }), suite: suite)
    options.compaction = .manual
    options.durability = .relaxed
    options.reading = .buffered(cacheBytes: 1 << 20)
    return options
  }

  private static func key(_ number: Int) -> [UInt8] { secret + Array("\(number)".utf8) }

  /// Some values are in leaves, some are extents, and some are longer than a segment of the cache.
  private static func value(_ number: Int, _ round: Int) -> [UInt8] {
    let length =
      number % 200 == 0 ? 70_000 : number % 10 == 0 ? 3000 : 60
    var bytes = secret
    bytes.reserveCapacity(length)
    var state = UInt64(truncatingIfNeeded: number &* 7 &+ round &* 13)
    while bytes.count < length {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      bytes.append(UInt8(truncatingIfNeeded: state >> 56))
    }
    return bytes
  }

  private func fill(_ store: Store, _ numbers: Range<Int>, round: Int) throws {
    let space = try store.keyspace("secret space")
    for start in stride(from: numbers.lowerBound, to: numbers.upperBound, by: 100) {
      try store.write { transaction in
        for number in start..<min(start + 100, numbers.upperBound) {
          try transaction.put(Self.key(number), Self.value(number, round), in: space)
        }
      }
    }
  }

  private func expect(_ store: Store, _ rounds: [Range<Int>]) throws {
    let space = try #require(try store.existingKeyspace("secret space"))
    for (round, numbers) in rounds.enumerated() {
      for number in numbers where !rounds[(round + 1)...].contains(where: { $0.contains(number) }) {
        let value = try store.get(Self.key(number), in: space)
        #expect(value == Self.value(number, round), "\(number)")
        if value != Self.value(number, round) { return }
      }
    }
  }

  private func hasSecret(_ path: String) throws -> Bool {
    let device = try FileVolume().open(path, .readOnly)
    defer { device.close() }
    var bytes = [UInt8](repeating: 0, count: Int(try device.size()))
    _ = try bytes.withUnsafeMutableBytes { try device.read(into: $0, at: 0) }
    // Of the 10 bytes, any 8 would be found.
    return [0, 2].contains { bytes.firstRange(of: Self.secret[$0..<$0 + 8]) != nil }
      || bytes.firstRange(of: Array("secret space".utf8)) != nil
  }

  @Test(arguments: LatewoodStore.CipherSuite.allCases)
  func `a store reads its entries before and after checkpoints, reopening, compaction and backup`(
    _ suite: LatewoodStore.CipherSuite
  ) throws {
    let options = try options(suite)
    let rounds = [0..<400, 100..<180]
    var store = try Store.open(at: directory.store, mode: .createNew, options: options)
    try fill(store, rounds[0], round: 0)
    try expect(store, [rounds[0]])
    try store.checkpoint()
    try fill(store, rounds[1], round: 1)
    try expect(store, rounds)
    #expect(try store.verify().faults == [])
    try store.close()
    #expect(try !hasSecret(directory.store))

    store = try Store.open(at: directory.store, mode: .openExisting, options: options)
    try expect(store, rounds)
    try store.backup(to: directory.path + "/backup")
    try fill(store, 100..<110, round: 1)
    try store.checkpoint()
    let backup = try store.backup(to: directory.path + "/backup")
    #expect(backup.isIncremental)
    try store.copy(to: directory.path + "/copy")
    try store.compact()
    try expect(store, rounds)
    try store.close()

    for path in [directory.store, directory.path + "/copy", directory.path + "/backup"] {
      #expect(try !hasSecret(path))
      let other = try Store.open(at: path, mode: .readOnly, options: options)
      try expect(other, rounds)
      let faults = try other.verify().faults
      #expect(faults == [], "\(path)")
      try other.close()
    }
  }

  @Test func `a reader in the same process follows the commits of a writer`() throws {
    let options = try options(.chaCha20)
    let writer = try Store.open(at: directory.store, mode: .createNew, options: options)
    let reader = try Store.open(at: directory.store, mode: .readOnly, options: options)
    for round in 0..<5 {
      try fill(writer, 0..<120, round: round)
      if round == 2 { try writer.checkpoint() }
      if round == 3 { try writer.compact() }
      _ = try reader.refresh()
      try expect(reader, Array(repeating: 0..<0, count: round) + [0..<120])
    }
    try reader.close()
    try writer.close()
  }

  @Test func `a cache that is smaller than the file decrypts released pages again`() throws {
    let options = try options(.chaCha20)
    let store = try Store.open(at: directory.store, mode: .createNew, options: options)
    let space = try store.keyspace("s")
    let count = 30
    func value(_ number: Int) -> [UInt8] { Array(repeating: UInt8(number), count: 60_000) }
    for number in 0..<count { try store.put("\(number)", value(number), in: space) }
    try store.checkpoint()
    for step in 0..<2 * count {
      let number = step * 7 % count
      #expect(try store.get("\(number)", in: space) == value(number))
    }
    #expect(try store.statistics().cachedBytes <= 2 << 20)
    try store.close()
  }

  @Test func `another key, or none, opens nothing, and is told apart from damage`() throws {
    try Store.open(at: directory.store, mode: .createNew, options: try options(.aes256)).close()
    var (short, password) = (Store.Options(), Store.Options())
    short.encryptionKey = .raw([1, 2, 3])
    password.encryptionKey = .password("secret")
    var none = Store.Options()
    none.encryptionKey = nil
    for (wrong, code) in [
      (try options(.aes256, key: 2), StoreError.Code.wrongKey), (short, .wrongKey), (password, .wrongKey),
      (none, .keyNeeded),
    ] {
      for mode in [Store.OpenMode.openExisting, .readOnly, .openOrCreate] {
        refusal(code) { _ = try Store.open(at: directory.store, mode: mode, options: wrong) }
      }
    }
    refusal(.wrongKey) { _ = try Store.open(at: directory.path + "/new", mode: .createNew, options: short) }
    #expect(try !Store.exists(at: directory.path + "/new"))
    let plain = directory.path + "/plain"
    try Store.open(at: plain, mode: .createNew, options: none).close()
    refusal(.notEncrypted) {
      _ = try Store.open(at: plain, mode: .openExisting, options: try options(.aes256, key: 2))
    }
  }

  @Test func `an encrypted store is deleted without its key`() throws {
    try Store.open(at: directory.store, mode: .createNew, options: try options(.aes256)).close()
    #expect(try Store.delete(at: directory.store))
    #expect(try !Store.exists(at: directory.store))
  }

  @Test func `a value of a mebibyte is decrypted once, and again after other values took its place`() throws {
    let volume = SimulatedVolume()
    var options = try options(.chaCha20)
    options.reading = .buffered(cacheBytes: 8 << 20)
    let store = try Store.open(
      at: "store", on: volume, mode: .createNew, options: options, environment: .system)
    let space = try store.keyspace("s")
    func value(_ number: Int, _ length: Int = 1 << 20) -> [UInt8] {
      (0..<length).map { UInt8(truncatingIfNeeded: number &* 31 &+ $0 &* 7 &+ $0 >> 8) }
    }
    for number in 0..<16 { try store.put("\(number)", value(number), in: space) }
    // More than a quarter of the cache.
    try store.put("long", value(99, 3 << 20), in: space)
    try store.checkpoint()
    func reads(_ key: String, _ expected: [UInt8]) throws -> Int {
      let before = volume.readCount
      #expect(try store.get(key, in: space) == expected)
      return volume.readCount - before
    }
    #expect(try reads("3", value(3)) > 0)
    for _ in 0..<3 { #expect(try reads("3", value(3)) == 0) }
    for _ in 0..<2 { #expect(try reads("long", value(99, 3 << 20)) > 0) }
    for round in 0..<3 {
      for number in 0..<16 where number != 3 || round > 0 {
        #expect(try reads("\(number)", value(number)) > 0, "round \(round)")
      }
    }
    // The first of these reads may find that a part that it shares with a neighbour is cooling.
    _ = try reads("15", value(15))
    #expect(try reads("15", value(15)) == 0)
    // A snapshot keeps its state, and still sees the old value.
    let snapshot = try store.snapshot()
    try store.put("15", value(50), in: space)
    try store.checkpoint()
    for number in 0..<16 { _ = try reads("\(number)", value(number == 15 ? 50 : number)) }
    #expect(try snapshot.get("15", in: space) == value(15))
    snapshot.close()
    try store.close()
  }
}
