import LatewoodStore
import Testing

@Suite struct StoreTests {
  @Test func `entries are read back, before and after a checkpoint`() throws {
    let store = try Store.inMemory()
    let fruit = try store.keyspace("fruit")
    try store.write { transaction in
      for index in 0..<5000 { try transaction.put("key\(index)", "value\(index)", in: fruit) }
    }
    #expect(try store.get("key77", in: fruit) == Array("value77".utf8))
    #expect(try store.count(in: fruit) == 5000)
    try store.checkpoint()
    #expect(try store.get("key77", in: fruit) == Array("value77".utf8))
    #expect(try store.get("key", in: fruit) == nil)
    #expect(try store.count(in: fruit) == 5000)
    try store.put("key1", "again", in: fruit)
    #expect(try store.first(in: fruit)?.key == Array("key0".utf8))
    #expect(try store.last(in: fruit)?.key == Array("key999".utf8))
    #expect(try store.entries(in: fruit, .prefix("key1")).map(\.key).count == 1111)
    try store.write { try $0.deleteRange(.prefix("key1"), in: fruit) }
    #expect(try store.count(in: fruit) == 5000 - 1111)
    try store.checkpoint()
    #expect(try store.count(in: fruit) == 5000 - 1111)
    #expect(try store.verify().faults == [])
    try store.close()
  }
}
