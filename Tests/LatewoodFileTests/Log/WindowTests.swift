import LatewoodBytes
import LatewoodDevice
import LatewoodSimulation
import Testing

@testable import LatewoodFile

/// Bytes reported as readable can be touched: they are in memory, or were requested from the disk.
@Suite struct WindowTests {
  private static let pageLength: UInt64 = 4096
  private static let pages: UInt64 = 16 * 40 + 3

  private func pages(of range: Range<UInt64>) -> ClosedRange<UInt64> {
    range.lowerBound / Self.pageLength...(range.upperBound - 1) / Self.pageLength
  }

  @Test func `ranges of partly cached windows become readable, or throw`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    for round in 0..<200 {
      let volume = InjectingVolume()
      let device = try volume.open("a", .createExclusive(permissions: 0o600))
      let size = Self.pages * Self.pageLength - 100
      try [UInt8](repeating: 7, count: 1).withUnsafeBytes { try device.write($0, at: size - 1) }
      let mapping = try MappedFile(device, covering: size)
      let view = FileView(
        base: mapping.space.base, verified: mapping.space.verified, codec: UnitCodec(seed: 1), limit: size,
        owner: mapping)
      // Nearly all pages of some windows, few of others.
      let share = (0...Self.pages / 16).map { _ in [0, 1, 8, 15, 16][random.below(5)] }
      let cached = Set((0..<Self.pages).filter { random.below(16) < share[Int($0 / 16)] })
      let unreadable = Set((0..<Self.pages).filter { _ in random.below(30) == 0 })
      volume.plan.withLock { plan in
        plan.cached = cached
        plan.unreadable = round % 2 == 0 ? unreadable : []
      }
      var end: UInt64 = 0
      for _ in 0..<60 {
        // Half of all reads continue where the last one ended.
        let offset = random.below(2) == 0 && end < size ? end : UInt64(random.below(Int(size) - 1))
        let length = min([1, 500, 5000, 70_000, 200_000][random.below(5)], Int(size - offset))
        let range = offset..<offset + UInt64(length)
        end = range.upperBound
        let before = volume.plan.withLock { $0 }
        let cannot = pages(of: range).contains {
          before.unreadable.contains($0) && before.cached?.contains($0) == false
        }
        do throws(StorageError) {
          try view.makeReadable(offset, length)
          let now = volume.plan.withLock { $0.cached ?? [] }
          #expect(
            !cannot && pages(of: range).allSatisfy { now.contains($0) },
            "\(range) in round \(round); \(random.replay)")
        } catch {
          #expect(error.kind == .inputOutput && cannot, "\(range) in round \(round); \(random.replay)")
        }
      }
      device.close()
    }
  }

  @Test func `a sequential read of cached bytes asks the system once for several windows`() throws {
    let volume = InjectingVolume()
    let device = try volume.open("a", .createExclusive(permissions: 0o600))
    let windows: UInt64 = 64
    let length = AddressSpace.windowLength
    try [UInt8](repeating: 7, count: 1).withUnsafeBytes { try device.write($0, at: windows * length - 1) }
    let mapping = try MappedFile(device, covering: windows * length)
    let view = FileView(
      base: mapping.space.base, verified: mapping.space.verified, codec: UnitCodec(seed: 1),
      limit: windows * length,
      owner: mapping)
    volume.plan.withLock { $0.cached = Set(0..<windows * length / Self.pageLength) }
    for offset in stride(from: 0, to: windows * length, by: 4096) { try view.makeReadable(offset, 4096) }
    #expect(volume.plan.withLock { $0.questions } < Int(windows / 4))
    device.close()
  }

  // MARK: Files that are larger than memory

  /// A file of 64 windows, with no page in memory.
  private func withLargeFile(
    memory: UInt64?, _ body: (InjectingVolume, MappedFile, FileView) throws -> Void
  ) throws {
    let volume = InjectingVolume()
    let device = try volume.open("a", .createExclusive(permissions: 0o600))
    let length = 64 * AddressSpace.windowLength
    try [UInt8](repeating: 7, count: 1).withUnsafeBytes { try device.write($0, at: length - 1) }
    volume.plan.withLock { plan in
      plan.memory = memory
      plan.allocated = 200 << 20
      plan.cached = []
    }
    let mapping = try MappedFile(device, covering: length)
    mapping.compareWithMemory(log: length / 2)
    let view = FileView(
      base: mapping.space.base, verified: mapping.space.verified, codec: UnitCodec(seed: 1), limit: length,
      owner: mapping)
    try body(volume, mapping, view)
    device.close()
  }

  @Test func `random reads of a file larger than memory read nothing else`() throws {
    try withLargeFile(memory: 100 << 20) { volume, mapping, view in
      #expect(volume.plan.withLock { $0.random } == [32 * AddressSpace.windowLength])
      var expected: Set<UInt64> = []
      // Some distance apart, in random order.
      for number in 0..<16 as Range<UInt64> {
        let offset = number * 7 % 16 * 4 * AddressSpace.windowLength + 8000
        try view.makeReadable(offset, 5000)
        expected.formUnion(pages(of: offset..<offset + 5000))
        #expect(volume.plan.withLock { $0.ahead.last } == offset..<offset + 5000)
      }
      #expect(volume.plan.withLock { $0.cached } == expected)
      // A larger mapping elsewhere is told, too.
      _ = try mapping.grown(toCover: 64 << 20)
      #expect(volume.plan.withLock { $0.random.count } == 2)
    }
  }

  @Test func `a scan of a file larger than memory reads several windows together`() throws {
    try withLargeFile(memory: 100 << 20) { volume, _, view in
      // Nodes in one part of the file, values in another.
      let half = 32 * AddressSpace.windowLength
      for offset in stride(from: 0, to: half, by: 4096) {
        try view.makeReadable(offset, 4096)
        try view.makeReadable(half + offset, 4096)
      }
      #expect(volume.plan.withLock { $0.requests } < 16)
      #expect(volume.plan.withLock { $0.cached?.count } == 64 * 16)
    }
  }

  @Test(arguments: [200 << 20, nil])
  func `a file that fits in memory is read by windows`(_ memory: UInt64?) throws {
    try withLargeFile(memory: memory) { volume, mapping, view in
      try view.makeReadable(8000, 5000)
      #expect(volume.plan.withLock { $0.cached?.count } == 16)
      // It grows, which shows after the next checkpoint.
      volume.plan.withLock { $0.allocated = (200 << 20) + 1 }
      mapping.compareWithMemory(log: 4096)
      #expect(volume.plan.withLock { $0.random } == (memory == nil ? [] : [4096]))
      #expect(volume.plan.withLock { $0.ahead } == [])
    }
  }

  /// Evicted bytes are then made readable again, in one read.
  @Test(arguments: [0, 300.0])
  func `proofs in a file larger than memory soon expire`(_ lifetime: Double) throws {
    try withLargeFile(memory: 100 << 20) { _, mapping, view in
      mapping.setProofLifetime(seconds: lifetime)
      view.markVerified(128, 64, FileView.Proof.node)
      #expect(Patience.wait { !view.isVerified(128, FileView.Proof.node) })
    }
  }

  @Test func `eight sequences of reads are recognized, within a window and into the next`() {
    var sequences = ReadSequences()
    let take = { (start: UInt64, end: UInt64) in sequences.take(start..<start + 1, readingTo: end) }
    let starts = (0..<8).map { UInt64($0 * 100) }
    #expect(starts.filter { take($0, 0) } == [])
    #expect(starts.filter { take($0, $0 + 9) } == starts, "in the same window")
    #expect(starts.filter { take($0 + 9, $0 + 20) } == starts, "in the next")
    #expect(!take(5021, 0), "behind the next")
    #expect(!take(20, 0), "the oldest was replaced")
    #expect(take(719, 720), "the newest was not")
  }
}
