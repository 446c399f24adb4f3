import Dispatch
import LatewoodConcurrency
import LatewoodQuery
import LatewoodSimulation
import LatewoodStore
import Testing

@testable import LatewoodDocuments

/// The cost of one collection, index, view or listener does not depend on how many others there
/// are.
@Suite struct ManyCollectionsTests {
  @Test func `dropping a collection, an index or a view leaves the handles of all others alone`() throws {
    let store = try DocumentStore.inMemory()
    let dropped = try store.createCollection("dropped")
    let other = try store.createCollection("other")
    try store.save("a", "one", in: other)
    let spaces = try other.spaces
    let index = try IndexDefinition([IndexDefinition.Part(parsing: "n")])
    try store.createIndex("n", index, in: dropped)
    #expect(try store.dropIndex("n", in: dropped))
    #expect(try store.dropCollection("dropped"))
    #expect(try other.spaces === spaces)
    #expect(try store.reads(other).count() == 1)
    refusal(.notFound) { _ = try store.reads(dropped).count() }
    try store.expectSound()
    try store.close()
  }

  @Test func `opening makes no handles of collections without documents that expire`() throws {
    let directory = try TemporaryDirectory()
    let count = 300
    let clock = TestClock()
    var store = try DocumentStore.open(at: directory.database, options: clock.options())
    try store.write { writer in
      for number in 0..<count {
        let collection = try store.createCollection("c\(number)")
        if number.isMultiple(of: 2) { try store.save("a", "one", in: collection) }
        if number == 100 { try writer.setExpiry(of: "a", in: collection, clock.now + 5) }
      }
    }
    try store.close()
    store = try DocumentStore.open(at: directory.database, options: clock.options())
    #expect(try store.opened().collections.count == 1)
    clock.advance(5)
    #expect(try store.purgeExpired() == 1)
    #expect(try store.opened().collections.count == 1)
    #expect(try store.collectionNames().count == count + 1)
    #expect(try store.collectionNames(beginningWith: "c12") == ["c12"] + (0...9).map { "c12\($0)" })
    #expect(try store.write { _ in try store.collectionNames(beginningWith: "c299") } == ["c299"])
    #expect(try store.collectionNames(beginningWith: "d") == [])
    try store.expectSound()
    try store.close()
  }

  @Test func `of many listeners those of the collection and those of all are told, in their order`() throws {
    let store = try DocumentStore.inMemory()
    let names = (0..<20).map { "c\($0)" }
    for name in names { _ = try store.createCollection(name) }
    let queue = DispatchQueue(label: "test.listeners")
    let told = Guarded<[Int]>([])
    var tokens: [ListenerToken] = []
    for number in 0..<400 {
      // Every twentieth listens to all collections.
      let name = number % 20 == 19 ? nil : names[number % 20]
      tokens.append(
        try store.addListener(collection: name, on: queue) { event in
          if event.kind == .changed { told.withLock { $0.append(number) } }
        })
    }
    func toldOfSave(to name: String) throws -> [Int] {
      try store.save("a\(Int.random(in: 0...Int.max))", "1", in: store.collection(name))
      queue.sync {}
      return told.withLock { told in
        defer { told = [] }
        return told
      }
    }
    let all = (0..<400).filter { $0 % 20 == 19 }
    #expect(try toldOfSave(to: "c3") == ((0..<400).filter { $0 % 20 == 3 } + all).sorted())
    #expect(try toldOfSave(to: "c19") == all)
    for (number, token) in tokens.enumerated() where number % 20 == 3 { token.cancel() }
    tokens[19].cancel()
    #expect(try toldOfSave(to: "c3") == Array(all.dropFirst()))
    for token in tokens { token.cancel() }
    #expect(try toldOfSave(to: "c4") == [])
    #expect(try !store.opened().hub.hasListeners)
    try store.close()
  }
}
