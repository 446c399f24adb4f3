import LatewoodStore
import Testing

@Suite struct CursorTests {
  private let store: Store
  private let space: Keyspace

  init() throws {
    store = try Store.inMemory()
    space = try store.keyspace("space")
    try store.write { transaction in
      for key in ["a", "b", "c", "d", "e"] { try transaction.put(key, key, in: space) }
    }
  }

  @Test func `a cursor moves both ways and stops at the ends of its range`() throws {
    let cursor = try store.cursor(in: space, .between("b", "e"))
    #expect(!cursor.isValid)
    refusal(.invalidRange) { _ = try cursor.key() }
    #expect(try cursor.next())
    #expect(try cursor.key() == Array("b".utf8))
    #expect(try cursor.previous() == false)
    #expect(try cursor.next() == false)
    refusal(.invalidRange) { _ = try cursor.value() }
    #expect(try cursor.seekLast())
    #expect(try cursor.key() == Array("d".utf8))
    #expect(try cursor.next() == false)
    #expect(try cursor.next() == false)
    #expect(try cursor.seek(to: "a"))
    #expect(try cursor.key() == Array("b".utf8))
    #expect(try cursor.seek(before: "z"))
    #expect(try cursor.key() == Array("d".utf8))
    #expect(try cursor.seek(to: "e") == false)
    #expect(try cursor.seek(before: "b") == false)
    #expect(try store.cursor(in: space).previous())
  }

  @Test func `a cursor shows the state it was created from`() throws {
    let cursor = try store.cursor(in: space)
    try cursor.next()
    try store.write { try $0.deleteRange(in: space) }
    try store.checkpoint()
    var keys = [try cursor.key()]
    while try cursor.next() { keys.append(try cursor.key()) }
    #expect(keys == ["a", "b", "c", "d", "e"].map { Array($0.utf8) })
  }

  @Test func `in a transaction, a cursor keeps its position when its entry is deleted`() throws {
    try store.write { transaction in
      let cursor = try transaction.cursor(in: space)
      try cursor.seek(to: "c")
      try transaction.delete("c", in: space)
      for _ in 0..<2 { refusal(.invalidRange) { _ = try cursor.key() } }
      #expect(try cursor.previous())
      #expect(try cursor.key() == Array("b".utf8))
      #expect(try cursor.next())
      #expect(try cursor.key() == Array("d".utf8))
      try transaction.delete("d", in: space)
      refusal(.invalidRange) { _ = try cursor.value() }
      try transaction.put("d", "new", in: space)
      #expect(try cursor.value() == Array("new".utf8))
      try transaction.deleteRange(.from("d"), in: space)
      refusal(.invalidRange) { _ = try cursor.key() }
      #expect(try cursor.next() == false)
      #expect(try cursor.seekLast())
      #expect(try cursor.key() == Array("b".utf8))
    }
  }

  @Test func `each entry can be deleted during an iteration`() throws {
    try store.write { transaction in
      var seen: [[UInt8]] = []
      for entry in try transaction.entries(in: space, reversed: true) {
        seen.append(entry.key)
        try transaction.delete(entry.key, in: space)
      }
      #expect(seen == ["e", "d", "c", "b", "a"].map { Array($0.utf8) })
    }
    #expect(try store.count(in: space) == 0)
  }

  @Test func `nested iterations over the same entries do not disturb each other`() throws {
    let entries = try store.entries(in: space)
    var pairs = 0
    for _ in entries { for _ in entries { pairs += 1 } }
    #expect(pairs == 25)
    try store.write { transaction in
      let entries = try transaction.entries(in: space)
      try transaction.deleteRange(.upTo("c"), in: space)
      #expect(entries.map(\.key).count == 3)
      try transaction.put("f", "f", in: space)
      #expect(entries.map(\.key).count == 4)
    }
  }

  @Test func `a cursor that outlives its snapshot throws`() throws {
    let snapshot = try store.snapshot()
    let cursor = try snapshot.cursor(in: space)
    let entries = try snapshot.entries(in: space)
    #expect(try cursor.next())
    snapshot.close()
    snapshot.close()
    refusal(.snapshotClosed) { _ = try cursor.key() }
    refusal(.snapshotClosed) { try cursor.next() }
    refusal(.snapshotClosed) { try cursor.seek(to: "a") }
    refusal(.snapshotClosed) { _ = try snapshot.get("a", in: space) }
    refusal(.snapshotClosed) { _ = try snapshot.count(in: space) }
    refusal(.snapshotClosed) { try snapshot.changes(since: snapshot, in: space) { _ in true } }
    #expect(Array(entries) == [])
    #expect(entries.failure?.code == .snapshotClosed)
  }
}
