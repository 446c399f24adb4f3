import LatewoodBytes
import LatewoodDevice
import LatewoodSimulation
import Testing

/// Tests of the simulated disk itself, on which tests of the engine rely.
@Suite("The simulated disk")
struct SimulatedVolumeTests {
  let volume = SimulatedVolume(seed: 1)

  func sectors(_ count: Int, _ byte: UInt8) -> [UInt8] { [UInt8](repeating: byte, count: count * 512) }

  /// A file of four durable sectors of 1, with its name durable too.
  func prepared() throws -> any Device {
    let device = try volume.open("f", newFile)
    try device.write(sectors(4, 1), at: 0)
    try device.sync()
    try volume.syncDirectory(containing: "f")
    return device
  }

  @Test func `unsynced writes are live but not durable until they are synced`() throws {
    let device = try prepared()
    try device.write(sectors(2, 2), at: 1024)
    try device.write([9], at: 4000)
    #expect(try volume.durableBytes(of: "f") == sectors(4, 1))
    #expect(try volume.liveBytes(of: "f").count == 4001)
    #expect(try volume.pendingSectors(of: "f") == [2, 3, 7])
    try device.sync()
    #expect(try volume.durableBytes(of: "f") == volume.liveBytes(of: "f"))
    #expect(try volume.pendingSectors(of: "f") == [])
  }

  @Test func `calls that change the disk are counted, and reads are counted separately`() throws {
    let device = try prepared()
    #expect(volume.callCount == 4)
    _ = try device.read(10, at: 0)
    _ = try device.size()
    #expect(volume.callCount == 4)
    #expect(volume.readCount == 1)
    #expect(volume.trace.map(\.kind) == [.create, .write, .sync, .syncDirectory])
    #expect(volume.traceText().contains("1: write f 0 ..< 2048"))
  }

  @Test func `a fault occurs at the call it was planned for`() throws {
    let device = try prepared()
    volume.inject(.outOfSpace(after: 600), atCall: 4)
    volume.inject(.inputOutput(), atCall: 5)
    volume.failRead(0)
    #expect(fault { try device.write(sectors(2, 2), at: 2048) }?.kind == .outOfSpace)
    #expect(try device.size() == 2648)
    #expect(fault { try device.write([1], at: 0) }?.kind == .inputOutput)
    #expect(fault { _ = try device.read(1, at: 0) }?.kind == .inputOutput)
    #expect(try device.read(1, at: 0) == [1])
    try device.write([3], at: 0)
    try device.sync()
    #expect(try volume.durableBytes(of: "f")[0] == 3)
  }

  @Test func `a full disk writes the part that fits, and works again once there is space`() throws {
    let device = try prepared()
    volume.spaceLimit = 2100
    #expect(fault { try device.write(sectors(1, 2), at: 2048) }?.kind == .outOfSpace)
    #expect(try device.size() == 2100)
    try device.write(sectors(4, 3), at: 0)
    volume.spaceLimit = nil
    try device.write(sectors(1, 2), at: 2048)
    #expect(try device.size() == 2560)
  }

  @Test func `later syncs succeed without the data of a failed one, and the cache hides the loss`() throws {
    let device = try prepared()
    let space = try device.map(capacity: 1 << 20)
    try device.write(sectors(1, 2), at: 0)
    try device.write(sectors(1, 2), at: 2048)
    volume.inject(.inputOutput(), atCall: volume.callCount)
    #expect(fault { try device.sync() }?.kind == .inputOutput)
    try device.write(sectors(1, 3), at: 2560)
    try device.sync()
    #expect(try device.read(1, at: 0) == [2])
    #expect(try volume.durableBytes(of: "f") == sectors(4, 1) + sectors(1, 0) + sectors(1, 3))
    for image in volume.crashImages() {
      #expect(try image.makeVolume().liveBytes(of: "f") == sectors(4, 1) + sectors(1, 0) + sectors(1, 3))
    }
    device.dropCache(2048..<65536)
    #expect(try device.read(1, at: 0) == [2])
    #expect(try device.read(1, at: 2048) == [0])
    device.dropCache(0..<65536)
    #expect(try device.read(1, at: 0) == [1])
    #expect(space.base.load(as: UInt8.self) == 1)
    // If it is written again, it is pending again, and this time reaches the disk.
    try device.write(sectors(1, 2), at: 0)
    try device.sync()
    #expect(try volume.durableBytes(of: "f")[0] == 2)
  }

  @Test func `a sync that loses some sectors keeps others`() throws {
    let device = try prepared()
    try device.write(sectors(64, 2), at: 0)
    volume.inject(.syncLosingSome, atCall: volume.callCount)
    #expect(fault { try device.sync() }?.kind == .inputOutput)
    try device.sync()
    let kept = try volume.durableBytes(of: "f").count { $0 == 2 } / 512
    #expect(kept > 8 && kept < 56, "\(kept)")
  }

  @Test func `after a power cut every call fails, and the interrupted call may have taken effect`() throws {
    let device = try prepared()
    volume.inject(.powerCut, atCall: volume.callCount)
    #expect(fault { try device.write(sectors(1, 2), at: 0) } != nil)
    #expect(volume.isCrashed)
    #expect(fault { _ = try device.read(1, at: 0) } != nil)
    #expect(fault { try device.sync() } != nil)
    #expect(fault { _ = try volume.open("f", .readWrite) } != nil)
    let firsts = try Set(volume.crashImages().map { try $0.makeVolume().liveBytes(of: "f")[0] })
    #expect(firsts == [1, 2])
  }

  @Test func `a few pending sectors produce every subset of them`() throws {
    let device = try prepared()
    for sector in 0..<8 { try device.write(sectors(1, 2), at: UInt64(sector * 512)) }
    let images = volume.crashImages(tearing: false)
    #expect(images.isExhaustive)
    #expect(images.pendingSectors == 8)
    var seen: Set<[Bool]> = []
    for image in images.dropLast() {
      let bytes = try image.makeVolume().liveBytes(of: "f")
      let kept = (0..<8).map { $0 * 512 < bytes.count && bytes[$0 * 512] == 2 }
      seen.insert(kept)
      // The file ends with its last sector, and never before the durable content.
      let end = max(4, (kept.lastIndex(of: true) ?? 0) + 1) * 512
      #expect(bytes.count == end)
      for sector in 0..<bytes.count / 512 {
        let expected: UInt8 = kept[sector] ? 2 : sector < 4 ? 1 : 0
        #expect(bytes[sector * 512..<sector * 512 + 512].allSatisfy { $0 == expected })
      }
    }
    #expect(seen.count == 256)
    #expect(try images.last?.makeVolume().liveBytes(of: "f") == sectors(4, 1) + sectors(4, 0))
    #expect(images.first?.keptSectors == 8)
  }

  @Test
  func
    `many pending sectors give all, none, each alone dropped and kept, and random ones that the seed repeats`()
    throws
  {
    let device = try prepared()
    try device.write(sectors(40, 2), at: 2048)
    let images = volume.crashImages(seed: 5, random: 20, tearing: false)
    #expect(!images.isExhaustive)
    let kept = images.map(\.keptSectors)
    #expect(kept.prefix(3) == [40, 0, 0])
    #expect(kept.count { $0 == 39 } >= 40)
    #expect(kept.count { $0 == 1 } >= 40)
    #expect(images.count == 3 + 80 + 20)
    let again = volume.crashImages(seed: 5, random: 20, tearing: false)
    #expect(images.map(\.description) == again.map(\.description))
  }

  @Test func `a rewritten sector may be left with any of its contents`() throws {
    let device = try prepared()
    for byte in 2...4 as ClosedRange<UInt8> { try device.write([byte], at: 0) }
    let firsts = try Set(volume.crashImages().map { try $0.makeVolume().liveBytes(of: "f")[0] })
    #expect(firsts == [1, 2, 3, 4])
  }

  @Test func `a torn sector mixes old and new bytes, and never touches durable ones`() throws {
    let device = try prepared()
    try device.write([UInt8](repeating: 1, count: 100), at: 2048)
    try device.sync()
    // The rest of a sector whose start is durable, and a sector whose durable content changes.
    try device.write([UInt8](repeating: 2, count: 412), at: 2148)
    try device.write(sectors(1, 3), at: 0)
    var mixed = false
    for seed in 0..<20 as Range<UInt64> {
      for image in volume.crashImages(seed: seed) where image.isTorn {
        let bytes = try image.makeVolume().liveBytes(of: "f")
        #expect(Set(bytes[..<512]).count == 1, "a sector that overwrites was torn")
        #expect(bytes[512..<2148].allSatisfy { $0 == 1 })
        #expect(bytes[2148...].allSatisfy { $0 == 0 || $0 == 2 })
        if Set(bytes[2148...]).count == 2 { mixed = true }
      }
    }
    #expect(mixed)
  }

  @Test func `name changes survive in order, and unsynced ones may be lost`() throws {
    _ = try prepared()
    let fresh = try volume.open("new", newFile)
    try fresh.write([7], at: 0)
    try fresh.sync()
    try volume.rename("new", to: "f")
    let states = try Set(
      volume.crashImages().map { image -> [String] in
        let after = try image.makeVolume()
        let content = try after.liveBytes(of: "f").count
        return after.liveNames + ["\(content)"]
      })
    #expect(states == [["f", "2048"], ["f", "new", "2048"], ["f", "1"]])
    try volume.syncDirectory(containing: "f")
    #expect(try volume.crashImages().allSatisfy { try $0.makeVolume().liveNames == ["f"] })
  }

  @Test func `images of one power cut do not see each other's writes, and can crash again`() throws {
    let device = try prepared()
    try device.write(sectors(2, 2), at: 2048)
    let images = volume.crashImages()
    for round in 0..<3 {
      for image in images {
        let after = try image.makeVolume()
        let before = try after.liveBytes(of: "f")
        #expect(before == (try after.durableBytes(of: "f")))
        #expect(before.prefix(2048) == sectors(4, 1)[...], "round \(round), \(image)")
        let device = try after.open("f", .readWrite)
        let space = try device.map(capacity: 1 << 20)
        #expect(Array(UnsafeRawBufferPointer(start: space.base, count: before.count)) == before)
        #expect(space.base.load(fromByteOffset: before.count, as: UInt8.self) == 0)
        for place in [0, 1000, 5000, 100_000] { try device.write(sectors(3, 0xEE), at: UInt64(place)) }
        #expect(
          try after.crashImages(random: 2).allSatisfy { try !$0.makeVolume().liveBytes(of: "f").isEmpty })
      }
    }
    #expect(try volume.liveBytes(of: "f") == sectors(4, 1) + sectors(2, 2))
  }

  @Test func `killing a process frees its locks and leaves its writes in the cache`() throws {
    _ = try prepared()
    let first = volume.process(2)
    let second = volume.process(3)
    let lock = try first.lockForWriting("f")
    #expect(fault { _ = try first.lockForWriting("f") }?.kind == .lockedByThisProcess)
    #expect(fault { _ = try second.lockForWriting("f") }?.kind == .lockedByOtherProcess)
    let device = try first.open("f", .readWrite)
    try device.lockForReading()
    #expect(try volume.readerCount(of: "f") == 1)
    try device.write([8], at: 0)
    volume.kill(process: 2)
    #expect(fault { try device.sync() } != nil)
    device.close()
    #expect(try volume.readerCount(of: "f") == 0)
    let other = try second.lockForWriting("f")
    lock.unlock()
    #expect(fault { _ = try volume.lockForWriting("f") }?.kind == .lockedByOtherProcess)
    #expect(try second.open("f", .readOnly).read(1, at: 0) == [8])
    #expect(other.isOwnedByThisProcess)
    volume.fork()
    #expect(!other.isOwnedByThisProcess)
  }

  @Test func `a flipped bit is flipped live and on the disk`() throws {
    let device = try prepared()
    try device.write([5], at: 1)
    try volume.corrupt("f", at: 0, xor: 0x80)
    #expect(try device.read(2, at: 0) == [0x81, 5])
    #expect(try volume.durableBytes(of: "f").prefix(2) == [0x81, 1])
  }

  @Test func `after random operations, the durable bytes are the ones a plain model predicts`() throws {
    var random = SeededRandom(seed: SeededRandom.seed(42))
    let device = try volume.open("f", newFile)
    var live: [UInt8] = []
    var durable: [UInt8] = []
    for step in 0..<2000 {
      if random.oneIn(10) {
        try device.sync()
        durable = live
      } else {
        let bytes = random.bytes(1 + random.below(1500))
        let offset = random.below(20_000)
        try device.write(bytes, at: UInt64(offset))
        if live.count < offset + bytes.count {
          live += [UInt8](repeating: 0, count: offset + bytes.count - live.count)
        }
        live.replaceSubrange(offset..<offset + bytes.count, with: bytes)
      }
      if step % 50 == 0 {
        #expect(try volume.liveBytes(of: "f") == live, "\(random.replay)")
        #expect(try volume.durableBytes(of: "f") == durable, "\(random.replay)")
        let images = volume.crashImages(seed: UInt64(step), tearing: false)
        #expect(try images[images.startIndex].makeVolume().liveBytes(of: "f") == live, "\(random.replay)")
      }
    }
  }

  @Test func `a seed reproduces its numbers, which match SplitMix64`() {
    var random = SeededRandom(seed: 1_234_567)
    #expect(random.next() == 6_457_827_717_110_365_317)
    #expect(random.next() == 3_203_168_211_198_807_973)
    var counts = [Int](repeating: 0, count: 7)
    for _ in 0..<7000 { counts[random.below(7)] += 1 }
    #expect(counts.allSatisfy { $0 > 850 && $0 < 1150 })
    #expect(random.replay == "LATEWOOD_SEED=1234567")
  }
}
