import LatewoodModels
import LatewoodSimulation
import LatewoodStore
import LatewoodTestSupport
import Testing

@Suite struct TransactionTests {
  private let store: Store
  private let space: Keyspace

  init() throws {
    store = try Store.inMemory()
    space = try store.keyspace("space")
  }

  @Test func `a transaction that throws leaves nothing behind`() throws {
    try store.put("k", "v", in: space)
    let before = try store.statistics().transaction
    #expect(throws: OnPurpose.self) {
      try store.write { transaction in
        try transaction.put("k", "other", in: space)
        try transaction.put("new", "x", in: space)
        try transaction.deleteRange(in: space)
        _ = try transaction.keyspace("made")
        throw OnPurpose()
      }
    }
    #expect(try store.entries(in: space).map(\.value) == [Array("v".utf8)])
    #expect(try store.keyspaces() == [space])
    #expect(try store.statistics().transaction == before)
  }

  @Test func `a transaction sees its own changes`() throws {
    try store.write { transaction in
      for index in 100..<200 { try transaction.put("k\(index)", "v", in: space) }
      try transaction.deleteRange(.between("k120", "k180"), in: space)
      try transaction.put("k150", "back", in: space)
      #expect(try transaction.count(in: space) == 41)
      #expect(try transaction.key(at: 20, in: space) == Array("k150".utf8))
      #expect(try transaction.rank(of: "k180", in: space) == 21)
      #expect(try transaction.get("k150", in: space) == Array("back".utf8))
      #expect(try transaction.contains("k151", in: space) == false)
      #expect(try transaction.first(in: space, .from("k120"))?.key == Array("k150".utf8))
      #expect(try transaction.last(in: space)?.key == Array("k199".utf8))
      #expect(try store.count(in: space) == 0)
    }
    #expect(try store.count(in: space) == 41)
  }

  @Test func `a synchronous transaction without changes makes the state it found durable`() throws {
    let disk = SimulatedVolume()
    let store = try CrashScript.open(disk)
    let space = try store.keyspace("space")
    try store.put("k", "v", in: space, durability: .relaxed)
    let isThere = try store.write(durability: .synchronous) { try $0.contains("k", in: space) }
    #expect(isThere)
    disk.crash()
    for image in disk.crashImages() {
      let left = try CrashScript.open(image.makeVolume())
      #expect(try left.content() == ["space": [Array("k".utf8): Array("v".utf8)]], "\(image)")
      #expect(try left.verify().faults == [])
    }
  }

  @Test func `after a close, no commit has to be replayed, even if the power fails then`() throws {
    let disk = SimulatedVolume()
    var options = CrashScript.options()
    // Releasing space would make the slot durable for another reason.
    options.punchesHoles = false
    let store = try Store.open(
      at: CrashScript.path, on: disk, mode: .createNew, options: options, environment: .system)
    let space = try store.keyspace("space")
    for number in 0..<20 { try store.put("k\(number)", "v", in: space, durability: .relaxed) }
    let content = try store.content()
    try store.close()
    disk.crash()
    for image in disk.crashImages() {
      let left = try CrashScript.open(image.makeVolume(), .readOnly)
      #expect(left.recovery.replayedTransactions == 0, "\(image)")
      #expect(try left.content() == content, "\(image)")
      #expect(try left.verify().faults == [])
    }
  }

  @Test func `a finished transaction refuses every call`() throws {
    var escaped: Transaction?
    var cursor: Cursor?
    try store.write { transaction in
      try transaction.put("k", "v", in: space)
      escaped = transaction
      cursor = try transaction.cursor(in: space)
      #expect(try cursor?.next() == true)
    }
    let ended = try #require(escaped)
    let stale = try #require(cursor)
    refusal(.transactionFinished) { try ended.put("k", "v", in: space) }
    refusal(.transactionFinished) { try ended.delete("k", in: space) }
    refusal(.transactionFinished) { try ended.deleteRange(in: space) }
    refusal(.transactionFinished) { _ = try ended.get("k", in: space) }
    refusal(.transactionFinished) { _ = try ended.keyspace("space") }
    refusal(.transactionFinished) { _ = try ended.keyspace("new") }
    refusal(.transactionFinished) { try ended.dropKeyspace(space) }
    refusal(.transactionFinished) { try ended.forEach(in: space) { _, _ in true } }
    refusal(.transactionFinished) { _ = try stale.key() }
    refusal(.transactionFinished) { _ = try stale.value() }
    refusal(.transactionFinished) { try stale.withValue { _ in } }
    refusal(.transactionFinished) { try stale.next() }
    refusal(.transactionFinished) { try stale.seek(to: "k") }
    #expect(try store.count(in: space) == 1)
  }

  @Test func `calls that would wait for the running transaction are refused inside it`() throws {
    try store.write { transaction in
      try transaction.put("k", "v", in: space)
      refusal(.invalidRange) { try store.write { _ in } }
      refusal(.invalidRange) { try store.put("k", "inner", in: space) }
      refusal(.invalidRange) { _ = try store.keyspace("new") }
      refusal(.invalidRange) { try store.checkpoint() }
      refusal(.invalidRange) { try store.close() }
      try store.sync()
      _ = try store.statistics()
      _ = try store.snapshot()
      #expect(try store.verify().isSound)
    }
    #expect(try store.get("k", in: space) == Array("v".utf8))
    #expect(try store.keyspaces() == [space])
  }

  @Test func `changes are refused while bytes are borrowed in place`() throws {
    try store.write { transaction in
      for index in 0..<100 { try transaction.put("k\(index)", [UInt8](repeating: 7, count: 100), in: space) }
      let cursor = try transaction.cursor(in: space)
      try cursor.seekFirst()
      let changes: [() throws -> Void] = [
        { try transaction.put("k1", "other", in: space) }, { try transaction.delete("k1", in: space) },
        { try transaction.deleteRange(in: space) }, { try transaction.dropKeyspace(space) },
        { _ = try transaction.keyspace("new") },
      ]
      let lenders: [(() throws -> Void) throws -> Void] = [
        { body in try transaction.withValue("k1", in: space) { _ in try body() } },
        { body in
          try transaction.forEach(in: space) { _, _ in
            try body()
            return true
          }
        },
        { body in try cursor.withValue { _ in try body() } },
      ]
      for lend in lenders {
        for change in changes {
          refusal(.invalidRange) { try lend(change) }
        }
        try lend { try #require(try transaction.contains("k2", in: space)) }
      }
      try transaction.put("k1", "after", in: space)
    }
    #expect(try store.count(in: space) == 100)
    #expect(try store.get("k1", in: space) == Array("after".utf8))
  }

  @Test func `a refused key leaves the transaction unchanged`() throws {
    let long = [UInt8](repeating: 65, count: 16_385)
    try store.write { transaction in
      try transaction.put("k", "v", in: space)
      refusal(.keyTooLong) { try transaction.put(long, "v", in: space) }
      refusal(.keyEmpty) { try transaction.put("", "v", in: space) }
      refusal(.keyTooLong) { try transaction.delete(long, in: space) }
      refusal(.keyTooLong) { try transaction.deleteRange(.from(long + long), in: space) }
      refusal(.keyTooLong) { try transaction.deleteRange(.through(long + long), in: space) }
      #expect(try transaction.count(in: space, .from(long + long)) == 1)
    }
    #expect(try store.count(in: space) == 1)
  }

  @Test func `a write without changes leaves the file unchanged`() throws {
    let before = try store.statistics()
    #expect(try store.write { _ in 7 } == 7)
    try store.write { transaction in
      #expect(try transaction.count(in: space) == 0)
      try transaction.deleteRange(.between("b", "a"), in: space)
    }
    let after = try store.statistics()
    #expect(after.fileSize == before.fileSize)
    #expect(after.transaction == before.transaction)
  }
}
