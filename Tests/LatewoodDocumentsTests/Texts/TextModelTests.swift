import LatewoodFleece
import LatewoodQuery
import LatewoodSimulation
import LatewoodStore
import LatewoodTestSupport
import LatewoodText
import Testing

@testable import LatewoodDocuments

/// Random changes of documents, compared with the words of all documents. `LATEWOOD_SEED` replays a
/// run.
@Suite struct TextModelTests {
  @Test func `an index finds the documents that a search of all documents finds`() throws {
    let seed = SeededRandom.seed()
    var random = SeededRandom(seed: seed)
    let directory = try TemporaryDirectory()
    let clock = TestClock()
    let definition = try #require(SampleText.definition)
    for round in 0..<Effort.count(40, low: 8) {
      let store = try DocumentStore.open(at: directory.database, options: clock.options())
      let documents = try store.defaultCollection()
      if random.below(6) == 0 { try store.dropIndex("text", in: documents) }
      for _ in 0..<random.below(60) {
        let before = try number(store, documents)
        switch random.below(14) {
        case 0: try batch(store, documents, clock, &random)
        case 1: try step(definition, store, documents, &random)
        default: try change(store, documents, clock, &random)
        }
        // An index that seems damaged would be emptied, and get another number.
        if let before {
          #expect(try number(store, documents) == before, "round \(round); \(random.replay)")
        }
        if random.below(15) == 0 { clock.advance(3) }
      }
      if random.below(5) == 0 { try store.purgeExpired() }
      if random.below(5) == 0 { try store.compact() }
      #expect(try store.verify(deep: true).faults == [], "round \(round); \(random.replay)")
      if random.below(3) == 0 {
        try store.createIndex("text", fullText: definition, in: documents)
        try store.purgeExpired()
        try compare(store, documents, "round \(round); \(random.replay)")
      }
      try store.close()
    }
  }

  private func number(_ store: DocumentStore, _ documents: CollectionHandle) throws -> UInt64? {
    try store.reads(documents).indexes().texts.first?.record.number
  }

  private func compare(_ store: DocumentStore, _ documents: CollectionHandle, _ label: String) throws {
    let reads = try store.reads(documents)
    for word in SampleText.vocabulary {
      #expect(
        try reads.ids(in: "text", with: word) == SampleText.ids(with: word, reads), "\(word), \(label)")
    }
  }

  private func step(
    _ definition: TextDefinition, _ store: DocumentStore, _ documents: CollectionHandle,
    _ random: inout SeededRandom
  ) throws {
    var build = TextIndexBuild("text", definition, of: documents)
    build.limit = 1 + random.below(9)
    if random.below(3) == 0 { build.textLength = random.below(100) }
    build.segmentLimit = 1 + random.below(5)
    build.mergeLength = 1 + random.below(300)
    try store.write { [build] writer in _ = try build.step(in: writer.batch) }
  }

  private func batch(
    _ store: DocumentStore, _ documents: CollectionHandle, _ clock: TestClock, _ random: inout SeededRandom
  ) throws {
    let fails = random.below(4) == 0
    do {
      try store.write { _ in
        for _ in 0..<random.below(6) {
          try change(store, documents, clock, &random)
          if random.below(4) == 0 { _ = try store.reads(documents).textIndexList() }
        }
        if fails { throw OnPurpose() }
      }
    } catch is OnPurpose {}
  }

  private func change(
    _ store: DocumentStore, _ documents: CollectionHandle, _ clock: TestClock, _ random: inout SeededRandom
  ) throws {
    let id = "doc \(random.below(25))"
    let body = SampleText.json { random.below($0) }
    switch random.below(12) {
    case 0:
      do { try store.deleteJSON(id, in: documents) } catch let error as DatabaseError
        where error.code == .notFound
      {}
    case 1: try store.write { _ = try $0.purge(id, in: documents) }
    case 2:
      let expiry = clock.now + UInt64(random.below(6))
      do { try store.write { try $0.setExpiry(of: id, in: documents, expiry) } } catch let error
        as DatabaseError
        where error.code == .notFound
      {}
    case 3, 4:
      // A revision of another replica, which may win.
      let generation = UInt64(1 + random.below(6))
      let digest = RevisionID(
        editing: nil, isDeleted: false, body: UnsafeRawBufferPointer(start: nil, count: 0)
      ).digest
      let fleece = try JSON.fleece(from: body)
      let isDeleted = random.below(5) == 0
      try store.write {
        _ = try $0.insert(
          id, in: documents, history: [RevisionID(generation: generation, digest: digest)], body: fleece,
          isDeleted: isDeleted)
      }
    case 5:
      guard let record = try store.reads(documents).record(of: id) else { return }
      let leaves = record.tree.leaves.map(\.id)
      let leaf = leaves[random.below(leaves.count)]
      try store.write { _ = try $0.purge(id, in: documents, leaves: [leaf]) }
    default: try store.saveJSON(id, body, in: documents)
    }
  }
}
