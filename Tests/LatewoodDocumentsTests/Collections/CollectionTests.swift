import Dispatch
import LatewoodDevice
import LatewoodSimulation
import LatewoodStore
import LatewoodTestSupport
import Testing

@testable import LatewoodDocuments

/// Collections that are created, looked up and dropped while others do the same.
@Suite struct CollectionTests {
  @Test func `concurrent batches that create the same collection share it and lose nothing`() throws {
    let directory = try TemporaryDirectory()
    let store = try DocumentStore.open(at: directory.database)
    let rounds = 20
    let threads = 4
    for round in 0..<rounds {
      let name = "round\(round)"
      inParallel(threads) { thread in
        try store.write { _ in
          let collection = try store.createCollection(name)
          try store.save("document \(thread)", "by \(thread)", in: collection)
        }
      }
      let reads = try store.reads(#require(try store.collection(name)))
      #expect(try reads.count() == threads)
      #expect(try reads.lastSequence() == UInt64(threads))
      #expect(try reads.changes().map(\.sequence) == Array(1...UInt64(threads)))
    }
    try store.expectSound()
    try store.close()
  }

  @Test func `a batch sees the collections of a commit that readers do not see yet`() throws {
    let directory = try TemporaryDirectory()
    let store = try DocumentStore.open(at: directory.database)
    for round in 0..<20 {
      let digest = try store.putBlob([UInt8](repeating: UInt8(round), count: 100)).digest
      let isWritten = DispatchSemaphore(value: 0)
      let isDone = DispatchSemaphore(value: 0)
      DispatchQueue(label: "test.creator").async {
        do {
          try store.write(durability: .synchronous) { _ in
            let collection = try store.createCollection("round\(round)")
            try store.save("a", "with a blob", in: collection, blobs: [digest])
            isWritten.signal()
          }
        } catch { Issue.record(error) }
        isDone.signal()
      }
      isWritten.wait()
      try store.write(durability: .relaxed) { writer throws in
        #expect(try writer.batch.unused([digest]) == [], "a sweep would take a blob that is in use")
        #expect(try store.collection("round\(round)") != nil)
      }
      isDone.wait()
    }
    try store.expectSound()
    try store.close()
  }

  @Test func `a name can be reused despite races with the drop of its collection`() throws {
    let store = try DocumentStore.inMemory()
    for _ in 0..<3 {
      inParallel(4) { thread in
        for _ in 0..<(thread == 0 ? 20 : 300) {
          do {
            if thread > 0 {
              _ = try store.collection("birds").map { try store.reads($0).lastSequence() }
            } else {
              try store.save("owl", "brown", in: store.createCollection("birds"))
              try store.dropCollection("birds")
            }
          } catch let error as DatabaseError where error.code == .notFound {
            // The collection was dropped in the meantime.
          }
        }
      }
      try store.dropCollection("birds")
      #expect(try store.collection("birds") == nil)
      #expect(try store.collectionNames() == ["_default"])
      let birds = try store.createCollection("birds")
      try store.save("owl", "brown", in: birds)
      #expect(try store.reads(birds).totals() == (1, 0))
      try store.expectSound()
      try store.dropCollection("birds")
    }
  }

  @Test func `a handle of a dropped collection never refers to a later one with the same name`() throws {
    let store = try DocumentStore.inMemory()
    let old = try store.createCollection("birds")
    try store.save("owl", "brown", in: old)
    let snapshot = try store.snapshot()
    #expect(try store.dropCollection("birds"))
    #expect(try !store.dropCollection("birds"))
    for isAgain in [false, true] {
      if isAgain { try store.save("tit", "blue", in: store.createCollection("birds")) }
      refusal(.notFound) { _ = try store.reads(old).lastSequence() }
      refusal(.notFound) { _ = try store.reads(old).totals() }
      refusal(.notFound) { _ = try store.reads(old).count() }
      refusal(.notFound) { _ = try store.reads(old).head(of: "owl") }
      refusal(.notFound) { try store.save("owl", "white", in: old) }
      refusal(.notFound) { try store.write { _ = try $0.putLocal("a", in: old, body: [1]) } }
    }
    #expect(try snapshot.reads(old).totals() == (1, 0), "a state of the past has it")
    let new = try #require(try store.collection("birds"))
    #expect(new.identity != old.identity)
    #expect(try store.reads(new).totals() == (1, 0) && store.reads(new).lastSequence() == 1)
    try store.expectSound()
  }

  @Test func `a handle from a failed batch never refers to a later collection with the same name`() throws {
    let store = try DocumentStore.inMemory()
    var lost: CollectionHandle?
    #expect(throws: OnPurpose.self) {
      try store.write { _ in
        lost = try store.createCollection("birds")
        throw OnPurpose()
      }
    }
    let old = try #require(lost)
    let new = try store.createCollection("birds")
    try store.save("tit", "blue", in: new)
    refusal(.notFound) { _ = try store.reads(old).count() }
    refusal(.notFound) { _ = try store.reads(old).lastSequence() }
    refusal(.notFound) { try store.save("owl", "white", in: old) }
    #expect(try store.reads(new).totals() == (1, 0))
    try store.expectSound()
  }

  @Test func `a collection keeps its identity until it is dropped`() throws {
    let directory = try TemporaryDirectory()
    let store = try DocumentStore.open(at: directory.database)
    let birds = try store.createCollection("birds")
    let standard = try store.defaultCollection()
    #expect(birds.identity.bytes.count == 16 && birds.identity != standard.identity)
    try store.save("owl", "brown", in: birds)
    try store.compact()
    try store.close()
    let reader = try DocumentStore.open(at: directory.database, mode: .readOnly)
    #expect(try reader.collection("birds")?.identity == birds.identity)
    #expect(try reader.defaultCollection().identity == standard.identity)
    let writer = try DocumentStore.open(at: directory.database)
    try writer.dropCollection("birds")
    let again = try writer.createCollection("birds")
    #expect(again.identity != birds.identity)
    try reader.refresh()
    #expect(try reader.collection("birds")?.identity == again.identity, "another one has dropped it")
    try reader.close()
    try writer.close()
  }

  @Test func `closing inside a batch is refused, and the handle stays open`() throws {
    let directory = try TemporaryDirectory()
    let store = try DocumentStore.open(at: directory.database)
    try store.write { _ in
      refusal(.busy) { try store.close() }
      try store.save("a", "one")
    }
    #expect(try store.body("a") == "one")
    try store.close()
    refusal(.notOpen) { _ = try store.body("a") }
    let again = try DocumentStore.open(at: directory.database)
    #expect(try again.body("a") == "one")
    try again.close()
  }

  @Test func `the revision depth is part of the batch that sets it`() throws {
    let store = try DocumentStore.inMemory()
    #expect(throws: OnPurpose.self) {
      try store.write { _ in
        try store.setDepth(1)
        throw OnPurpose()
      }
    }
    #expect(store.depth == RevisionTree.usualDepth)
    let first = try store.save("a", "one")
    try store.save("a", "two", over: first.revision)
    #expect(try store.reads(store.defaultCollection()).record(of: "a")?.tree.nodes.count == 2)
    try store.write { _ in
      try store.setDepth(1)
      let first = try store.save("b", "one")
      try store.save("b", "two", over: first.revision)
      #expect(try store.reads(store.defaultCollection()).record(of: "b")?.tree.nodes.count == 1)
    }
    #expect(store.depth == 1)
    try store.expectSound()
  }
}
