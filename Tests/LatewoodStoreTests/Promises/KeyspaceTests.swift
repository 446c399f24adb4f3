import LatewoodStore
import LatewoodTestSupport
import Testing

@Suite struct KeyspaceTests {
  @Test func `equal keys in different keyspaces are independent`() throws {
    let store = try Store.inMemory()
    let one = try store.keyspace("one")
    let two = try store.keyspace("two")
    try store.put("k", "1", in: one)
    try store.put("k", "2", in: two)
    try store.write { try $0.deleteRange(in: one) }
    #expect(try store.get("k", in: one) == nil)
    #expect(try store.get("k", in: two) == Array("2".utf8))
    #expect(try store.keyspaces().map(\.name) == ["one", "two"])
  }

  @Test func `every way to get a keyspace returns the same handle`() throws {
    let store = try Store.inMemory()
    let one = try store.keyspace("one")
    #expect(try store.keyspace("one") == one)
    #expect(try store.existingKeyspace("one") == one)
    #expect(try store.write { try $0.keyspace("one") } == one)
    #expect(try store.snapshot().existingKeyspace("one") == one)
    #expect(try store.existingKeyspace("two") == nil)
  }

  @Test func `the handle of a dropped keyspace is refused everywhere, even if its name is reused`() throws {
    let store = try Store.inMemory()
    let old = try store.keyspace("one")
    let other = try store.keyspace("other")
    try store.put("k", "old", in: old)
    let before = try store.snapshot()
    try store.dropKeyspace(old)
    for _ in 0..<2 {
      refusal(.noSuchKeyspace) { _ = try store.get("k", in: old) }
      refusal(.noSuchKeyspace) { _ = try store.count(in: old) }
      refusal(.noSuchKeyspace) { _ = try store.cursor(in: old) }
      refusal(.noSuchKeyspace) { try store.forEach(in: old) { _, _ in true } }
      refusal(.noSuchKeyspace) { try store.put("k", "v", in: old) }
      refusal(.noSuchKeyspace) { try store.delete("k", in: old) }
      refusal(.noSuchKeyspace) { try store.write { try $0.deleteRange(in: old) } }
      refusal(.noSuchKeyspace) { try store.dropKeyspace(old) }
      let new = try store.keyspace("one")
      #expect(new != old)
      #expect(try store.get("k", in: new) == nil)
    }
    #expect(try before.get("k", in: old) == Array("old".utf8))
    try store.put("k", "still", in: other)
    #expect(try store.get("k", in: other) == Array("still".utf8))
  }

  @Test func `a handle from a rolled-back transaction never refers to a later keyspace`() throws {
    let store = try Store.inMemory()
    var escaped: Keyspace?
    #expect(throws: OnPurpose.self) {
      try store.write { transaction in
        escaped = try transaction.keyspace("a")
        throw OnPurpose()
      }
    }
    let later = try store.keyspace("b")
    let handle = try #require(escaped)
    refusal(.noSuchKeyspace) { try store.put("k", "v", in: handle) }
    refusal(.noSuchKeyspace) { _ = try store.get("k", in: handle) }
    #expect(try store.count(in: later) == 0)
  }

  @Test func `a handle from a past state is refused once its keyspace is dropped`() throws {
    let store = try Store.inMemory()
    let space = try store.keyspace("a")
    try store.put("k", "v", in: space)
    try store.checkpoint()
    try store.dropKeyspace(space)
    let past = try store.snapshot(asOf: store.history()[0])
    let handle = try #require(try past.existingKeyspace("a"))
    #expect(try past.get("k", in: handle) == Array("v".utf8))
    refusal(.noSuchKeyspace) { try store.put("k", "again", in: handle) }
    refusal(.noSuchKeyspace) { _ = try store.get("k", in: handle) }
    let newer = try store.keyspace("b")
    refusal(.noSuchKeyspace) { _ = try past.get("k", in: newer) }
    #expect(try store.verify().faults == [])
  }

  @Test func `the keyspace of another store is refused`() throws {
    let here = try Store.inMemory()
    let there = try Store.inMemory()
    _ = try here.keyspace("one")
    let foreign = try there.keyspace("one")
    refusal(.noSuchKeyspace) { try here.put("k", "v", in: foreign) }
    refusal(.noSuchKeyspace) { _ = try here.get("k", in: foreign) }
    refusal(.noSuchKeyspace) { _ = try here.snapshot().count(in: foreign) }
    refusal(.noSuchKeyspace) { try here.write { try $0.dropKeyspace(foreign) } }
  }

  @Test
  func `dropped and foreign handles are refused in the middle of a transaction too`() throws {
    let (store, there) = (try Store.inMemory(), try Store.inMemory())
    let (own, old) = (try store.keyspace("own"), try store.keyspace("old"))
    _ = try there.keyspace("own")
    let foreign = try there.keyspace("foreign")
    try store.write { transaction in
      try transaction.put("k", "v", in: own)
      refusal(.noSuchKeyspace) { try transaction.put("k", "foreign", in: foreign) }
      refusal(.noSuchKeyspace) { try transaction.delete("k", in: foreign) }
      refusal(.noSuchKeyspace) { try transaction.deleteRange(in: foreign) }
      try transaction.dropKeyspace(old)
      refusal(.noSuchKeyspace) { try transaction.put("k", "old", in: old) }
      try transaction.put("k", "w", in: own)
    }
    try store.write { transaction in
      try transaction.put("l", "v", in: own)
      refusal(.noSuchKeyspace) { try transaction.put("k", "old", in: old) }
      refusal(.noSuchKeyspace) { try transaction.deleteRange(in: old) }
    }
    #expect(try store.entries(in: own).map(\.key) == ["k", "l"].map { Array($0.utf8) })
    #expect(try store.keyspaces() == [own])
    #expect(try store.verify().faults == [])
  }

  @Test func `names have 1 to 1,024 bytes`() throws {
    let store = try Store.inMemory()
    refusal(.invalidName) { _ = try store.keyspace("") }
    refusal(.invalidName) { _ = try store.keyspace(String(repeating: "é", count: 513)) }
    refusal(.invalidName) { _ = try store.existingKeyspace("") }
    refusal(.invalidName) { try store.write { _ = try $0.keyspace("") } }
    let longest = try store.keyspace(String(repeating: "é", count: 512))
    try store.put("k", "v", in: longest)
    try store.checkpoint()
    #expect(try store.keyspaces() == [longest])
  }

  @Test func `rolling back a drop leaves everything unchanged`() throws {
    let store = try Store.inMemory()
    let space = try store.keyspace("a")
    try store.put("k", "v", in: space)
    #expect(throws: OnPurpose.self) {
      try store.write { transaction in
        try transaction.dropKeyspace(space)
        refusal(.noSuchKeyspace) { _ = try transaction.get("k", in: space) }
        let again = try transaction.keyspace("a")
        #expect(again != space)
        #expect(try transaction.count(in: again) == 0)
        throw OnPurpose()
      }
    }
    #expect(try store.get("k", in: space) == Array("v".utf8))
  }
}
