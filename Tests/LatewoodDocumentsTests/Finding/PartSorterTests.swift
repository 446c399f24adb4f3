import LatewoodConcurrency
import LatewoodQuery
import LatewoodSimulation
import Testing

/// Sorting in parts that fit into memory, compared with sorting everything.
@Suite struct PartSorterTests {
  /// Counts the memory of all entries that exist.
  private final class Meter: Sendable {
    private let bytes = Guarded((now: 0, most: 0))

    var most: Int { bytes.withLock { $0.most } }

    func add(_ count: Int) {
      bytes.withLock { bytes in
        bytes.now += count
        bytes.most = max(bytes.most, bytes.now)
      }
    }
  }

  private final class Content: Sendable {
    let number: Int
    let byteCount: Int
    private let meter: Meter

    init(_ number: Int, _ byteCount: Int, _ meter: Meter) {
      (self.number, self.byteCount, self.meter) = (number, byteCount, meter)
      meter.add(byteCount)
    }

    deinit { meter.add(-byteCount) }
  }

  private struct Entry: SortedEntry {
    let content: Content
    var byteCount: Int { content.byteCount }

    static func precedes(_ left: Entry, _ right: Entry) -> Bool { left.content.number < right.content.number }
  }

  @Test func `the parts are in order, without repetitions, and stay within count and memory`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    for _ in 0..<400 {
      let numbers = (0..<random.below(300)).map { _ in random.below(200) }
      let wanted = random.oneIn(2) ? nil : random.below(250)
      let memory = random.pick([1, 30, 200, 1000, 1 << 20])
      let longest = random.pick([1, 10, 100])
      let stop = random.oneIn(3) ? random.below(100) : .max
      let meter = Meter()
      var (taken, parts): ([Int], Int) = ([], 0)
      try PartSorter<Entry>.sort(limit: wanted, memory: memory) { sorter in
        parts += 1
        for number in numbers { try sorter.add(Entry(content: Content(number, 1 + number % longest, meter))) }
      } _: { entry in
        taken.append(entry.content.number)
        return taken.count < stop
      }
      let expected = Set(numbers).sorted().prefix(min(wanted ?? .max, max(stop, 1)))
      #expect(taken == Array(expected), "\(random.replay)")
      let total = Set(numbers).reduce(0) { $0 + 1 + $1 % longest }
      if memory >= numbers.count * longest { #expect(parts <= 1) }
      // The entry that leads to a cut, the bounds of a part, and the entry being added.
      #expect(meter.most <= memory + 4 * longest, "\(meter.most) \(memory) \(random.replay)")
      if taken.count == expected.count, stop == .max, wanted == nil, total > 2 * memory + 4 * longest {
        #expect(parts > 1)
      }
    }
  }
}
