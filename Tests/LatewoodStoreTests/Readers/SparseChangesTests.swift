import LatewoodSimulation
import Testing

@testable import LatewoodStore

/// Scans of a tree to which few changes are pending: most leaves are returned whole.
@Suite struct SparseChangesTests {
  private static func key(_ number: Int) -> [UInt8] { Array("key \(1_000_000 + number)".utf8) }

  private static func entries(
    of store: Store, _ range: KeyRange, in space: Keyspace, limit: Int
  ) throws -> [[UInt8]] {
    var found: [[UInt8]] = []
    try store.forEach(in: space, range) { key, value in
      found.append(key.withUnsafeBytes { Array($0) } + value.withUnsafeBytes { Array($0) })
      return found.count < limit
    }
    return found
  }

  /// Like `entries`, by batches.
  private static func batches(
    of store: Store, _ range: KeyRange, in space: Keyspace, limit: Int
  ) throws -> [[UInt8]] {
    var found: [[UInt8]] = []
    try store.held().scanBatches(space, range) { batch in
      for entry in batch.prefix(limit - found.count) { found.append(Array(entry.key) + Array(entry.value)) }
      return found.count < limit
    }
    return found
  }

  /// With `isFrozen`, a checkpoint fails between the two rounds of changes, so that both write
  /// buffers contain some.
  @Test(arguments: [1, 7, 100, 1000], [false, true])
  func `a scan returns every change in order`(_ distance: Int, _ isFrozen: Bool) throws {
    let volume = SimulatedVolume()
    var random = SeededRandom(seed: SeededRandom.seed())
    var options = Store.Options()
    options.checkpointsInBackground = false
    let store = try Store.open(
      at: "db", on: volume, mode: .openOrCreate, options: options, environment: .system)
    let space = try store.keyspace("a")
    let other = try store.keyspace("b")
    var model: [Int: [UInt8]] = [:]
    func put(_ number: Int, _ value: [UInt8], _ transaction: Transaction) throws {
      model[number] = value
      try transaction.put(Self.key(number), value, in: space)
    }
    try store.write { transaction in
      for number in stride(from: 0, to: 8000, by: 2) {
        let length = Int(random.next() % 30)
        try put(number, [UInt8](repeating: UInt8(number % 251), count: length), transaction)
      }
      try transaction.put("before", "x", in: other)
    }
    try store.checkpoint()
    for round in 0..<2 {
      try store.write { transaction in
        for number in stride(from: Int(random.next() % 50), to: 8200, by: distance) {
          switch random.next() % 3 {
          case 0: try put(number, [9, UInt8(round)], transaction)
          case 1: try put(number + 1, [8], transaction)
          default:
            model[number] = nil
            try transaction.delete(Self.key(number), in: space)
          }
        }
      }
      let numbers = model.keys.sorted()
      for _ in 0..<60 {
        let low = Int(random.next() % 8200)
        let high = low + Int(random.next() % 4000)
        let limit = Int(random.next() % 5) == 0 ? 1 + Int(random.next() % 200) : .max
        let wanted = numbers.filter { $0 >= low && $0 < high }.prefix(limit)
          .map { Self.key($0) + (model[$0] ?? []) }
        let range = KeyRange.between(Self.key(low), Self.key(high))
        #expect(
          try Self.entries(of: store, range, in: space, limit: limit) == wanted,
          "\(low)..<\(high), \(limit) entries; \(random.replay)")
        #expect(
          try Self.batches(of: store, range, in: space, limit: limit) == wanted,
          "\(low)..<\(high), \(limit) entries by batches; \(random.replay)")
      }
      if isFrozen, round == 0 {
        try store.sync()
        volume.spaceLimit = try volume.liveBytes(of: "db").count
        #expect(throws: StoreError.self) { try store.checkpoint() }
        volume.spaceLimit = nil
      }
      #expect(try store.statistics().isCheckpointing == isFrozen)
      let wanted = numbers.map { Self.key($0) + (model[$0] ?? []) }
      #expect(try Self.entries(of: store, .all, in: space, limit: .max) == wanted, "\(random.replay)")
      #expect(try Self.batches(of: store, .all, in: space, limit: .max) == wanted, "\(random.replay)")
    }
    try store.close()
  }
}
