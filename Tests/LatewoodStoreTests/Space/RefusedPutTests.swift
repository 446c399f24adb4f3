import LatewoodBytes
import LatewoodDevice
import LatewoodSimulation
import Testing

@testable import LatewoodStore

/// A put is refused for lack of space only after a search for space.
@Suite struct RefusedPutTests {
  private static let path = "db"

  private static func disk(_ length: Int = 4 << 20) -> SimulatedVolume {
    let volume = SimulatedVolume(seed: 5)
    volume.countsBlocks = true
    volume.keepsBlocks = true
    volume.spaceLimit = length
    return volume
  }

  private static func open(_ volume: SimulatedVolume) throws -> Store {
    var options = Store.Options()
    options.checkpointsInBackground = false
    options.compaction = .manual
    return try Store.open(at: path, on: volume, mode: .openOrCreate, options: options, environment: .system)
  }

  private static func key(_ number: Int) -> [UInt8] { Array("key \(100_000 + number)".utf8) }

  /// Runs a transaction; returns whether it was committed, and not refused for lack of space.
  private static func isCommitted(_ body: () throws -> Void) throws -> Bool {
    do {
      try body()
      return true
    } catch let error as StoreError where error.code == .outOfSpace {
      return false
    }
  }

  @Test(arguments: [10, 100, 1000, 9000, 200_000, 1_048_575, 1_048_576])
  func `entries can be overwritten on a small disk forever`(_ length: Int) throws {
    let volume = Self.disk(8 << 20)
    let store = try Self.open(volume)
    let space = try store.keyspace("a")
    let batch = max(1, min(1000, 20_000 / length))
    let wanted = Effort.count(64 << 20, low: 24 << 20) / (batch * length)
    var done = 0
    while done < wanted {
      let round = done
      let isThere = try Self.isCommitted {
        let value = [UInt8](repeating: UInt8(truncatingIfNeeded: round), count: length)
        if batch == 1 { return try store.put(Self.key(0), value, in: space) }
        try store.write(durability: .synchronous) { transaction in
          for number in 0..<batch { try transaction.put(Self.key(number), value, in: space) }
        }
      }
      guard isThere else { break }
      done += 1
    }
    #expect(done == wanted)
    #expect(try store.count(in: space) == batch)
    #expect(try store.get(Self.key(0), in: space)?.first == UInt8(truncatingIfNeeded: done - 1))
    #expect(try store.verify().faults == [])
    try store.close()
  }

  @Test func `queued entries can be overwritten on a small disk forever, in order`() async throws {
    let volume = Self.disk()
    let store = try Self.open(volume)
    let space = try store.keyspace("a")
    let count = Effort.count(4000, low: 1600)
    for first in stride(from: 0, to: count, by: 40) {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in first..<first + 40 {
          group.addTask {
            try await store.write(durability: number % 3 == 0 ? .relaxed : .synchronous) {
              try $0.put(
                Self.key(number % 7), [UInt8](repeating: UInt8(number & 0xFF), count: 9000), in: space)
            }
          }
        }
        try await group.waitForAll()
      }
    }
    #expect(try store.count(in: space) == 7)
    #expect(try store.verify().faults == [])
    try store.close()
  }

  /// A store on a disk that is full, nearly all of it dead, in which one transaction was refused
  /// and not repeated yet.
  private static func refuse(
    _ body: (Transaction, Keyspace) throws -> Void
  ) throws -> (store: Store, space: Keyspace, refused: RefusedTransaction) {
    let volume = disk()
    let store = try open(volume)
    let space = try store.keyspace("a")
    try store.put("x", "y", in: store.keyspace("gone"))
    for number in 0..<60 {
      try store.put(key(number), [1], in: space)
      try store.put("often", [UInt8](repeating: 1, count: 20_000), in: space)
    }
    volume.spaceLimit = Int(try store.statistics().allocatedSize)
    func refusal(_ body: (Transaction, Keyspace) throws -> Void) throws -> RefusedTransaction? {
      let engine = store.engine
      engine.head.lock()
      defer { engine.head.unlock() }
      do {
        let ended = try engine.run(in: engine.file, .synchronous) { transaction in
          try transaction.put("often", [UInt8](repeating: 2, count: 100_000), in: space)
          try body(transaction, space)
        }
        try engine.settle(ended.transaction, .synchronous)
        return nil
      } catch let refused as RefusedTransaction {
        return refused
      }
    }
    while try refusal({ _, _ in }) == nil {}
    return (store, space, try #require(try refusal(body)))
  }

  @Test func `the closure of a put that finds space on retry runs once`() throws {
    let volume = Self.disk()
    let store = try Self.open(volume)
    let space = try store.keyspace("a")
    var calls = 0
    for round in 0..<400 {
      let result = try store.write { transaction in
        calls += 1
        try transaction.put("often", [UInt8](repeating: UInt8(round & 0xFF), count: 60_000), in: space)
        return calls
      }
      #expect(result == round + 1)
    }
    #expect(calls == 400)
    try store.close()
  }

  @Test func `all kinds of changes are repeated`() throws {
    let (store, space, refused) = try Self.refuse { transaction, space in
      try transaction.delete(Self.key(3), in: space)
      try transaction.deleteRange(.between(Self.key(10), Self.key(20)), in: space)
      try transaction.put(Self.key(15), "new", in: space)
      let other = try transaction.keyspace("b")
      try transaction.put("empty", [], in: other)
      try transaction.put("extent", [UInt8](repeating: 7, count: 5000), in: other)
      try transaction.dropKeyspace(transaction.keyspace("gone"))
    }
    let gone = try store.keyspace("gone")
    #expect(try store.count(in: gone) == 1)
    let ended = try store.engine.runAgain(refused)
    try store.engine.settle(ended.transaction, .synchronous)
    for _ in 0..<2 {
      refusal(.noSuchKeyspace) { try store.put("x", "z", in: gone) }
      let left = try store.entries(in: space).map { String(decoding: $0.key, as: UTF8.self) }
      let wanted = (0..<60).filter { $0 != 3 && (!(10..<20).contains($0) || $0 == 15) }
        .map { String(decoding: Self.key($0), as: UTF8.self) }
      #expect(left == wanted + ["often"])
      #expect(try store.count(in: space) == wanted.count + 1)
      #expect(try store.get(Self.key(15), in: space) == Array("new".utf8))
      #expect(try store.get("often", in: space)?.first == 2)
      #expect(try store.keyspaces().map(\.name) == ["a", "b"])
      let other = try store.keyspace("b")
      #expect(try store.get("empty", in: other) == [])
      #expect(try store.get("extent", in: other) == [UInt8](repeating: 7, count: 5000))
      try store.checkpoint()
    }
    #expect(try store.verify().faults == [])
    try store.close()
  }

  @Test func `changes are not repeated once another transaction has committed`() throws {
    let (store, space, refused) = try Self.refuse { transaction, space in
      try transaction.put("seen", transaction.get("often", in: space)?.first == 2 ? "new" : "old", in: space)
    }
    try store.delete(Self.key(0), in: space)
    let fault = #expect(throws: StorageError.self) { _ = try store.engine.runAgain(refused) }
    #expect(fault?.kind == .outOfSpace)
    #expect(try store.count(in: space) == 60)
    #expect(try store.get("seen", in: space) == nil)
    try store.put("seen", "anew", in: space)
    #expect(try store.verify().faults == [])
    try store.close()
  }

  @Test(arguments: [100, 9000])
  func `a refused put is refused again when repeated`(_ length: Int) throws {
    let volume = Self.disk()
    let store = try Self.open(volume)
    let space = try store.keyspace("a")
    var refusals = 0
    var number = 0
    while refusals < 5 {
      let isThere = try Self.isCommitted {
        try store.put(Self.key(number), [UInt8](repeating: 1, count: length), in: space)
      }
      number += 1
      if isThere { continue }
      refusals += 1
      #expect(
        try !Self.isCommitted {
          try store.put(Self.key(number), [UInt8](repeating: 1, count: length), in: space)
        }, "after \(number) entries")
      try store.delete(Self.key(refusals), in: space)
    }
    #expect(try store.verify().faults == [])
    try store.close()
  }
}
