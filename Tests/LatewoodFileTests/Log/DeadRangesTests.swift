import LatewoodBytes
import LatewoodFile
import LatewoodSimulation
import Testing

/// Dead ranges of a file: which ranges join or make up a block, and which do not.
@Suite("Dead ranges")
struct DeadRangesTests {
  private func range(_ start: UInt64, _ end: UInt64, node: Bool = false) -> DeadRange {
    DeadRange(start: start, end: end, endsInNode: node)
  }

  private func joined(_ added: DeadRange..., isPadding: Bool = false) -> [Range<UInt64>] {
    var dead = DeadRanges()
    for one in added { dead.insert([one]) { _ in isPadding } }
    var atOnce = DeadRanges()
    atOnce.insert(added.reversed()) { _ in isPadding }
    #expect(dead.ranges == atOnce.ranges)
    return dead.ranges.map { $0.start..<$0.end }
  }

  @Test func `dead ranges join where they touch or overlap, and only there`() {
    #expect(joined(range(100, 200), range(200, 300)) == [100..<300])
    #expect(joined(range(100, 200), range(150, 180), range(199, 250)) == [100..<250])
    #expect(joined(range(100, 200), range(201, 300)) == [100..<200, 201..<300])
    #expect(joined(range(100, 200), range(208, 300), isPadding: true) == [100..<200, 208..<300])
  }

  @Test func `dead ranges join across the padding after a node, known or found`() {
    #expect(joined(range(64, 100, node: true), range(128, 200)) == [64..<200])
    #expect(joined(range(64, 136, node: true), range(192, 300)) == [64..<136, 192..<300])
    #expect(joined(range(64, 136, node: true), range(192, 300), isPadding: true) == [64..<300])
    #expect(joined(range(64, 136, node: true), range(256, 300), isPadding: true) == [64..<136, 256..<300])
  }

  @Test func `whole blocks are taken from dead ranges, and the rest is kept`() {
    var dead = DeadRanges()
    dead.insert([range(500, 2100), range(3000, 3100), range(4096, 4608)])
    #expect(dead.takeBlocks(of: 512) == [512..<2048, 4096..<4608])
    #expect(dead.ranges == [range(500, 512), range(2048, 2100), range(3000, 3100)])
    dead.insert([range(2100, 3000)])
    #expect(dead.takeBlocks(of: 512) == [2048..<3072])
    #expect(dead.ranges == [range(500, 512), range(3072, 3100)])
  }

  @Test func `a block is complete if only padding follows the last node in it`() {
    var dead = DeadRanges()
    dead.insert([range(512, 1000, node: true)])
    #expect(dead.takeBlocks(of: 512) == [])
    #expect(dead.takeBlocks(of: 512) { $0 == 1000..<1024 } == [512..<1024])
    dead.insert([range(2048, 2500)])
    #expect(dead.takeBlocks(of: 512) { _ in true } == [])
  }

  @Test func `dead ranges and blocks match a plain set of bytes`() {
    let seed = SeededRandom.seed()
    var random = SeededRandom(seed: seed)
    for _ in 0..<20 {
      var dead = DeadRanges()
      var bytes: Set<UInt64> = []
      for _ in 0..<20 {
        let added = (0..<random.below(12)).map { _ in
          let start = UInt64(random.below(4000))
          return range(start, start + UInt64(random.below(random.oneIn(3) ? 900 : 40)))
        }
        dead.insert(added)
        for one in added { bytes.formUnion(one.start..<one.end) }
        if random.oneIn(3) {
          let blocks = dead.takeBlocks(of: 256)
          var expected: [UInt64] = []
          for start: UInt64 in stride(from: 0, to: 5120, by: 256) {
            let block = start..<(start + 256)
            if bytes.isSuperset(of: block) { expected += Array(block) }
          }
          #expect(blocks.flatMap { Array($0) } == expected, "seed \(seed)")
          bytes.subtract(expected)
        }
        #expect(dead.ranges.flatMap { Array($0.start..<$0.end) } == bytes.sorted(), "seed \(seed)")
        #expect(zip(dead.ranges, dead.ranges.dropFirst()).allSatisfy { $0.end < $1.start }, "seed \(seed)")
      }
    }
  }

  @Test func `dead ranges of the log exclude the bytes that a tree refers to`() {
    var space = DeadSpace()
    space.addLive(extent: 600, length: 100)
    space.addLive(extent: 300, length: 50)
    space.addLive(extent: 350, length: 0)
    space.add(extent: 20_000, length: 5)
    // Impossible ranges are ignored.
    space.add(extent: 10, length: 5)
    space.add(extent: .max, length: 5)
    space.add(log: [range(200, 650), range(650, 900), range(1000, 1100)])
    #expect(
      space.ranges == [
        range(20_000, 20_005), range(200, 300), range(350, 600), range(700, 900), range(1000, 1100),
      ])
    #expect(space.length == 655)
  }
}
