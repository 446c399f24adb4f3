import LatewoodDevice
import LatewoodDocuments
import LatewoodSimulation
import LatewoodStore
import LatewoodTestSupport
import Testing

@Suite struct BatchTests {
  @Test func `a collection created in a batch is part of the batch`() throws {
    let directory = try TemporaryDirectory()
    let store = try DocumentStore.open(at: directory.database)
    let fruit = try store.write { _ in
      let fruit = try store.createCollection("fruit")
      #expect(try store.createCollection("fruit") === fruit && store.collection("fruit") === fruit)
      #expect(try store.collectionNames() == ["_default", "fruit"])
      inParallel(1) { _ throws in
        let found = try store.collection("fruit")
        #expect(found == nil, "others do not see it yet")
      }
      try store.save("apple", "red", in: fruit)
      #expect(try store.reads(fruit).count() == 1)
      return fruit
    }
    #expect(try store.collection("fruit") === fruit)
    try store.save("pear", "green", in: fruit)
    var lost: CollectionHandle?
    #expect(throws: OnPurpose.self) {
      try store.write { _ in
        let birds = try store.createCollection("birds")
        lost = birds
        try store.save("owl", "brown", in: birds)
        throw OnPurpose()
      }
    }
    let birds = try #require(lost)
    #expect(try store.collection("birds") == nil && store.collectionNames() == ["_default", "fruit"])
    refusal(.notFound) { try store.save("owl", "brown", in: birds) }
    refusal(.notFound) { _ = try store.reads(birds).count() }
    let fish = try store.createCollection("fish")
    try store.save("carp", "grey", in: fish)
    refusal(.notFound) { try store.save("owl", "brown", in: birds) }
    #expect(try store.reads(fish).count() == 1)
    #expect(throws: OnPurpose.self) {
      try store.write { _ in
        try? store.write { _ in
          _ = try store.createCollection("inner")
          throw OnPurpose()
        }
      }
    }
    #expect(try store.collection("inner") == nil)
    try store.expectSound()
    try store.close()
    let again = try DocumentStore.open(at: directory.database)
    #expect(try again.collectionNames() == ["_default", "fish", "fruit"])
    #expect(try again.reads(#require(try again.collection("fruit"))).count() == 2)
    try again.expectSound()
    try again.close()
  }

  @Test func `a batch that throws leaves no trace, and nested batches join the outer one`() throws {
    let store = try DocumentStore.inMemory()
    let documents = try store.defaultCollection()
    #expect(throws: OnPurpose.self) {
      try store.write { writer in
        try writer.save("a", in: documents, body: [1], parent: nil)
        throw OnPurpose()
      }
    }
    #expect(try store.reads(documents).count() == 0)
    try store.write { _ in
      try store.save("a", "outer")
      try store.write { inner in
        try inner.save("b", in: documents, body: [1], parent: nil)
        #expect(try store.reads(documents).document("a") != nil, "a batch sees its own changes")
      }
    }
    #expect(try store.reads(documents).count() == 2)
    try store.expectSound()
  }

  @Test func `a failed inner batch spoils the outer one only if it made changes`() throws {
    let store = try DocumentStore.inMemory()
    let documents = try store.defaultCollection()
    #expect(throws: OnPurpose.self) {
      try store.write { _ in
        try store.save("a", "outer")
        try? store.write { inner in
          try inner.save("b", in: documents, body: [1], parent: nil)
          throw OnPurpose()
        }
      }
    }
    #expect(try store.reads(documents).count() == 0)
    try store.write { _ in
      try store.save("a", "outer")
      refusal(.conflict) { try store.save("a", "again") }
    }
    #expect(try store.body("a") == "outer")
  }

  @Test func `an error of the store is one of documents, also in a batch inside a batch`() throws {
    let store = try DocumentStore.inMemory()
    let long = String(repeating: "a", count: 20_000)
    refusal(.badDocumentID) { try store.save(long, "alone") }
    try store.write { _ in
      refusal(.badDocumentID) { try store.save(long, "inside") }
      try store.save("a", "after it")
    }
    #expect(try store.body("a") == "after it")
  }

  @Test func `eight threads that update one counter lose no increment`() throws {
    let directory = try TemporaryDirectory()
    let store = try DocumentStore.open(at: directory.database)
    let documents = try store.defaultCollection()
    inParallel(8) { _ in
      for _ in 0..<50 {
        while true {
          let old = try store.reads(documents).document("counter")
          let count = old.flatMap { Int(String(decoding: $0.body, as: UTF8.self)) } ?? 0
          do {
            // Two threads that both count from 5 to 6 make the same edit, but only one can save it.
            try store.save("counter", "\(count + 1)", over: old?.head.winner)
            break
          } catch let error as DatabaseError where error.code == .conflict {}
        }
      }
    }
    #expect(try store.body("counter") == "400")
    #expect(try store.reads(documents).lastSequence() == 400)
    try store.expectSound()
    try store.close()
  }

  @Test func `insertions race with updates, and every branch is kept`() throws {
    let store = try DocumentStore.inMemory()
    let documents = try store.defaultCollection()
    let root = try store.save("a", "root").revision
    inParallel(4) { thread in
      for number in 0..<50 {
        if thread % 2 == 0 {
          let body = bytes("\(thread) \(number)")
          let id = body.withUnsafeBytes { RevisionID(editing: root, isDeleted: false, body: $0) }
          try store.write(durability: .relaxed) {
            try $0.insert("a", in: documents, history: [id, root], body: body)
          }
        } else {
          try store.save("a", "update \(thread) \(number)", policy: .lastWriteWins)
        }
        if number % 20 == 0 { try store.sweep() }
      }
    }
    let record = try #require(try store.reads(documents).record(of: "a"))
    #expect(record.tree.nodes.count >= 100)
    let bodies = try record.tree.leaves.map { try store.reads(documents).body(at: $0.body) }
    #expect(bodies.allSatisfy { $0 != nil })
    try store.expectSound()
  }
}
