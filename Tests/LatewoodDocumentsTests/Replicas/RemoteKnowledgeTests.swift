import LatewoodFleece
import LatewoodSimulation
import LatewoodStore
import Testing

@testable import LatewoodDocuments

/// What other databases are known to have, and the bodies that are kept because of it.
@Suite struct RemoteKnowledgeTests {
  @Test(arguments: 0..<50 as Range<UInt64>) func `knowledge is a set of sequences`(number: UInt64) throws {
    var random = SeededRandom(seed: SeededRandom.seed(number))
    var knowledge = RemoteKnowledge("http://localhost/a")
    var known: Set<UInt64> = []
    var refused: Set<UInt64> = []
    for _ in 0..<100 {
      let place = UInt64(random.below(200)) + 1
      if random.below(3) > 0 {
        let range = place...place + UInt64(random.below(5))
        knowledge.notePull(range)
        known.formUnion(range)
      } else {
        let refusals = (0..<3).map { _ in UInt64(random.below(200)) + 1 }
        let before = knowledge.pushed
        knowledge.notePush(through: place, refused: refusals)
        refused.formUnion(refusals.filter { $0 <= max(before, place) })
        known.formUnion(1...place)
      }
      // A refusal only counts before the place that a push has reached.
      let wrong = (0...220 as ClosedRange<UInt64>).filter { sequence in
        let isRefused = sequence <= knowledge.pushed && refused.contains(sequence)
        return knowledge.contains(sequence) != (known.contains(sequence) && !isRefused)
      }
      #expect(wrong == [], "\(random.replay)")
    }
    #expect(try RemoteKnowledge(knowledge.encoded()) == knowledge)
    #expect(
      zip(knowledge.pulled, knowledge.pulled.dropFirst()).allSatisfy { $0.upperBound + 1 < $1.lowerBound })
  }

  @Test func `knowledge is bounded, and the latest stays`() throws {
    var knowledge = RemoteKnowledge("a")
    for number in 0..<3000 as Range<UInt64> { knowledge.notePull(number * 2 + 2...number * 2 + 2) }
    #expect(knowledge.pulled.count == RemoteKnowledge.limit)
    #expect(knowledge.contains(6000) && !knowledge.contains(2) && !knowledge.contains(5999))
    knowledge.notePush(through: 10_000, refused: (1...5000).map { $0 })
    #expect(knowledge.refused.count == RemoteKnowledge.limit && knowledge.pulled.isEmpty)
    #expect(!knowledge.contains(5000) && knowledge.contains(5001) && !knowledge.contains(10_001))
  }

  @Test func `a local document of another form is not knowledge`() throws {
    for json in [
      "{}", #"{"remote":1,"pushed":1,"refused":[],"pulled":[]}"#,
      #"{"remote":"a","pushed":-1,"refused":[],"pulled":[]}"#,
      #"{"remote":"a","pushed":1.5,"refused":[],"pulled":[]}"#,
      #"{"remote":"a","pushed":1,"refused":["x"],"pulled":[]}"#,
      #"{"remote":"a","pushed":1,"refused":[],"pulled":[3]}"#, #"{"remote":"a","pushed":1,"refused":{}}"#,
    ] {
      #expect(try RemoteKnowledge(JSON.fleece(from: json)) == nil, "\(json)")
    }
    let largest =
      #"{"remote":"a","pushed":18446744073709551615,"refused":[18446744073709551615],"pulled":[9,3]}"#
    let knowledge = try #require(try RemoteKnowledge(JSON.fleece(from: largest)))
    #expect(knowledge.contains(7) && !knowledge.contains(.max) && knowledge.pulled.isEmpty)
  }

  /// A document with the revisions 1 to 6 in a row, of which a remote has some.
  private func kept(
    pushed: UInt64, refused: [UInt64] = [], pulled: [ClosedRange<UInt64>] = []
  ) throws -> [UInt64] {
    let store = try DocumentStore.inMemory(options: TestClock().options())
    let collection = try store.defaultCollection()
    try store.write(durability: .relaxed) { writer in
      var parent: RevisionID?
      for _ in 1...6 {
        parent = try writer.save(
          "a", in: collection, body: try JSON.fleece(from: "{}"), parent: parent, policy: .failOnConflict
        ).revision
      }
      var knowledge = RemoteKnowledge("b")
      knowledge.notePush(through: pushed, refused: refused)
      for range in pulled { knowledge.notePull(range) }
      try writer.putLocal(RemoteKnowledge.name("b"), in: collection, body: knowledge.encoded())
    }
    try store.sweep()
    #expect(try store.verify().faults == [])
    #expect(try store.reclaimableBytes() == 0)
    let reads = try store.reads(collection)
    return try (1...6).filter { try reads.body(at: $0) != nil }
  }

  @Test func `a sweep keeps the nearest ancestor that the remote has`() throws {
    #expect(try kept(pushed: 0) == [6])
    #expect(try kept(pushed: 3) == [3, 6])
    #expect(try kept(pushed: 6) == [6])
    #expect(try kept(pushed: 1, pulled: [4...4]) == [4, 6])
    #expect(try kept(pushed: 1, pulled: [2...3, 6...6]) == [6])
    #expect(try kept(pushed: 6, refused: [5, 6]) == [4, 6])
    #expect(try kept(pushed: 6, refused: [5]) == [6])
  }

  @Test func `pruning keeps the same`() throws {
    let store = try DocumentStore.inMemory(options: TestClock().options())
    let collection = try store.defaultCollection()
    try store.write(durability: .relaxed) { writer in
      for id in ["a", "b"] {
        for number in 1...5 {
          try writer.save(
            id, in: collection, body: try JSON.fleece(from: #"{"n":\#(number)}"#), parent: nil,
            policy: .lastWriteWins)
        }
      }
      try writer.notePush(to: "b", through: 2, refused: [], in: collection)
    }
    // Of the second document, the remote has nothing.
    #expect(try store.snapshot().prunable(keeping: 2).documents == 1)
    #expect(try store.prune(keeping: 2).documents == 1)
    let reads = try store.reads(collection)
    #expect(try reads.record(of: "a")?.tree.nodes.count == 5)
    #expect(try reads.body(at: 2) != nil)
    #expect(try reads.record(of: "b")?.tree.nodes.count == 2)
    #expect(try store.verify().faults == [])
  }
}
