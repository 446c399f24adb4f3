import LatewoodSimulation
import LatewoodStore
import Testing

@testable import LatewoodTool

/// `diff` finds the differences between two states, of one file or of two.
@Suite struct StateComparisonTests {
  private func differences(_ comparison: StateComparison) throws -> [String] {
    var found: [String] = []
    for name in try comparison.keyspaces() {
      try comparison.run(in: name) { difference in
        found.append("\(name) \(difference.kind) \(String(decoding: difference.key, as: UTF8.self))")
        return true
      }
    }
    return found
  }

  @Test func `comparing states of one file and of two gives the same result`() throws {
    let directory = try ToolDirectory()
    let seed = SeededRandom.seed()
    var random = SeededRandom(seed: seed)
    try directory.makeDatabase("a", count: 100)
    var options = Store.Options()
    options.punchesHoles = false
    options.compaction = .manual
    try directory.write(try directory.bytes(of: "a"), to: "old")
    let store = try Store.open(at: directory.file("a"), options: options)
    let first = try store.snapshot()
    var model: [String: String] = [:]
    let fruit = try store.keyspace("fruit")
    for _ in 0..<60 {
      let key = "key-0\(random.below(10))\(random.below(10))\(random.oneIn(4) ? "b" : "")"
      let before = model[key] ?? (key.hasSuffix("b") ? "" : "there")
      if random.oneIn(3) {
        try store.delete(key, in: fruit)
        model[key] = key.hasSuffix("b") ? nil : "removed"
      } else {
        try store.put(key, "new", in: fruit)
        model[key] = key.hasSuffix("b") ? "added" : "changed"
      }
      _ = before
    }
    try store.dropKeyspace(try store.keyspace("roots"))
    try store.put("x", "y", in: try store.keyspace("leaves"))
    try store.checkpoint()
    let expected =
      model.sorted { $0.key < $1.key }.map { "fruit \($0.value) \($0.key)" } + ["leaves added x"]
      + (0..<100).map { "roots removed key-\(String(1000 + $0).dropFirst())" }
    let one = StateComparison(
      old: first, new: try store.snapshot(), areOfOneFile: true, areDocuments: false)
    #expect(try differences(one) == expected, "\(random.replay)")
    let other = try Store.open(at: directory.file("old"), mode: .readOnly)
    let two = StateComparison(
      old: try other.snapshot(), new: try store.snapshot(), areOfOneFile: false, areDocuments: false)
    #expect(try differences(two) == expected, "\(random.replay)")
    let same = StateComparison(
      old: try other.snapshot(), new: first, areOfOneFile: false, areDocuments: false)
    #expect(try differences(same).isEmpty)
    #expect(try store.verify().isSound)
    try other.close()
    try store.close()
  }

  @Test func `a watch counts the events between two samples`() throws {
    let directory = try ToolDirectory()
    try directory.makeDatabase("a", count: 100)
    var options = Store.Options()
    options.checkpointsInBackground = false
    options.compaction = .manual
    let store = try Store.open(at: directory.file("a"), options: options)
    let fruit = try store.keyspace("fruit")
    let database = try Database.open(path: directory.file("a"), .readOnly)
    var watch = StatisticsWatch(database)
    let first = try watch.sample()
    #expect(first.commitsPerSecond == nil && first.space.hasWriter)
    for index in 0..<5 { try store.put("k\(index)", "v", in: fruit) }
    let second = try watch.sample()
    #expect(second.statistics.transaction == first.statistics.transaction + 5)
    #expect(second.commitsPerSecond ?? 0 > 0 && second.bytesPerSecond ?? 0 > 0)
    #expect(second.statistics.pendingEntries == 5 && second.checkpoints == 0)
    try store.checkpoint()
    let third = try watch.sample()
    #expect(third.checkpoints == 1 && third.compactions == 0 && third.commitsPerSecond == 0)
    try store.compact()
    try store.put("after", "v", in: fruit)
    let fourth = try watch.sample()
    #expect(fourth.compactions == 1 && fourth.statistics.fileID != first.statistics.fileID)
    #expect(fourth.statistics.transaction == third.statistics.transaction + 1)
    for sample in [first, second, third, fourth] { #expect(DisplayWidth.of(sample.row) <= 80) }
    try database.store.close()
    try store.close()
  }
}
