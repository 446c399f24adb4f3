import LatewoodFleece
import LatewoodSimulation
import LatewoodStore
import Testing

@testable import LatewoodDocuments

/// The sums that views keep with their rows.
@Suite struct ViewSumsTests {
  private let store: DocumentStore
  private let collection: CollectionHandle

  init() throws {
    store = try DocumentStore.inMemory(options: TestClock().options())
    collection = try store.createCollection("numbers")
  }

  private func save(_ numbers: some Sequence<Int>, _ value: (Int) -> Int) throws {
    try store.write(durability: .relaxed) { [collection] writer in
      for number in numbers {
        let body = try JSON.fleece(from: #"{"k":\#(number),"v":\#(value(number))}"#)
        _ = try writer.save(
          "doc \(number)", in: collection, body: body, parent: nil, policy: .lastWriteWins)
      }
    }
  }

  private func range(_ low: Int?, _ high: Int?) throws -> ViewRange {
    var range = ViewRange()
    range.start = try low.map { ViewRange.End(try SampleView.key("\($0)")) }
    range.end = try high.map { ViewRange.End(try SampleView.key("\($0)")) }
    range.includesEnd = false
    return range
  }

  /// The sum of the rows, added one by one.
  private func scanned(_ range: ViewRange, _ reads: ViewReads) throws -> ViewStatistics {
    var stats = ViewStatistics()
    try reads.forEachRow(in: range) { row in
      stats.add(try row.number())
      return true
    }
    return stats
  }

  @Test func `sums match the rows after random changes, in every range`() throws {
    let seed = SeededRandom.seed()
    var random = SeededRandom(seed: seed)
    let view = SampleView.values("sums", version: 1, .stats)
    try store.register(view, of: collection)
    let keys = Effort.count(4000, low: 900)
    for round in 0..<Effort.count(40, low: 10) {
      let start = random.below(keys)
      let count = random.below([3, 40, keys][random.below(3)])
      if random.below(3) == 0 {
        try store.write(durability: .relaxed) { [collection] writer in
          for number in start..<start + count { _ = try writer.purge("doc \(number)", in: collection) }
        }
      } else {
        let factor = random.below(100)
        try save(start..<start + count) { $0 % 17 * factor - 50 }
      }
      let reads = try store.reads(view, of: collection)
      for _ in 0..<20 {
        let (low, high) = (random.below(keys), random.below(keys * 2))
        let ends = (random.below(4) == 0 ? nil : min(low, high), random.below(4) == 0 ? nil : max(low, high))
        let wanted = try range(ends.0, ends.1)
        #expect(
          try reads.stats(in: wanted) == scanned(wanted, reads), "\(ends), round \(round); \(random.replay)")
      }
      if round % 5 == 0 {
        #expect(try store.verify(deep: true).faults == [], "round \(round); \(random.replay)")
      }
    }
    // All rows are deleted, and no sums remain.
    try store.write { [collection] writer in
      for number in 0..<keys * 2 { _ = try writer.purge("doc \(number)", in: collection) }
    }
    let sums = try #require(try store.store.existingKeyspace("sums/numbers/1"))
    #expect(try store.store.count(in: sums) == 0)
    #expect(try store.reads(view, of: collection).stats() == ViewStatistics())
  }

  @Test func `the stored sums depend only on the rows`() throws {
    try save(0..<700) { $0 }
    let early = SampleView.values("early", version: 1, .sum)
    let late = SampleView.values("late", version: 1, .sum)
    try store.register(early, of: collection)
    _ = try store.reads(early, of: collection)
    for start in stride(from: 690, to: 0, by: -70) {
      try save(start..<start + 90) { $0 * 2 }
      try store.write { [collection] writer in _ = try writer.purge("doc \(start)", in: collection) }
    }
    try store.register(late, of: collection)
    _ = try store.reads(late, of: collection)
    func entries(_ number: Int) throws -> [[UInt8]] {
      let sums = try #require(try store.store.existingKeyspace("sums/numbers/\(number)"))
      return try store.store.entries(in: sums).map { $0.key + [0] + $0.value }
    }
    #expect(try entries(1).count > 30)
    #expect(try entries(1) == entries(2))
  }

  @Test func `a range reads a logarithmic number of sums`() throws {
    let count = Effort.count(60_000, low: 12_000)
    let view = SampleView.values("sums", version: 1, .sum)
    try store.register(view, of: collection)
    for start in stride(from: 0, to: count, by: 3000) { try save(start..<start + 3000) { _ in 1 } }
    let reads = try store.reads(view, of: collection)
    let sums = ViewSums(rows: reads.view.rows, sums: try #require(reads.view.sums))
    var (total, walks) = (0, 0)
    for low in stride(from: 1, to: count / 2, by: count / 100) {
      var walk = ViewSumWalk(sums, reads.reads.source)
      let high = count - low * 2 / 3
      #expect(try walk.stats(in: range(low, high).keys()).count == high - low)
      total += walk.visited
      walks += 1
    }
    // About 15 on either side at each of four levels, regardless of the number of rows.
    #expect(total / walks < 200, "\(total) sums and rows in \(walks) walks")
    print("ViewSumsTests: \(total / walks) sums and rows for a range of \(count) rows on average")
  }

  @Test func `verification finds missing, extra and wrong sums`() throws {
    let view = SampleView.values("sums", version: 1, .sum)
    try store.register(view, of: collection)
    try save(0..<400) { $0 }
    _ = try store.reads(view, of: collection)
    #expect(try store.verify(deep: true).faults == [])
    let sums = try #require(try store.store.existingKeyspace("sums/numbers/1"))
    let all = try store.store.entries(in: sums).map { $0 }
    let first = try #require(all.first { $0.key.count > 1 })
    let sentinel = try #require(all.first { $0.key.count == 1 })
    func faults(_ change: @escaping (Transaction) throws -> Void) throws -> Int {
      try store.store.write { try change($0) }
      let count = try store.verify(deep: true).faults.count
      // Damage ends in errors, not in traps.
      do { _ = try store.reads(view, of: collection).stats() } catch {}
      do { _ = try store.reads(view, of: collection).stats(in: range(30, 300)) } catch {}
      try store.store.write { transaction in
        try transaction.deleteRange(.all, in: sums)
        for entry in all { try transaction.put(entry.key, entry.value, in: sums) }
      }
      #expect(try store.verify(deep: true).faults == [])
      return count
    }
    #expect(try faults { try $0.delete(first.key, in: sums) } > 0)
    #expect(try faults { try $0.delete(sentinel.key, in: sums) } > 0)
    #expect(try faults { try $0.put(first.key, sentinel.value, in: sums) } > 0)
    #expect(try faults { try $0.put(first.key + [0], first.value, in: sums) } > 0)
    #expect(try faults { try $0.put([13, 1], first.value, in: sums) } > 0)
    #expect(try faults { try $0.put([0, 1], first.value, in: sums) } > 0)
    for length in 0..<first.value.count {
      #expect(try faults { try $0.put(first.key, first.value.prefix(length), in: sums) } > 0)
    }
  }
}
