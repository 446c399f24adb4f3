import LatewoodBytes
import LatewoodDevice
import LatewoodFile
import LatewoodSimulation
import LatewoodStore
import Testing

/// Two units that were encrypted with the same key and nonce give away both. So no nonce may occur
/// twice in anything that ever reaches a disk.
@Suite struct NonceTests {
  /// The nonces of all units found so far.
  private struct Collection {
    struct Nonce: Hashable {
      var epoch: Epoch
      var number: UInt64
    }
    struct Epoch: Hashable {
      var first: UInt64
      var last: UInt64
    }
    /// The first half of the tag of each unit. It depends on all bytes of the unit.
    private var tags: [Nonce: UInt64] = [:]
    private(set) var epochs: Set<Epoch> = []
    /// Whether an epoch begins with two bytes.
    private var beginnings = [Bool](repeating: false, count: 1 << 16)
    private(set) var repeated = 0

    var count: Int { tags.count }

    /// Finds the trailers in a file. Each begins with an epoch that a frame also has, and random
    /// bytes do not.
    mutating func collect(_ bytes: [UInt8]) {
      bytes.withUnsafeBytes { all in
        guard let base = all.baseAddress else { return }
        for frame in EncryptedUnits(of: bytes).frames where frame.count >= FrameHeader.length + 40 {
          let epoch = Epoch(first: base.u64(frame.upperBound - 40), last: base.u64(frame.upperBound - 32))
          // In a hole there are zeros.
          if epoch == Epoch(first: 0, last: 0) { continue }
          epochs.insert(epoch)
          beginnings[Int(epoch.first & 0xFFFF)] = true
        }
        for offset in Int(FileLayout.slotOffset(0))..<max(all.count - 39, Int(FileLayout.slotOffset(0)))
        where beginnings[Int(base.u16(offset))] {
          let epoch = Epoch(first: base.u64(offset), last: base.u64(offset + 8))
          guard epochs.contains(epoch) else { continue }
          let nonce = Nonce(epoch: epoch, number: base.u64(offset + 16))
          let tag = base.u64(offset + 24)
          if tags.updateValue(tag, forKey: nonce) ?? tag != tag { repeated += 1 }
        }
      }
    }
  }

  private static let path = "nonces.latewood"

  /// Opens the store; nil if the file is cut off where its slots say that it was durable.
  private func open(_ volume: MemoryVolume, _ suite: LatewoodStore.CipherSuite) throws -> Store? {
    do throws(StoreError) {
      return try Store.open(
        at: Self.path, on: volume, mode: .openOrCreate, options: .encrypted(suite, inlineValueLimit: 64),
        environment: .system)
    } catch {
      if error.code == .damaged { return nil }
      throw error
    }
  }

  @Test(arguments: LatewoodStore.CipherSuite.allCases)
  func `no nonce occurs twice over crashes, rewinds, backups, compactions and writers in turn`(
    _ suite: LatewoodStore.CipherSuite
  ) throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    var found = Collection()
    // States of the file to which it can return: as it was closed, as it was when its process was
    // killed, and cut off behind a commit.
    var images: [[UInt8]] = []
    for _ in 0..<Effort.nonceRounds {
      let volume = MemoryVolume()
      let source = images.indices.randomElement(using: &random)
      if let source { try Repository.write(images[source], to: Self.path, on: volume) }
      guard let store = try open(volume, suite) else {
        images.remove(at: try #require(source))
        continue
      }
      let space = try store.keyspace("a")
      for _ in 0..<1 + random.below(4) {
        try store.write { transaction in
          for _ in 0..<random.below(120) {
            try transaction.put("\(random.below(300))", random.bytes(40 + random.below(80)), in: space)
          }
        }
        if random.oneIn(4) { try store.checkpoint() }
        if random.oneIn(6) { found.collect(try Repository.read(volume, Self.path)) }
      }
      if random.oneIn(5) {
        try store.backup(to: "backup")
        if random.oneIn(2) {
          try store.put("b", random.bytes(100), in: space)
          try store.backup(to: "backup")
        }
        found.collect(try Repository.read(volume, "backup"))
      }
      if random.oneIn(8) { try store.compact() }
      var image = try Repository.read(volume, Self.path)
      found.collect(image)
      let isKilled = random.oneIn(2)
      try store.close()
      if !isKilled {
        image = try Repository.read(volume, Self.path)
        found.collect(image)
      } else if random.oneIn(3), let last = EncryptedUnits(of: image).frames.last {
        // Only whole frames: a part of a trailer would look like another unit with its nonce.
        image.removeLast(image.count - last.lowerBound)
      }
      if images.count < 12 { images.append(image) } else { images[random.below(images.count)] = image }
      #expect(found.repeated == 0, "\(random.replay)")
    }
    print(
      "NonceTests: \(found.count) units of \(found.epochs.count) epochs, no nonce twice; \(random.replay)")
    #expect(found.epochs.count > Effort.nonceRounds / 2 && found.count > 20 * Effort.nonceRounds)
  }
}

extension Effort {
  /// The number of sessions. Some 10,000,000 nonces take 60,000 of them.
  fileprivate static var nonceRounds: Int {
    CurrentProcess.environmentVariable("LATEWOOD_NONCE_SESSIONS").flatMap { Int($0) } ?? count(400, low: 40)
  }
}
