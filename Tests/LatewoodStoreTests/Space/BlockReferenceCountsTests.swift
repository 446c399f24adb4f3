import LatewoodFile
import LatewoodSimulation
import Testing

@testable import LatewoodStore

@Suite struct BlockReferenceCountsTests {
  @Test func `a block is free when no claim covers a byte of it, after any adds and removes`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    let limit = 16384 + 40_000 + random.below(64)
    var claims = try #require(BlockReferenceCounts(limit: UInt64(limit)))
    var model = [Int](repeating: 0, count: limit)
    var added: [Range<Int>] = []
    func range(_ range: Range<Int>) -> DeadRange {
      DeadRange(start: UInt64(range.lowerBound), end: UInt64(range.upperBound), endsInNode: false)
    }
    for step in 0..<2000 {
      if added.count < 12, !random.oneIn(3) || added.isEmpty {
        let start = 16384 + random.below(limit - 16384)
        let part = start..<min(limit, start + random.below(random.oneIn(4) ? 20_000 : 300))
        guard claims.add(range(part)) else { continue }
        added.append(part)
        for byte in part { model[byte] += 1 }
      } else {
        let part = added.remove(at: random.below(added.count))
        // In one piece or two.
        let middle = part.isEmpty ? part.lowerBound : part.lowerBound + random.below(part.count)
        for piece in [part.lowerBound..<middle, middle..<part.upperBound] { claims.remove(range(piece)) }
        for byte in part { model[byte] -= 1 }
      }
      let block = 4096 * random.below(limit / 4096)
      let bytes = block..<min(limit, block + 4096)
      #expect(
        claims.isFree(UInt64(bytes.lowerBound)..<UInt64(bytes.upperBound))
          == model[bytes].allSatisfy { $0 == 0 }, "\(step), \(random.replay)")
    }
  }

  @Test func `claims across regions of 64 MiB are counted as in one region`() throws {
    let region: UInt64 = 64 << 20
    // 100 GiB: only the regions that claims touch take memory.
    var claims = try #require(BlockReferenceCounts(limit: 100 << 30))
    let range = DeadRange(start: region - 5000, end: 3 * region + 1, endsInNode: false)
    #expect(claims.endOfEmptyRegion(at: region - 5000) == region)
    let isTaken = claims.add(range)
    #expect(isTaken)
    for (free, isFree) in [
      (region - 12_288..<region - 8192, true), (region - 8192..<region - 4096, false),
      (2 * region..<2 * region + 4096, false), (3 * region..<3 * region + 4096, false),
      (3 * region + 4096..<3 * region + 8192, true), (5 * region..<6 * region, true),
      (region - 12_288..<region, false), (3 * region + 4096..<90 * region, true),
      (region / 2..<90 * region, false),
    ] {
      #expect(claims.isFree(free) == isFree, "\(free)")
    }
    #expect(claims.endOfEmptyRegion(at: 3 * region + 4096) == nil)
    #expect(claims.endOfEmptyRegion(at: 4 * region + 4096) == 5 * region)
    claims.remove(range)
    #expect(claims.isFree(region - 12_288..<90 * region))
  }

  @Test func `claims that cannot lie in the file are refused`() throws {
    var claims = try #require(BlockReferenceCounts(limit: 100_000))
    for (start, end) in [(0, 4096), (16383, 20_000), (90_000, 100_001), (100_001, 100_001), (30_000, 20_000)]
    {
      let isTaken = claims.add(DeadRange(start: UInt64(start), end: UInt64(end), endsInNode: false))
      #expect(!isTaken, "\(start)")
    }
    let isTaken = claims.add(DeadRange(start: 16384, end: 100_000, endsInNode: true))
    #expect(isTaken)
    // Blocks behind the limit are not counted.
    #expect(claims.isFree(102_400..<106_496))
    #expect(!claims.isFree(98_304..<102_400))
    #expect(BlockReferenceCounts(limit: 1 << 48) == nil)
  }

  @Test func `a block with too many claims never becomes free again`() throws {
    var claims = try #require(BlockReferenceCounts(limit: 1 << 20))
    let block = DeadRange(start: 32_768, end: 36_864, endsInNode: false)
    for _ in 0..<20 {
      let isTaken = claims.add(block)
      #expect(isTaken)
    }
    for _ in 0..<30 { claims.remove(block) }
    #expect(!claims.isFree(32_768..<36_864))
    // The whole file cannot be claimed again and again.
    var count = 0
    while claims.add(DeadRange(start: 16384, end: 1 << 20, endsInNode: false)) { count += 1 }
    #expect(count < 3)
  }
}
