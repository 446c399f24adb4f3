import LatewoodSimulation
import LatewoodStore
import Testing

/// Calls that are refused because of their arguments, because of their time, or because of the
/// wrong store.
@Suite struct RefusalTests {
  @Test func `a value has at most 2 GiB`() throws {
    let store = try Store.inMemory()
    let space = try store.keyspace("a")
    let byte: [UInt8] = [1]
    try byte.withUnsafeBytes { bytes in
      // SAFETY: the bytes are never accessed, because the count alone is refused.
      let huge = UnsafeRawBufferPointer(start: bytes.baseAddress, count: (1 << 31) + 1)
      refusal(.valueTooLarge) { try store.put("k", huge, in: space) }
      try store.write { transaction in
        try transaction.put("before", "v", in: space)
        refusal(.valueTooLarge) { try transaction.put("k", huge, in: space) }
        try transaction.put("after", "v", in: space)
      }
    }
    #expect(try store.entries(in: space).map(\.key) == ["after", "before"].map { Array($0.utf8) })
  }

  @Test func `every call accepts keys of 1 to 16,384 bytes, and no others`() throws {
    let store = try Store.inMemory()
    let space = try store.keyspace("a")
    let least: [UInt8] = [0]
    let greatest = [UInt8](repeating: 255, count: 16_384)
    for key in [least, greatest] {
      try store.put(key, key, in: space)
      #expect(try store.get(key, in: space) == key)
    }
    try store.checkpoint()
    #expect(try store.entries(in: space).map(\.key) == [least, greatest])
    try store.write {
      try $0.deleteRange(KeyRange(lower: .excluded(least), upper: .included(greatest)), in: space)
    }
    #expect(try store.entries(in: space).map(\.key) == [least])
    for (key, code) in [([], StoreError.Code.keyEmpty), (greatest + [255], .keyTooLong)] {
      refusal(code) { _ = try store.get(key, in: space) }
      refusal(code) { _ = try store.contains(key, in: space) }
      refusal(code) { try store.withValue(key, in: space) { _ in } }
      refusal(code) { try store.put(key, "v", in: space) }
      refusal(code) { try store.delete(key, in: space) }
      // Bounds and positions may have any length.
      _ = try store.rank(of: key, in: space)
      _ = try store.cursor(in: space).seek(to: key)
    }
    #expect(try store.count(in: space) == 1)
  }

  @Test func `a closed store, its snapshots and its cursors throw closed`() throws {
    let store = try Store.inMemory()
    let space = try store.keyspace("a")
    try store.put("k", "v", in: space)
    let snapshot = try store.snapshot()
    let cursor = try store.cursor(in: space)
    #expect(try cursor.next())
    try store.close()
    try store.close()
    let calls: [() throws -> Void] = [
      { _ = try store.get("k", in: space) }, { _ = try store.count(in: space) }, { _ = try store.snapshot() },
      { try store.put("k", "v", in: space) }, { try store.write { _ in } }, { _ = try store.keyspace("a") },
      { _ = try store.keyspaces() }, { try store.sync() }, { try store.checkpoint() },
      { _ = try store.statistics() }, { _ = try store.history() }, { _ = try store.verify() },
      { _ = try snapshot.get("k", in: space) }, { try snapshot.forEach(in: space) { _, _ in true } },
      { try snapshot.changes(since: snapshot, in: space) { _ in true } }, { _ = try cursor.key() },
      { try cursor.next() }, { try cursor.seek(to: "k") },
    ]
    for call in calls { refusal(.closed, call) }
    snapshot.close()
  }

  @Test func `a store opened for reading refuses every change`() throws {
    let disk = SimulatedVolume()
    let writer = try Store.open(
      at: "db", on: disk, mode: .createNew, options: .init(), environment: .system)
    try writer.put("k", "v", in: writer.keyspace("a"))
    let store = try Store.open(
      at: "db", on: disk.process(2), mode: .readOnly, options: .init(), environment: .system)
    let space = try store.keyspace("a")
    refusal(.readOnly) { try store.put("k", "w", in: space) }
    refusal(.readOnly) { try store.delete("k", in: space) }
    refusal(.readOnly) { try store.write { _ in } }
    refusal(.readOnly) { try store.dropKeyspace(space) }
    refusal(.readOnly) { try store.checkpoint() }
    refusal(.noSuchKeyspace) { _ = try store.keyspace("new") }
    try store.sync()
    #expect(store.isReadOnly)
    #expect(try store.get("k", in: space) == Array("v".utf8))
    try store.close()
    try writer.close()
  }

  @Test func `a made-up checkpoint is refused`() throws {
    let store = try Store.inMemory()
    try store.put("k", "v", in: store.keyspace("a"))
    try store.checkpoint()
    let real = try #require(try store.history().first)
    for offset in [0, 1, 8, 16_384, real.offset - 8, real.offset + 8, 1 << 47, .max - 7, .max] {
      var checkpoint = real
      checkpoint.offset = offset
      refusal(.damaged) { _ = try store.snapshot(asOf: checkpoint) }
    }
    var other = real
    other.transaction += 1
    refusal(.damaged) { _ = try store.snapshot(asOf: other) }
  }

  @Test func `snapshots of two stores cannot be compared`() throws {
    let one = try Store.inMemory()
    let two = try Store.inMemory()
    let space = try one.keyspace("a")
    let snapshot = try one.snapshot()
    let foreign = try two.snapshot()
    refusal(.invalidRange) { try snapshot.changes(since: foreign, in: space) { _ in true } }
  }

  @Test func `an error inside a transaction names the file`() throws {
    let directory = try StoreDirectory()
    let store = try Store.open(at: directory.store)
    let dropped = try store.keyspace("dropped")
    try store.dropKeyspace(dropped)
    try store.write { transaction in
      let drop = refusal(.noSuchKeyspace) { try transaction.dropKeyspace(dropped) }
      #expect(drop?.path == directory.store)
      let name = refusal(.invalidName) { _ = try transaction.keyspace("") }
      #expect(name?.path == directory.store)
    }
    try store.close()
  }
}
