import LatewoodBytes
import LatewoodDevice
import LatewoodSimulation
import Testing

@testable import LatewoodFile

/// What is said to be readable can be touched: it is in memory, or the disk was asked for it.
@Suite struct WindowTests {
  private static let pageLength: UInt64 = 4096
  private static let pages: UInt64 = 16 * 40 + 3

  private func pages(of range: Range<UInt64>) -> ClosedRange<UInt64> {
    range.lowerBound / Self.pageLength...(range.upperBound - 1) / Self.pageLength
  }

  @Test func `ranges of windows that are partly in memory are readable, or throw if they are not`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    for round in 0..<200 {
      let volume = InjectingVolume()
      let device = try volume.open("a", .createExclusive(permissions: 0o600))
      let size = Self.pages * Self.pageLength - 100
      try [UInt8](repeating: 7, count: 1).withUnsafeBytes { try device.write($0, at: size - 1) }
      let mapping = try MappedFile(device, covering: size)
      let view = FileView(
        base: mapping.space.base, verified: mapping.space.verified, seed: 1, limit: size, owner: mapping)
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

  @Test func `reading a file in memory in order asks the system once for several windows`() throws {
    let volume = InjectingVolume()
    let device = try volume.open("a", .createExclusive(permissions: 0o600))
    let windows: UInt64 = 64
    let length = AddressSpace.windowLength
    try [UInt8](repeating: 7, count: 1).withUnsafeBytes { try device.write($0, at: windows * length - 1) }
    let mapping = try MappedFile(device, covering: windows * length)
    let view = FileView(
      base: mapping.space.base, verified: mapping.space.verified, seed: 1, limit: windows * length,
      owner: mapping)
    volume.plan.withLock { $0.cached = Set(0..<windows * length / Self.pageLength) }
    for offset in stride(from: 0, to: windows * length, by: 4096) { try view.makeReadable(offset, 4096) }
    #expect(volume.plan.withLock { $0.questions } < Int(windows / 4))
    device.close()
  }
}
