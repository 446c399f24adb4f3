import LatewoodDevice
import LatewoodSimulation
import LatewoodStore
import Testing

/// Bad files and bad calls cause a typed error with a helpful text, and never lose data.
@Suite struct MisuseTests {
  private func code(_ body: () throws -> Void) -> StoreError.Code? {
    do {
      try body()
      return nil
    } catch let error as StoreError {
      #expect(!error.message.isEmpty, "\(error.code)")
      return error.code
    } catch {
      return nil
    }
  }

  private func open(_ disk: any Volume, _ mode: Store.OpenMode = .openOrCreate) throws -> Store {
    try Store.open(at: "db", on: disk, mode: mode, options: .init(), environment: .system)
  }

  @Test func `a file that is not a database is refused`() throws {
    #expect(code { _ = try open(SimulatedVolume(), .openExisting) } == .notFound)
    #expect(code { _ = try open(SimulatedVolume(), .readOnly) } == .notFound)
    let empty = SimulatedVolume()
    try empty.place([], at: "db")
    #expect(code { _ = try open(empty) } == .emptyFile)
    let disk = SimulatedVolume()
    try disk.place([UInt8](repeating: 65, count: 20_000), at: "db")
    #expect(code { _ = try open(disk) } == .notADatabase)
    #expect(try disk.liveBytes(of: "db") == [UInt8](repeating: 65, count: 20_000))
    #expect(code { _ = try open(disk, .createNew) } == .alreadyExists)
    #expect(code { _ = try Store.open(at: "/") } == .isDirectory)
  }

  @Test func `a file has one writer, and only it can write`() throws {
    let disk = SimulatedVolume()
    let store = try open(disk.process(1))
    #expect(code { _ = try open(disk.process(1)) } == .lockedByThisProcess)
    #expect(code { _ = try open(disk.process(2)) } == .lockedByOtherProcess)
    let reader = try open(disk.process(2), .readOnly)
    #expect(code { _ = try reader.keyspace("new") } == .noSuchKeyspace)
    #expect(code { try reader.write { _ in } } == .readOnly)
    #expect(code { try reader.checkpoint() } == .readOnly)
    try reader.close()
    try store.close()
    try store.close()
  }

  @Test func `keys and names have length limits`() throws {
    let store = try Store.inMemory()
    let space = try store.keyspace("a")
    #expect(code { try store.put("", "x", in: space) } == .keyEmpty)
    #expect(code { _ = try store.get([UInt8](), in: space) } == .keyEmpty)
    let longest = [UInt8](repeating: 1, count: 16384)
    try store.put(longest, "x", in: space)
    #expect(try store.get(longest, in: space) == Array("x".utf8))
    #expect(code { try store.put(longest + [1], "x", in: space) } == .keyTooLong)
    #expect(code { _ = try store.keyspace("") } == .invalidName)
    #expect(code { _ = try store.keyspace(String(repeating: "n", count: 1025)) } == .invalidName)
    #expect(try store.count(in: space) == 1)
  }

  @Test func `finished transactions and closed snapshots cannot be used`() throws {
    let store = try Store.inMemory()
    let space = try store.keyspace("a")
    try store.put("key", "value", in: space)
    var escaped: Transaction?
    try store.write { escaped = $0 }
    let transaction = try #require(escaped)
    #expect(code { try transaction.put("a", "b", in: space) } == .transactionFinished)
    #expect(code { _ = try transaction.get("key", in: space) } == .transactionFinished)
    let snapshot = try store.snapshot()
    let cursor = try snapshot.cursor(in: space)
    #expect(try cursor.seekFirst())
    snapshot.close()
    snapshot.close()
    #expect(code { _ = try snapshot.get("key", in: space) } == .snapshotClosed)
    #expect(code { _ = try cursor.next() } == .snapshotClosed)
    #expect(code { _ = try cursor.key() } == .snapshotClosed)
    let held = try store.snapshot()
    try store.close()
    #expect(code { _ = try store.get("key", in: space) } == .closed)
    #expect(code { _ = try held.get("key", in: space) } == .closed)
    #expect(code { try store.put("key", "value", in: space) } == .closed)
    #expect(code { _ = try store.snapshot() } == .closed)
  }

  @Test func `keyspaces belong to one store and can be dropped`() throws {
    let store = try Store.inMemory()
    let other = try Store.inMemory()
    let space = try store.keyspace("a")
    #expect(code { try other.put("key", "value", in: space) } == .noSuchKeyspace)
    try store.put("key", "value", in: space)
    try store.dropKeyspace(space)
    #expect(code { try store.put("key", "value", in: space) } == .noSuchKeyspace)
    #expect(code { _ = try store.count(in: space) } == .noSuchKeyspace)
    let again = try store.keyspace("a")
    #expect(again != space)
    #expect(try store.count(in: again) == 0)
    #expect(code { try store.put("key", "value", in: space) } == .noSuchKeyspace)
  }

  @Test func `a transaction inside a transaction is refused instead of deadlocking`() throws {
    let store = try Store.inMemory()
    let space = try store.keyspace("a")
    try store.write { transaction in
      #expect(code { try store.put("inner", "1", in: space) } == .invalidRange)
      try transaction.put("outer", "1", in: space)
    }
    #expect(try store.count(in: space) == 1)
  }

  @Test func `ten thousand keyspaces fit in one file`() throws {
    let disk = SimulatedVolume()
    var store = try open(disk)
    try store.write { transaction in
      for index in 0..<10_000 {
        try transaction.put("key", "\(index)", in: transaction.keyspace("space\(index)"))
      }
    }
    try store.close()
    store = try open(disk)
    #expect(try store.keyspaces().count == 10_000)
    let one = try #require(try store.existingKeyspace("space7777"))
    #expect(try store.get("key", in: one) == Array("7777".utf8))
    #expect(try store.count(in: one) == 1)
    #expect(try store.verify().faults == [])
    try store.close()
  }

  @Test func `a transaction can be larger than the write buffer's budget`() throws {
    let disk = SimulatedVolume()
    var options = Store.Options()
    options.writeBufferBudget = 65536
    let store = try Store.open(
      at: "db", on: disk, mode: .openOrCreate, options: options, environment: .system)
    let space = try store.keyspace("a")
    try store.write { transaction in
      for index in 0..<100_000 { try transaction.put("key\(index)", "some value of some length", in: space) }
      try transaction.put("large", [UInt8](repeating: 7, count: 9 << 20), in: space)
    }
    #expect(try store.count(in: space) == 100_001)
    try store.checkpoint()
    #expect(try store.get("large", in: space) == [UInt8](repeating: 7, count: 9 << 20))
    #expect(try store.verify().faults == [])
    try store.close()
  }
}
