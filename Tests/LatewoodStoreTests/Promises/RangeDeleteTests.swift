import LatewoodDevice
import LatewoodSimulation
import LatewoodStore
import Testing

/// Many range deletes since the last checkpoint.
@Suite struct RangeDeleteTests {
  private static let keys = 4000

  private static func key(_ number: Int) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 255)] }

  private static func range(_ numbers: Range<Int>) -> KeyRange {
    .between(key(numbers.lowerBound), key(numbers.upperBound))
  }

  private static func number(_ key: [UInt8]) -> Int { key.reduce(0) { $0 << 8 | Int($1) } }

  /// Whether counts, ranks and entries agree with the model, in total and in random ranges.
  private static func agree(
    _ store: some Readable, _ keyspace: Keyspace, _ model: Set<Int>, _ random: inout SeededRandom
  ) throws -> Bool {
    let sorted = model.sorted()
    guard try store.entries(in: keyspace).map({ number($0.key) }) == sorted else { return false }
    for _ in 0..<20 {
      let low = random.below(keys)
      let part = low..<min(keys, low + 1 + random.below(random.oneIn(2) ? 50 : keys))
      let expected = sorted.filter { part.contains($0) }
      guard try store.count(in: keyspace, range(part)) == expected.count else { return false }
      for index in [0, expected.count / 2, expected.count - 1, expected.count] {
        let found = try store.key(at: max(0, index), in: keyspace, range(part)).map(number)
        guard found == (expected.indices.contains(max(0, index)) ? expected[max(0, index)] : nil) else {
          return false
        }
      }
    }
    return true
  }

  @Test func `thousands of range deletes between puts match a plain set`() throws {
    let directory = try StoreDirectory()
    var random = SeededRandom(seed: SeededRandom.seed())
    var options = Store.Options()
    options.durability = .relaxed
    options.nodeSize = 1024
    options.checkpointsInBackground = false
    let store = try Store.open(
      at: directory.store, on: FileVolume(), mode: .openOrCreate, options: options, environment: .system)
    let keyspace = try store.keyspace("a")
    var model: Set<Int> = []
    var kept: [(snapshot: Snapshot, model: Set<Int>)] = []
    for round in 0..<3 {
      try store.write { transaction in
        for number in 0..<Self.keys where !random.oneIn(4) {
          try transaction.put(Self.key(number), [UInt8(round)], in: keyspace)
          model.insert(number)
        }
      }
      try store.checkpoint()
      for _ in 0..<40 {
        try store.write { transaction in
          for _ in 0..<50 {
            let low = random.below(Self.keys)
            let part = low..<min(Self.keys, low + 1 + random.below(4))
            try transaction.deleteRange(Self.range(part), in: keyspace)
            model.subtract(part)
            let number = random.below(Self.keys)
            try transaction.put(Self.key(number), [UInt8(round)], in: keyspace)
            model.insert(number)
          }
        }
      }
      #expect(try store.statistics().pendingRanges > 500)
      kept.append((try store.snapshot(), model))
      #expect(try Self.agree(store, keyspace, model, &random), "\(random.replay)")
    }
    try store.checkpoint()
    #expect(try Self.agree(store, keyspace, model, &random), "\(random.replay)")
    for (snapshot, model) in kept {
      #expect(try Self.agree(snapshot, keyspace, model, &random), "\(random.replay)")
      snapshot.close()
    }
    #expect(try store.verify().faults.isEmpty)
    try store.close()
  }
}
