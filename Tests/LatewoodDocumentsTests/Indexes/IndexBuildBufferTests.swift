import LatewoodFleece
import LatewoodSimulation
import LatewoodStore
import Testing

@testable import LatewoodDocuments
@testable import LatewoodQuery

/// The entries that a step of an index build collects and sorts.
@Suite struct IndexBuildBufferTests {
  private let store: DocumentStore
  private let collection: CollectionHandle

  init() throws {
    store = try DocumentStore.inMemory(options: TestClock().options())
    collection = try store.defaultCollection()
  }

  private func save(_ id: String, _ json: String) throws {
    let body = try JSON.fleece(from: json)
    _ = try store.write { [collection] writer in
      try writer.save(id, in: collection, body: body, parent: nil)
    }
  }

  /// Returns the bytes of entries in the order of a sort.
  private func sorted(_ keys: [[UInt8]], _ ids: [[UInt8]]) throws -> (order: [[UInt8]], byteCount: Int) {
    let head = try #require(try store.reads(collection).head(of: "any"))
    var entries = IndexBuildBuffer(count: 1, keepsHeads: false)
    for (key, id) in zip(keys, ids) {
      key.withUnsafeBytes { key in
        id.withUnsafeBytes { id in
          entries.keys.append(key, id, isCut: false, lacksValue: false)
          entries.noteKeys(of: head)
        }
      }
    }
    var order: [[UInt8]] = []
    try entries.forEachSorted { entry in
      order.append(Array(entry.bytes))
      #expect(entry.id.utf8.elementsEqual(entry.bytes[entry.keyCount...]))
    }
    return (order, entries.byteCount)
  }

  @Test(arguments: [1, 2, 255, 256, 257, 3000])
  func `any number of entries is returned in byte order`(_ count: Int) throws {
    try save("any", "{}")
    let seed = SeededRandom.seed()
    var random = SeededRandom(seed: seed)
    // Long common prefixes, keys that agree in their first eight bytes, and keys that end within
    // them.
    for width in [0, 1, 3, 9, 40] {
      let prefix = [UInt8](repeating: 0x40, count: width)
      let keys = (0..<count).map { _ in
        prefix + (0..<(1 + random.below(12))).map { _ in UInt8(random.below(random.below(2) == 0 ? 2 : 256)) }
      }
      let ids = (0..<count).map { Array("id \($0)".utf8) }
      let expected = zip(keys, ids).map { $0 + $1 }.sorted { $0.lexicographicallyPrecedes($1) }
      let (order, byteCount) = try sorted(keys, ids)
      #expect(order == expected, "\(random.replay)")
      #expect(byteCount >= expected.reduce(0) { $0 + $1.count })
    }
  }

  @Test func `a step ends with the document whose entries exceed its memory`() throws {
    let texts = (0..<20).map { #""element \#($0)""# }.joined(separator: ",")
    for number in 0..<10 { try save("doc \(number)", #"{"t":[\#(texts)],"n":\#(number)}"#) }
    func steps(_ name: String, _ field: String, memory: Int) throws -> [Int] {
      let definition = try IndexDefinition([.init(parsing: field)])
      var build = IndexBuild(name, definition, of: collection)
      build.memory = memory
      var documents: [Int] = []
      while true {
        let step = try store.write { [build] writer in try build.step(in: writer.batch) }
        documents.append(step.completed)
        if step.isReady { return documents }
      }
    }
    #expect(try steps("all", "t[]", memory: 1 << 20) == [10])
    #expect(try steps("each", "t[]", memory: 1) == Array(1...10) + [10])
    // The entries of two documents exceed the memory; those of one document fit.
    #expect(try steps("pairs", "t[]", memory: 2000) == [2, 4, 6, 8, 10, 10])
    #expect(try steps("small", "n", memory: 2000) == [10])
    #expect(try store.verify(deep: true).faults == [])
    #expect(try store.reads(collection).indexList().map(\.count) == [200, 200, 200, 10])
  }
}
