import LatewoodBytes
import LatewoodSimulation
import Testing

@testable import LatewoodTree

/// A model of range deletes: for each key of a small space, the offset of the newest range delete
/// that covers it.
private struct RangeModel: Equatable {
  static let keys = 300
  var covers = [UInt64](repeating: 0, count: keys)

  static func key(_ number: Int) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 255)] }

  mutating func add(_ low: Int, _ high: Int, _ offset: UInt64) {
    for number in low..<max(low, min(high, RangeModel.keys)) { covers[number] = offset }
  }

  /// Whether a set has the same ranges: the runs of keys with one offset.
  func agrees(with set: RangeTombstones) -> Bool {
    var found = RangeModel()
    var last: RangeTombstones.Interval?
    var count = 0
    var next = set.firstEnding(after: [])
    while let interval = next {
      if let last,
        !(RangeTombstones.less(last.low, interval.low) && !RangeTombstones.less(interval.low, last.high))
      {
        return false
      }
      guard RangeTombstones.less(interval.low, interval.high) else { return false }
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

@Suite struct RangeTombstonesTests {
  @Test func `random overlapping ranges match a plain array, and older sets stay unchanged`() {
    var random = SeededRandom(seed: SeededRandom.seed())
    for _ in 0..<20 {
      var set = RangeTombstones()
      var model = RangeModel()
      var kept: [(RangeTombstones, RangeModel)] = []
      for step in 1...300 {
        let low = random.below(RangeModel.keys)
        // Short and long ranges, empty ones, and ones that end before they begin.
        let high = random.oneIn(10) ? random.below(RangeModel.keys) : low + random.below(20)
        set = set.adding(low: RangeModel.key(low), high: RangeModel.key(high), offset: UInt64(step))
        model.add(low, high, UInt64(step))
        if random.oneIn(20) { kept.append((set, model)) }
      }
      #expect(model.agrees(with: set), "\(random.replay)")
      for (set, model) in kept { #expect(model.agrees(with: set), "\(random.replay)") }
    }
  }

  @Test(arguments: [1, 2, 3]) func `a tree of many ranges has logarithmic height`(_ order: Int) {
    var random = SeededRandom(seed: SeededRandom.seed())
    let total = 20_000
    var set = RangeTombstones()
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

@Suite struct RangeCountingTests {
  /// Counts the keys of an interval: each key of the space exists below the buffer.
  private func count(_ interval: RangeTombstones.Interval) -> Int {
    interval.high.reduce(0) { $0 << 8 | Int($1) } - interval.low.reduce(0) { $0 << 8 | Int($1) }
  }

  @Test func `the ranges between two bounds are summed, and each is counted once`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    for _ in 0..<20 {
      var set = RangeTombstones()
      var model = RangeModel()
      var kept: [(RangeTombstones, RangeModel)] = []
      for step in 1...200 {
        let low = random.below(RangeModel.keys)
        let high = random.oneIn(10) ? random.below(RangeModel.keys) : low + random.below(20)
        set = set.adding(
          low: RangeModel.key(low), high: RangeModel.key(min(high, RangeModel.keys)), offset: UInt64(step))
        model.add(low, high, UInt64(step))
        if random.oneIn(20) { kept.append((set, model)) }
        for (set, model) in [(set, model)] + kept.suffix(1) {
          // Bounds that lie in no interval, or at the start or end of one.
          let bounds = (0..<RangeModel.keys).filter { number in
            let before = number > 0 ? model.covers[number - 1] : 0
            return model.covers[number] == 0 || model.covers[number] != before
          }
          guard let low = bounds.randomElement(using: &random),
            let high = bounds.randomElement(using: &random),
            low < high
          else { continue }
          let found = try set.hidden(low: RangeModel.key(low), high: RangeModel.key(high)) { count($0) }
          #expect(found == model.covers[low..<high].filter { $0 > 0 }.count, "\(random.replay)")
        }
      }
      var calls = 0
      let (first, last) = (RangeModel.key(0), RangeModel.key(RangeModel.keys))
      let counting: (RangeTombstones.Interval) -> Int = { interval in
        calls += 1
        return count(interval)
      }
      _ = try set.hidden(low: first, high: last, counting)
      calls = 0
      _ = try set.hidden(low: first, high: last, counting)
      #expect(calls == 0)
      let next = set.adding(low: RangeModel.key(10), high: RangeModel.key(12), offset: 1000)
      _ = try next.hidden(low: first, high: last, counting)
      // The new interval, and the remainders of one or two others.
      #expect(calls <= 3, "\(random.replay)")
    }
  }
}
