import LatewoodSimulation
import Testing

@testable import LatewoodStore

/// Reads that begin at the position of the previous read.
@Suite struct NearbyReadTests {
  private static let count = 6000

  private static func key(_ number: Int) -> [UInt8] { Array("key \(100_000 + number)".utf8) }

  /// Every third key is missing.
  private func fill(_ store: Store) throws -> Keyspace {
    let space = try store.keyspace("s")
    let other = try store.keyspace("t")
    try store.write { transaction in
      for number in 0..<Self.count where number % 3 != 1 {
        try transaction.put(Self.key(number), "value \(number)", in: space)
        try transaction.put(Self.key(number), "other", in: other)
      }
    }
    return space
  }

  private func compare(_ store: Store, _ space: Keyspace, _ note: Comment) throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    let state = try store.held()
    var nearby = try #require(try NearbyReads(state, in: space))
    let upwards = Array(-1...Self.count)
    let scattered = (0..<Self.count).map { _ in random.below(Self.count) }
    for number in upwards + upwards.reversed() + scattered {
      let key = Self.key(number)
      let found = try key.withUnsafeBytes { try nearby.find($0) }.map { Array($0) }
      let expected = try store.get(key, in: space)
      if found != expected { Issue.record("\(note): the value of key \(number); \(random.replay)") }
    }
    withExtendedLifetime(state) {}
  }

  @Test func `a nearby lookup finds the same as a single read`() throws {
    let store = try Store.inMemory()
    let space = try fill(store)
    try compare(store, space, "in the write buffer")
    try store.checkpoint()
    try compare(store, space, "in the tree")
    try store.write { transaction in
      for number in stride(from: 0, to: Self.count, by: 7) {
        try transaction.delete(Self.key(number), in: space)
      }
      for number in stride(from: 1, to: Self.count, by: 21) {
        try transaction.put(Self.key(number), "later", in: space)
      }
      try transaction.deleteRange(.between(Self.key(1000), Self.key(2000)), in: space)
    }
    try compare(store, space, "in both")
  }

  @Test func `an empty tree has no nearby keys`() throws {
    let store = try Store.inMemory()
    let space = try store.keyspace("s")
    try compare(store, space, "empty")
  }

  @Test func `a file read through a cache has no nearby lookups`() throws {
    let directory = try StoreDirectory()
    var options = Store.Options()
    options.reading = .buffered(cacheBytes: 1 << 20)
    let store = try Store.open(at: directory.store, options: options)
    let space = try fill(store)
    let nearby = try NearbyReads(store.held(), in: space)
    #expect(nearby == nil)
    try store.close()
  }
}
