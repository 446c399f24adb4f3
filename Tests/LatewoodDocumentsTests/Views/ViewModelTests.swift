import LatewoodFleece
import LatewoodSimulation
import LatewoodStore
import LatewoodTestSupport
import Testing

@testable import LatewoodDocuments

/// Random changes of documents, by writers with and without knowledge of the views, compared with
/// what the documents emit. `LATEWOOD_SEED` replays a run.
@Suite struct ViewModelTests {
  @Test func `views contain the rows their documents emit, with any kind of writer`() throws {
    let seed = SeededRandom.seed()
    var random = SeededRandom(seed: seed)
    let directory = try TemporaryDirectory()
    let clock = TestClock()
    var (versions, compared) = ([UInt64](repeating: 1, count: 2), 0)
    for round in 0..<Effort.count(60, low: 12) {
      let store = try DocumentStore.open(at: directory.database, options: clock.options())
      let documents = try store.defaultCollection()
      if random.below(4) == 0 { versions[random.below(2)] += 1 }
      let views = [
        SampleView.values(version: versions[0], random.below(2) == 0 ? .sum : .none),
        SampleView.tags(version: versions[1]),
      ]
      // Some writers do not know the views, and some learn of them in between.
      let known = views.filter { _ in random.below(3) > 0 }
      for operation in 0..<random.below(60) {
        if operation == 10 { for view in known { try store.register(view, of: documents) } }
        if operation > 10, random.below(12) == 0 {
          for view in known { try compare(view, store, documents, random.replay) }
        }
        if random.below(4) == 0 {
          try batch(store, documents, known.first, operation > 10, clock, &random)
        } else {
          try change(store, documents, clock, &random)
        }
        if random.below(15) == 0 { clock.advance(3) }
      }
      if random.below(5) == 0 { try store.purgeExpired() }
      if random.below(5) == 0 { try store.compact() }
      if random.below(3) == 0 {
        for view in views {
          try store.register(view, of: documents)
          try compare(view, store, documents, random.replay)
          compared += 1
        }
      }
      let faults = try store.verify(deep: true).faults
      #expect(faults == [], "round \(round); \(random.replay)")
      try store.close()
    }
    print("ViewModelTests: \(compared) comparisons at the end of rounds; seed \(seed)")
  }

  private func compare(
    _ view: ViewDefinition, _ store: DocumentStore, _ documents: CollectionHandle, _ label: String
  ) throws {
    let reads = try store.reads(view, of: documents)
    let wanted = try store.recomputedRows(view, in: documents)
    #expect(try reads.shownRows() == wanted, "\(label)")
    #expect(try reads.count() == wanted.count, "\(label)")
  }

  private func batch(
    _ store: DocumentStore, _ documents: CollectionHandle, _ view: ViewDefinition?, _ isKnown: Bool,
    _ clock: TestClock, _ random: inout SeededRandom
  ) throws {
    let fails = random.below(4) == 0
    do {
      try store.write { _ in
        for _ in 0..<random.below(6) { try change(store, documents, clock, &random) }
        if let view, isKnown { try compare(view, store, documents, "in a batch; \(random.replay)") }
        if fails { throw OnPurpose() }
      }
    } catch is OnPurpose {}
  }

  private func change(
    _ store: DocumentStore, _ documents: CollectionHandle, _ clock: TestClock,
    _ random: inout SeededRandom
  ) throws {
    let id = "doc \(random.below(25))"
    let tags = (0..<random.below(4)).map { _ in #""t\#(random.below(5))""# }.joined(separator: ",")
    let keys = ["1", "2.5", "null", #""a""#, #""b""#, #"["a",1]"#, "{}", "true"]
    var members = [#""tags":[\#(tags)]"#]
    if random.below(5) > 0 { members.append(#""k":\#(keys[random.below(keys.count)])"#) }
    if random.below(6) > 0 { members.append(#""v":\#(random.below(9))"#) }
    if random.below(9) == 0 { members.append(#""fails":1"#) }
    let body = "{\(members.joined(separator: ","))}"
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
