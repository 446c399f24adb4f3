import LatewoodSimulation
import Testing

@testable import LatewoodStore

/// A store whose nodes have another length than the option it is opened with.
@Suite struct NodeSizeTests {
  private let directory: StoreDirectory

  init() throws { directory = try StoreDirectory() }

  @Test(arguments: [(32768, 1024), (1024, 32768)])
  func `compaction writes nodes of the size in the options`(before: Int, after: Int) throws {
    var options = Store.Options()
    options.durability = .relaxed
    options.compaction = .manual
    options.nodeSize = before
    options.inlineValueLimit = 64
    let value = { (number: Int) in
      [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 140 + number % 16)
    }
    do {
      let store = try Store.open(at: directory.store, options: options)
      let fruit = try store.keyspace("fruit")
      try store.write { transaction in
        for number in 0..<120_000 {
          try transaction.put("key \(1_000_000 + number)", value(number), in: fruit)
        }
      }
      try store.close()
    }
    options.nodeSize = after
    let store = try Store.open(at: directory.store, options: options)
    let fruit = try store.keyspace("fruit")
    try store.compact()
    #expect(try store.count(in: fruit) == 120_000)
    for number in stride(from: 0, to: 120_000, by: 9_973) {
      #expect(try store.get("key \(1_000_000 + number)", in: fruit) == value(number))
    }
    #expect(try store.verify().isSound)
    try store.close()
  }

  @Test(arguments: [1024, 8192, 32768])
  func `nodes of every size hold the longest values copied into them`(size: Int) throws {
    var options = Store.Options()
    options.durability = .relaxed
    options.compaction = .manual
    options.nodeSize = size
    options.inlineValueLimit = 1 << 20
    let value = { (number: Int) in
      [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 2046 + number % 4)
    }
    let keys = (0..<400).map { "key \(1000 + $0)" + String(repeating: "x", count: $0 % 2 * 1000) }
    let store = try Store.open(at: directory.store, options: options)
    let fruit = try store.keyspace("fruit")
    try store.write { transaction in
      for (number, key) in keys.enumerated() { try transaction.put(key, value(number), in: fruit) }
    }
    for step in 0..<3 {
      if step == 1 { try store.checkpoint() }
      if step == 2 { try store.compact() }
      for (number, key) in keys.enumerated() { #expect(try store.get(key, in: fruit) == value(number)) }
      #expect(try store.verify().isSound)
    }
    try store.close()
  }
}
