import LatewoodCrypto
import LatewoodDevice
import LatewoodFile
import LatewoodModels
import LatewoodSimulation
import Testing

@testable import LatewoodStore

/// Anchors, by which an open recognizes older copies of an encrypted file.
@Suite struct AnchorTests {
  private typealias Anchor = LatewoodFile.StateAnchor

  private static func options(_ key: UInt8 = 1, expecting anchor: Anchor? = nil) -> Store.Options {
    var options = Store.Options()
    options.encryption =
      key == 0 ? nil : NewEncryption(.raw(SecretBytes(count: 32) { $0[0] = key }), suite: .chaCha20)
    options.compaction = .manual
    options.checkpointsInBackground = false
    options.expectedAnchor = anchor
    return options
  }

  private func open(
    _ volume: any Volume, at path: String = "store", key: UInt8 = 1, expecting anchor: Anchor? = nil,
    _ mode: Store.OpenMode = .openExisting
  ) throws -> Store {
    try Store.open(
      at: path, on: volume, mode: mode, options: Self.options(key, expecting: anchor), environment: .system)
  }

  private func put(_ store: Store, _ keys: String...) throws {
    for key in keys { try store.put(key, "1", in: store.keyspace("s")) }
  }

  /// Puts the bytes of a file at its path, as somebody who has an older copy could.
  private func accepts(_ bytes: [UInt8], _ anchor: Anchor, key: UInt8 = 1) throws -> Bool {
    let volume = MemoryVolume()
    try Repository.write(bytes, to: "store", on: volume)
    var outcomes: [Bool] = []
    for mode in [Store.OpenMode.readOnly, .openExisting] {
      do {
        try open(volume, key: key, expecting: anchor, mode).close()
        outcomes.append(true)
      } catch let error as StoreError {
        guard error.code == .rolledBack else { throw error }
        #expect(try Repository.read(volume, "store") == bytes)
        outcomes.append(false)
      }
    }
    #expect(Set(outcomes).count == 1)
    return outcomes[0]
  }

  @Test func `the state of an anchor and those after it are accepted, and older ones refused`() throws {
    let volume = MemoryVolume()
    let store = try open(volume, .createNew)
    try put(store, "a")
    try store.close()
    let older = try Repository.read(volume, "store")
    let again = try open(volume)
    try put(again, "b")
    let anchor = try again.anchor()
    #expect(anchor.transaction == again.recovery.transaction + 1)
    let same = try Repository.read(volume, "store")
    try put(again, "c")
    let newer = try Repository.read(volume, "store")
    let next = try again.anchor()
    let last = try Repository.read(volume, "store")
    try again.close()
    #expect(try !accepts(older, anchor))
    for bytes in [same, newer, last, try Repository.read(volume, "store")] {
      #expect(try accepts(bytes, anchor))
    }
    for bytes in [older, same, newer] { #expect(try !accepts(bytes, next)) }
    #expect(try accepts(last, next))
    let refused = refusal(.rolledBack) {
      try Repository.write(older, to: "old", on: volume)
      _ = try open(volume, at: "old", expecting: anchor)
    }
    #expect(refused?.message.contains("an older copy") == true && refused?.path == "old")
  }

  @Test func `a branch from a state before the anchor is refused, even a longer one`() throws {
    let volume = MemoryVolume()
    let store = try open(volume, .createNew)
    try put(store, "a")
    let before = try store.anchor()
    try store.close()
    let copy = try Repository.read(volume, "store")
    func continued(_ keys: Int, checkpoint: Bool) throws -> (bytes: [UInt8], anchor: Anchor) {
      let volume = MemoryVolume()
      try Repository.write(copy, to: "store", on: volume)
      let store = try open(volume, expecting: before)
      for key in 0..<keys { try put(store, "key \(key)") }
      let anchor = try store.anchor()
      if checkpoint { try store.compact() }
      try store.close()
      return (try Repository.read(volume, "store"), anchor)
    }
    let own = try continued(3, checkpoint: false)
    #expect(try accepts(own.bytes, own.anchor) && accepts(own.bytes, before))
    for keys in [1, 3, 9] {
      for checkpoint in [false, true] {
        let other = try continued(keys, checkpoint: checkpoint)
        #expect(try !accepts(other.bytes, own.anchor) && accepts(other.bytes, before))
      }
    }
  }

  @Test func `without changes an anchor stays the same, also after a close`() throws {
    let volume = MemoryVolume()
    let store = try open(volume, .createNew)
    // Even the empty state has an anchor.
    let empty = try store.anchor()
    #expect(empty.transaction == 0)
    #expect(try store.anchor() == empty)
    try put(store, "a")
    let anchor = try store.anchor()
    #expect(anchor != empty)
    #expect(try store.anchor() == anchor)
    let size = try Repository.read(volume, "store").count
    #expect(try store.anchor() == anchor)
    #expect(try Repository.read(volume, "store").count == size)
    try store.checkpoint()
    try store.close()
    let again = try open(volume, expecting: empty)
    #expect(try again.anchor() == anchor)
    #expect(again.anchors == [empty, anchor])
    try again.close()
  }

  @Test func `anchors survive compactions, changes of the key and backups, but are not copied`() throws {
    let volume = MemoryVolume()
    var store = try open(volume, .createNew)
    try put(store, "a")
    let anchor = try store.anchor()
    try put(store, "b")
    try store.backup(to: "backup")
    try store.copy(to: "copy")
    try store.compact()
    try store.close()
    store = try open(volume, expecting: anchor)
    for renewing in [false, true] {
      try store.changeEncryption(to: Self.options(renewing ? 3 : 2).encryption, renewingFileKey: renewing)
    }
    try put(store, "c")
    try store.close()
    try open(volume, key: 3, expecting: anchor).close()
    try open(volume, at: "backup", expecting: anchor).close()
    refusal(.rolledBack) { _ = try open(volume, at: "copy", expecting: anchor) }
    // A file that was decrypted in between proves nothing.
    store = try open(volume, key: 3)
    try store.changeEncryption(to: nil)
    refusal(.notEncrypted) { _ = try store.anchor() }
    try store.changeEncryption(to: Self.options(4).encryption)
    try store.close()
    refusal(.rolledBack) { _ = try open(volume, key: 4, expecting: anchor) }
  }

  @Test func `the last 32 anchors are remembered`() throws {
    let volume = MemoryVolume()
    let store = try open(volume, .createNew)
    var anchors: [Anchor] = []
    for number in 0..<34 {
      try put(store, "\(number)")
      anchors.append(try store.anchor())
    }
    try store.close()
    let bytes = try Repository.read(volume, "store")
    for (index, anchor) in anchors.enumerated() { #expect(try accepts(bytes, anchor) == (index >= 2)) }
    let again = try open(volume, .readOnly)
    #expect(again.anchors == Array(anchors.suffix(32)) && again.anchors.count == Anchor.limit)
    #expect(try again.verify().faults == [])
    try again.close()
  }

  @Test func `either slot alone has the anchor`() throws {
    let volume = MemoryVolume()
    let store = try open(volume, .createNew)
    try put(store, "a")
    let anchor = try store.anchor()
    let bytes = try Repository.read(volume, "store")
    try store.close()
    for slot in 0..<2 {
      var damaged = bytes
      damaged[Int(FileLayout.slotOffset(slot)) + 20] ^= 1
      #expect(try accepts(damaged, anchor))
    }
  }

  @Test func `only an encrypted file that exists can be expected, and only a writer gives anchors`() throws {
    let volume = MemoryVolume()
    let store = try open(volume, .createNew)
    let anchor = try store.anchor()
    refusal(.invalidRange) { try store.write { _ in _ = try store.anchor() } }
    let reader = try open(volume, expecting: anchor, .readOnly)
    refusal(.readOnly) { _ = try reader.anchor() }
    try reader.close()
    try store.close()
    refusal(.closed) { _ = try store.anchor() }
    let plain = try open(volume, at: "plain", key: 0, .createNew)
    refusal(.notEncrypted) { _ = try plain.anchor() }
    refusal(.notEncrypted) { try plain.check(anchor) }
    try plain.close()
    refusal(.notEncrypted) { _ = try open(volume, at: "plain", key: 0, expecting: anchor) }
    for mode in [Store.OpenMode.createNew, .openOrCreate, .openExisting, .readOnly] {
      refusal(.notFound) { _ = try open(volume, at: "none", expecting: anchor, mode) }
      #expect(try !Store.exists(at: "none", on: volume))
    }
  }

  @Test func `a reader follows a writer beyond its anchor, but not to an older file in its place`() throws {
    let volume = MemoryVolume()
    let store = try open(volume, .createNew)
    try put(store, "a")
    try store.backup(to: "old")
    let anchor = try store.anchor()
    let reader = try open(volume, expecting: anchor, .readOnly)
    // More anchors than a file remembers.
    for number in 0..<40 {
      try put(store, "\(number)")
      _ = try store.anchor()
      #expect(try reader.refresh())
    }
    try store.compact()
    try put(store, "b")
    #expect(try reader.refresh())
    #expect(try reader.get("b", in: reader.keyspace("s")) != nil)
    try store.close()
    try volume.rename("old", to: "store")
    refusal(.rolledBack) { _ = try reader.refresh() }
    #expect(try reader.get("b", in: reader.keyspace("s")) != nil)
    try reader.close()
  }

  @Test func `an anchor has a text form, and no other text is one`() throws {
    let anchor = Anchor(transaction: 17, id: (0x0011_2233_4455_6677, 0x8899_AABB_CCDD_EEFF))
    #expect(anchor.description == "17-00112233445566778899aabbccddeeff")
    #expect(Anchor(anchor.description) == anchor)
    let largest = Anchor(transaction: .max, id: (.max, .max))
    #expect(Anchor(largest.description) == largest)
    for text in [
      "", "-", "17", "17-", "-00112233445566778899aabbccddeeff", "17-00112233445566778899AABBCCDDEEFF",
      "+17-00112233445566778899aabbccddeeff", "017-00112233445566778899aabbccddeeff",
      "17-+0112233445566778899aabbccddeeff", "17-00112233445566778899aabbccddeef",
      "17-00112233445566778899aabbccddeeff ", "17-0011223344556677-8899aabbccddeeff",
      "18446744073709551616-00112233445566778899aabbccddeeff", "17-ééééééééééééééééé",
    ] {
      #expect(Anchor(text) == nil, "\(text)")
    }
  }

  @Test func `after a power cut at any call, the anchors that were returned are accepted`() throws {
    let seed = SeededRandom.seed()
    var random = SeededRandom(seed: seed)
    let start = SimulatedVolume()
    let store = try open(start.process(1), .createNew)
    try put(store, "a")
    try store.close()
    let before = try start.liveBytes(of: "store")
    var (given, lost) = (0, 0)
    for call in 0... {
      let volume = SimulatedVolume()
      try volume.place(before, at: "store")
      volume.inject(.powerCut, atCall: call)
      var anchors: [Anchor] = []
      do {
        let store = try open(volume.process(1))
        anchors.append(try store.anchor())
        try store.write(durability: .relaxed) { try $0.put("b", "2", in: $0.keyspace("s")) }
        anchors.append(try store.anchor())
        try store.compact()
        try store.close()
      } catch {}
      let images = volume.crashImages(seed: random.next(), random: 4)
      for index in CrashRun.sample(images.count, Effort.count(6, low: 2), &random) {
        for anchor in anchors {
          try open(images[index].makeVolume(), expecting: anchor).close()
          given += 1
        }
        lost += anchors.count == 2 ? 0 : 1
      }
      if !volume.isCrashed { break }
    }
    #expect(given > 20 && lost > 10, "seed \(seed)")
  }
}
