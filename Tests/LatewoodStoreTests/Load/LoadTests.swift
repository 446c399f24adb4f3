import LatewoodSimulation
import LatewoodStore
import LatewoodTestSupport
import Testing

/// Large values, large transactions, many commits: their results and their memory.
@Suite(.serialized) struct LoadTests {
  @Test func `a value of 64 MiB is read back byte for byte`() throws {
    let directory = try StoreDirectory()
    var random = SeededRandom(seed: SeededRandom.seed())
    let block = random.bytes(1 << 16)
    var value: [UInt8] = []
    value.reserveCapacity(64 << 20)
    for number in 0..<1024 {
      withUnsafeBytes(of: number) { value.append(contentsOf: $0) }
      value.append(contentsOf: block[..<(block.count - 8)])
    }
    var store = try Store.open(at: directory.store)
    var space = try store.keyspace("a")
    try store.write { transaction in
      try transaction.put("before", "v", in: space)
      try transaction.put("large", value, in: space)
      try transaction.put("after", "v", in: space)
      #expect(try transaction.get("large", in: space) == value, "\(random.replay)")
    }
    #expect(try store.get("large", in: space) == value, "\(random.replay)")
    try store.close()
    store = try Store.open(at: directory.store, mode: .openExisting)
    space = try store.keyspace("a")
    let isSame = try store.withValue("large", in: space) { $0.withUnsafeBytes { Array($0) } == value }
    #expect(isSame == true, "\(random.replay)")
    #expect(try store.entries(in: space).map(\.key) == ["after", "before", "large"].map { Array($0.utf8) })
    #expect(try store.verify().faults == [])
    try store.close()
  }

  @Test func `a snapshot held during 200,000 commits keeps its state and no more`() throws {
    var options = Store.Options()
    options.durability = .relaxed
    options.checkpointsInBackground = false
    let store = try Store.inMemory(options: options)
    let space = try store.keyspace("a")
    try store.write { for index in 0..<1000 { try $0.put("key\(index)", "first", in: space) } }
    let snapshot = try store.snapshot()
    var early: UInt64 = 0
    for round in 1...200_000 {
      try store.put("key\(round &* 7919 % 1000)", "\(round)", in: space)
      if round == 10_000 { early = try store.statistics().memoryBytes }
    }
    let late = try store.statistics().memoryBytes
    // Two states of 1,000 entries; memory is taken from the system in pieces of 256 KiB.
    #expect(late <= early + 512 << 10, "\(early), then \(late)")
    #expect(try store.statistics().pendingEntries <= 1010)
    #expect(try Set(snapshot.entries(in: space).map(\.value)) == [Array("first".utf8)])
    snapshot.close()
    try store.checkpoint()
    #expect(try store.count(in: space) == 1000)
    try store.close()
  }

  @Test func `300,000 puts are one transaction, even with a small budget`() throws {
    let directory = try StoreDirectory()
    var options = Store.Options()
    options.writeBufferBudget = 65_536
    let store = try Store.open(at: directory.store, options: options)
    let space = try store.keyspace("a")
    let value = [UInt8](repeating: 5, count: 60)
    let before = try store.snapshot()
    try store.write { transaction in
      for index in 0..<300_000 {
        try transaction.put("\(index &* 7919 % 300_000)", value, in: space)
        if index == 150_000 {
          #expect(try transaction.count(in: space) == 150_001)
          #expect(try store.count(in: space) == 0)
        }
      }
    }
    #expect(try before.count(in: space) == 0)
    #expect(try store.count(in: space) == 300_000)
    let reader = try Store.open(at: directory.store, mode: .readOnly)
    #expect(try reader.count(in: reader.keyspace("a")) == 300_000)
    try reader.close()
    #expect(throws: OnPurpose.self) {
      try store.write { transaction in
        for index in 0..<200_000 { try transaction.put("\(index)", "gone", in: space) }
        try transaction.deleteRange(in: space)
        throw OnPurpose()
      }
    }
    #expect(try store.get("77", in: space) == value)
    try store.close()
    let again = try Store.open(at: directory.store, mode: .openExisting)
    #expect(try again.count(in: again.keyspace("a")) == 300_000)
    #expect(try again.verify().faults == [])
    try again.close()
  }
}
