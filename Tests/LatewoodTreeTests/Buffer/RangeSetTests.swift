import LatewoodBytes
import LatewoodSimulation
import Testing

@testable import LatewoodTree

/// Range deletes as a plain array has them: for each key of a small space the offset of the newest
/// that covers it.
private struct RangeModel: Equatable {
  static let keys = 300
  var covers = [UInt64](repeating: 0, count: keys)

  static func key(_ number: Int) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 255)] }

  mutating func add(_ low: Int, _ high: Int, _ offset: UInt64) {
    for number in low..<max(low, min(high, RangeModel.keys)) { covers[number] = offset }
  }

  /// What the set of such range deletes has: runs of keys with one offset.
  func agrees(with set: RangeSet) -> Bool {
    var found = RangeModel()
    var last: RangeSet.Interval?
    var count = 0
    var next = set.firstEnding(after: [])
    while let interval = next {
      if let last, !(RangeSet.less(last.low, interval.low) && !RangeSet.less(interval.low, last.high)) {
        return false
      }
      guard RangeSet.less(interval.low, interval.high) else { return false }
      found.add(Self.number(interval.low), Self.number(interval.high), interval.offset)
      last = interval
      count += 1
      next = set.firstEnding(after: interval.high)
    }
    let covered = (0..<RangeModel.keys).map { number in
      Self.key(number).withUnsafeBytes { bytes in
        bytes.baseAddress.map { set.cover($0, bytes.count) } ?? 0
      }
    }
    return found == self && covered == covers && count == set.count
  }

  private static func number(_ key: [UInt8]) -> Int { key.reduce(0) { $0 << 8 | Int($1) } }
}

@Suite struct RangeSetTests {
  @Test func `random overlapping ranges cover what a plain array says, and older sets stay as they were`() {
    var random = SeededRandom(seed: SeededRandom.seed())
    for _ in 0..<20 {
      var set = RangeSet()
      var model = RangeModel()
      var kept: [(RangeSet, RangeModel)] = []
      for step in 1...300 {
        let low = random.below(RangeModel.keys)
        // Short and long ones, empty ones, and such that end before they begin.
        let high = random.oneIn(10) ? random.below(RangeModel.keys) : low + random.below(20)
        set = set.adding(low: RangeModel.key(low), high: RangeModel.key(high), offset: UInt64(step))
        model.add(low, high, UInt64(step))
        if random.oneIn(20) { kept.append((set, model)) }
      }
      #expect(model.agrees(with: set), "\(random.replay)")
      for (set, model) in kept { #expect(model.agrees(with: set), "\(random.replay)") }
    }
  }

  @Test(arguments: [1, 2, 3]) func `a tree of many ranges is no higher than its logarithm`(_ order: Int) {
    var random = SeededRandom(seed: SeededRandom.seed())
    let total = 20_000
    var set = RangeSet()
    for step in 0..<total {
      let number =
        switch order {
        case 1: step
        case 2: total - step
        default: random.below(1 << 24)
        }
      let low = UInt64(number).bigEndianBytes
      set = set.adding(low: low, high: low + [1], offset: UInt64(step + 1))
    }
    #expect(set.count > total * 9 / 10)
    // An AVL tree of n nodes has a height below 1.45 log2(n + 2).
    #expect(set.height <= 21, "\(random.replay)")
  }
}
