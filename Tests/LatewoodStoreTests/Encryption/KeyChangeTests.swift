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
  private static func encryption(_ byte: UInt8) -> NewEncryption {
    NewEncryption(.raw(SecretBytes(count: 32) { $0[0] = byte }), suite: .chaCha20)
  }

  /// - Parameter byte: the first byte of the key; 0 for a store that is not encrypted.
  private static func options(_ byte: UInt8) -> Store.Options {
    var options = Store.Options()
    options.encryption = byte == 0 ? nil : encryption(byte)
    options.compaction = .manual
    options.checkpointsInBackground = false
    return options
  }

  private func open(_ volume: any Volume, key: UInt8, _ mode: Store.OpenMode = .openExisting) throws -> Store
  {
    try Store.open(
      at: "store", on: volume, mode: mode, options: Self.options(key), environment: .system)
  }

  private func opens(_ volume: any Volume, key: UInt8) throws -> Bool {
    do {
      let store = try open(volume, key: key)
      #expect(try store.get("a", in: store.keyspace("s")) == Array("1".utf8))
      #expect(try store.verify().faults == [])
      try store.close()
      return true
    } catch let error as StoreError {
      guard [.wrongKey, .keyNeeded, .notEncrypted].contains(error.code) else { throw error }
      return false
    }
  }

  @Test func `after a change only the new key opens the store, also after a compaction`() throws {
    let volume = MemoryVolume()
    var store = try open(volume, key: 1, .createNew)
    try store.put("a", "1", in: store.keyspace("s"))
    try store.backup(to: "backup")
    try store.changeEncryption(to: Self.encryption(2))
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

  @Test func `a reader cannot change the key`() throws {
    let volume = MemoryVolume()
    let store = try open(volume, key: 1, .createNew)
    let reader = try open(volume, key: 1, .readOnly)
    refusal(.readOnly) { try reader.changeEncryption(to: Self.encryption(2)) }
    refusal(.wrongKey) { try store.changeEncryptionKey(to: .raw([1])) }
    refusal(.wrongKey) { try store.changeEncryptionKey(to: .raw([1]), renewingFileKey: true) }
    try store.put("a", "1", in: store.keyspace("s"))
    refusal(.invalidRange) {
      try store.write { _ in try store.changeEncryption(to: Self.encryption(2)) }
    }
    try reader.close()
    try store.close()
    #expect(try !opens(volume, key: 2))
    #expect(try opens(volume, key: 1))
  }

  @Test func `a derivation that no reader would accept neither creates a store nor changes its key`() throws {
    let volume = MemoryVolume()
    let refused: [LatewoodStore.PasswordDerivation] = [
      .pbkdf2(rounds: 1 << 30), .pbkdf2(rounds: 0), .pbkdf2(rounds: .min),
      .argon2id(memory: 2 << 30, passes: 1), .argon2id(memory: 8191, passes: 1),
      .argon2id(memory: .min, passes: 1), .argon2id(memory: 8192, passes: 0),
      .argon2id(memory: 8192, passes: 65), .argon2id(memory: .max, passes: .max),
    ]
    for derivation in refused {
      var options = Self.options(1)
      options.encryptionKey = .password("x", derivation: derivation)
      refusal(.unsupported) {
        _ = try Store.open(
          at: "store", on: volume, mode: .createNew, options: options, environment: .system)
      }
      #expect(try !Store.exists(at: "store", on: volume))
    }
    let store = try open(volume, key: 1, .createNew)
    try store.put("a", "1", in: store.keyspace("s"))
    for (derivation, renewing) in zip(refused, [false, true, false, true]) {
      refusal(.unsupported) {
        try store.changeEncryptionKey(
          to: .password("x", derivation: derivation), renewingFileKey: renewing)
      }
    }
    try store.close()
    #expect(try opens(volume, key: 1))
  }

  /// The keys before and after a change that writes the file again; 0 for no encryption.
  enum Rewriting: String, CaseIterable {
    case encrypting, decrypting, renewing

    var before: UInt8 { self == .encrypting ? 0 : 1 }
    var after: UInt8 { self == .decrypting ? 0 : 2 }
  }

  private func change(_ store: Store, _ change: Rewriting) throws {
    try store.changeEncryption(
      to: change.after == 0 ? nil : Self.encryption(change.after), renewingFileKey: true)
  }

  @Test(arguments: Rewriting.allCases)
  func `a store is encrypted, decrypted and encrypted again in place`(_ change: Rewriting) throws {
    let volume = MemoryVolume()
    let store = try open(volume, key: change.before, .createNew)
    let space = try store.keyspace("s")
    try store.put("a", "1", in: space)
    for number in 0..<300 {
      let length = number % 50 == 0 ? 70_000 : number % 7 == 0 ? 1000 : 20
      try store.put("key \(number)", Array(repeating: UInt8(number % 256), count: length), in: space)
    }
    let before = try store.content()
    let snapshot = try store.snapshot()
    #expect(store.isEncrypted == (change.before != 0))
    try self.change(store, change)
    #expect(store.isEncrypted == (change.after != 0))
    #expect(try store.content() == before)
    #expect(try snapshot.get("a", in: space) == Array("1".utf8))
    snapshot.close()
    try store.put("b", "2", in: space)
    let after = try store.content()
    #expect(try store.verify().faults == [])
    try store.checkpoint()
    try store.compact()
    try store.close()
    #expect(try !opens(volume, key: change.before))
    #expect(try opens(volume, key: change.after))
    let again = try open(volume, key: change.after)
    #expect(try again.content() == after)
    try again.close()
  }

  @Test(arguments: Rewriting.allCases)
  func `a backup or reader from before a change does not follow it`(_ change: Rewriting) throws {
    let volume = MemoryVolume()
    let store = try open(volume, key: change.before, .createNew)
    try store.put("a", "1", in: store.keyspace("s"))
    try store.backup(to: "backup")
    let reader = try open(volume, key: change.before, .readOnly)
    try self.change(store, change)
    refusal(.alreadyExists) { try store.backup(to: "backup") }
    try store.backup(to: "next")
    let code: StoreError.Code =
      switch change {
      case .encrypting: .keyNeeded
      case .decrypting: .notEncrypted
      case .renewing: .wrongKey
      }
    refusal(code) { try reader.refresh() }
    #expect(try reader.get("a", in: reader.keyspace("s")) == Array("1".utf8))
    try reader.close()
    try store.close()
    let old = try Store.open(
      at: "backup", on: volume, mode: .readOnly, options: Self.options(change.before), environment: .system)
    #expect(try old.get("a", in: old.keyspace("s")) == Array("1".utf8))
    try old.close()
    let next = try Store.open(
      at: "next", on: volume, mode: .readOnly, options: Self.options(change.after), environment: .system)
    #expect(try next.get("a", in: next.keyspace("s")) == Array("1".utf8))
    try next.close()
  }

  @Test func `a backup that is extended after a change of the key opens only with the new key`() throws {
    let volume = MemoryVolume()
    let store = try open(volume, key: 1, .createNew)
    try store.put("a", "1", in: store.keyspace("s"))
    try store.backup(to: "backup")
    try store.changeEncryption(to: Self.encryption(2))
    #expect(try store.backup(to: "backup").isIncremental)
    try store.close()
    refusal(.wrongKey) {
      _ = try Store.open(
        at: "backup", on: volume, mode: .readOnly, options: Self.options(1), environment: .system)
    }
    let backup = try Store.open(
      at: "backup", on: volume, mode: .readOnly, options: Self.options(2), environment: .system)
    #expect(try backup.get("a", in: backup.keyspace("s")) == Array("1".utf8))
    try backup.close()
  }

  @Test(arguments: Rewriting.allCases)
  func `after a power cut at any call of such a change, one of the two keys opens the store`(
    _ change: Rewriting
  ) throws {
    let seed = SeededRandom.seed()
    var random = SeededRandom(seed: seed)
    let start = SimulatedVolume()
    let store = try open(start.process(1), key: change.before, .createNew)
    try store.put("a", "1", in: store.keyspace("s"))
    try store.close()
    let before = try start.liveBytes(of: "store")
    var found: Set<[Bool]> = []
    for call in 0... {
      let volume = SimulatedVolume()
      try volume.place(before, at: "store")
      volume.inject(.powerCut, atCall: call)
      var isChanged = false
      do {
        let store = try open(volume.process(1), key: change.before)
        try self.change(store, change)
        isChanged = true
        try store.close()
      } catch {}
      let images = volume.crashImages(seed: random.next(), random: 4)
      for index in CrashRun.sample(images.count, Effort.count(8, low: 2), &random) {
        let outcome = try [change.before, change.after].map { try opens(images[index].makeVolume(), key: $0) }
        #expect(outcome == [!outcome[1], outcome[1]], "call \(call), image \(index); seed \(seed)")
        #expect(outcome[1] || !isChanged, "call \(call), image \(index); seed \(seed)")
        found.insert(outcome)
      }
      if !volume.isCrashed { break }
    }
    #expect(found.count == 2)
  }

  @Test(arguments: [InjectedFault.outOfSpace(), .inputOutput()])
  func `after a change of the key that failed, the old key opens the store`(
    _ fault: InjectedFault
  ) throws {
    let start = SimulatedVolume()
    let first = try open(start.process(1), key: 1, .createNew)
    try first.put("a", "1", in: first.keyspace("s"))
    try first.close()
    let before = try start.liveBytes(of: "store")
    var (failures, usable) = (0, 0)
    for call in 0... {
      let volume = SimulatedVolume()
      try volume.place(before, at: "store")
      let store = try open(volume.process(1), key: 1)
      let target = volume.callCount + call
      volume.inject(fault, atCall: target)
      var failed = false
      do { try store.changeEncryption(to: Self.encryption(2)) } catch { failed = true }
      let isOver = volume.callCount <= target
      volume.clearFaults()
      // The checkpoints after a failure must not complete the change.
      var canWrite = true
      do {
        for value in ["2", "3"] {
          try store.checkpoint()
          try store.put("b", value, in: store.keyspace("s"))
        }
        try store.checkpoint()
      } catch { canWrite = false }
      do { try store.close() } catch {}
      let bytes = try volume.liveBytes(of: "store")
      let outcome = try [1, 2].map { key in
        let volume = SimulatedVolume()
        try volume.place(bytes, at: "store")
        return try opens(volume.process(1), key: UInt8(key))
      }
      failures += failed ? 1 : 0
      usable += failed && canWrite ? 1 : 0
      if failed, canWrite {
        #expect(outcome == [true, false], "call \(call)")
      } else if failed {
        #expect(outcome.contains(true), "call \(call)")
      } else {
        #expect(outcome == [false, true], "call \(call)")
      }
      if isOver { break }
    }
    #expect(failures >= 4)
    #expect(fault != .outOfSpace() || usable >= 2)
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
        try store.changeEncryption(to: Self.encryption(2))
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
