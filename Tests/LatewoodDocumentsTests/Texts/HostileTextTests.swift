import LatewoodFleece
import LatewoodQuery
import LatewoodSimulation
import LatewoodStore
import LatewoodText
import Testing

@testable import LatewoodDocuments

/// Bytes of full-text indexes that writers never produce, in a file whose checksums are all right:
/// they cause errors or other results, but never a trap.
@Suite struct HostileTextTests {
  private var store: DocumentStore
  private var collection: CollectionHandle

  init() throws { (store, collection) = try Self.made() }

  private static func made() throws -> (DocumentStore, CollectionHandle) {
    let store = try DocumentStore.inMemory(options: TestClock().options())
    let collection = try store.createCollection("things")
    // Words in blocks and, of the documents that are saved later, in two recent segments.
    for (numbers, word) in [(0..<280, "first"), (250..<290, "later"), (285..<300, "last")] {
      try store.write { writer in
        for number in numbers {
          let body = try JSON.fleece(
            from: #"{"a":"common word\#(number % 9) \#(word)","b":["list common","n\#(number)"]}"#)
          _ = try writer.save(
            "doc \(number)", in: collection, body: body, parent: nil, policy: .lastWriteWins)
        }
      }
      try store.createIndex("text", fullText: TextDefinition("a", "b[]"), in: collection)
    }
    return (store, collection)
  }

  /// Uses the index in every way, and ignores errors.
  private func use() {
    func attempt(_ body: () throws -> Void) {
      do { try body() } catch {}
    }
    attempt { _ = try store.verify(deep: true) }
    attempt { _ = try store.reads(collection).textIndexList() }
    for query in ["common", "wor*", #""list common""#, "NEAR(common n7)", "n7 OR n8 NOT word1"] {
      attempt {
        var request = FindRequest(.text(TextCondition(index: "text", .query(query))))
        _ = try store.reads(collection).count(request)
        try store.reads(collection).find(request) { _ in true }
        request.ranking = "text"
        request.limit = 5
        try store.reads(collection).find(request) { _ in true }
      }
    }
    attempt { _ = try store.reads(collection).completions(of: "w", in: "text", limit: 3) }
    attempt { _ = try store.reads(collection).suggestions(for: "wird", in: "text", distance: 2, limit: 3) }
    attempt { try store.saveJSON("doc 3", #"{"a":"other word3"}"#, in: collection) }
    attempt { try store.write { [collection] in _ = try $0.purge("doc 4", in: collection) } }
  }

  @Test mutating func `damaged entries of an index never trap`() throws {
    let seed = SeededRandom.seed()
    var random = SeededRandom(seed: seed)
    for _ in 0..<Effort.count(400, low: 20) {
      let index = try #require(try store.reads(collection).indexes().texts.first)
      let entries = try store.store.entries(in: index.words).map { ($0.key, $0.value) }
      let recent = entries.filter { $0.0.first == UInt8(ascii: "r") }
      let kinds = Set(entries.compactMap(\.0.first))
      #expect("dprt".utf8.allSatisfy { kinds.contains($0) })
      // Half of the time, an entry of recent segments, which are few.
      let some = random.below(2) == 0 ? recent : entries
      let (key, value) = some[random.below(some.count)]
      var changed = value
      switch random.below(4) {
      case 0: changed = Array(value.prefix(random.below(value.count + 1)))
      case 1: changed.append(UInt8(random.below(256)))
      case 2: changed = [UInt8](repeating: 0xFF, count: 12)
      default: if !value.isEmpty { changed[random.below(value.count)] = UInt8(random.below(256)) }
      }
      try store.store.write { try $0.put(key, changed, in: index.words) }
      use()
      (store, collection) = try Self.made()
    }
    #expect(try store.verify(deep: true).faults == [], "seed \(seed)")
  }
}
