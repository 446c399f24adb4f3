import Dispatch
import Foundation
import Latewood
import LatewoodConcurrency
import LatewoodSimulation
import LatewoodStore
import Testing

/// Several handles to one file in one process.
@Suite struct SecondHandleTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func open(
    _ durability: Durability = .relaxed, _ compaction: CompactionPolicy = CompactionPolicy()
  ) throws -> Database {
    var configuration = Database.Configuration()
    configuration.durability = durability
    configuration.compaction = compaction
    return try Database.open(at: directory.file, configuration: configuration)
  }

  /// Returns whether a change makes the commits so far durable.
  private func isDurable(_ database: Database, _ change: () throws -> Void) throws -> Bool {
    let before = try database.statistics().durableThrough
    try change()
    return try database.statistics().durableThrough > before
  }

  @Test func `each handle saves with its own durability`() throws {
    let (relaxed, synchronous) = (try open(.relaxed), try open(.synchronous))
    let (lax, strict) = (try relaxed.defaultCollection, try synchronous.defaultCollection)
    #expect(try !isDurable(relaxed) { try lax.save(MutableDocument(id: "a")) })
    #expect(try isDurable(relaxed) { try strict.save(MutableDocument(id: "b")) })
    #expect(try !isDurable(relaxed) { try lax.delete("a") })
    #expect(try isDurable(relaxed) { _ = try synchronous.createCollection("strict") })
    #expect(try !isDurable(relaxed) { _ = try relaxed.createCollection("lax") })
    #expect(try isDurable(relaxed) { try synchronous.dropCollection("lax") })
    #expect(try isDurable(relaxed) { try synchronous.setRevisionDepth(7) })
    // The order of opening does not matter.
    let third = try open(.relaxed)
    #expect(try !isDurable(relaxed) { try third.defaultCollection.save(MutableDocument(id: "c")) })
    #expect(
      try isDurable(relaxed) { _ = try synchronous.inBatch { try strict.save(MutableDocument(id: "d")) } })
  }

  @Test func `in a batch shared by several handles, the strictest durability applies`() throws {
    let (relaxed, synchronous) = (try open(.relaxed), try open(.synchronous))
    let (lax, strict) = (try relaxed.defaultCollection, try synchronous.defaultCollection)
    let both = {
      try relaxed.inBatch {
        try lax.save(MutableDocument())
        try strict.save(MutableDocument())
        try lax.save(MutableDocument())
      }
    }
    #expect(try isDurable(relaxed) { _ = try both() })
    #expect(try !isDurable(relaxed) { _ = try relaxed.inBatch { try lax.save(MutableDocument()) } })
  }

  @Test func `a compaction policy that differs from another handle's is refused`() throws {
    var policy = CompactionPolicy.manual
    let first = try open(.relaxed, policy)
    try open(.relaxed, policy).close()
    // The default policy accepts any.
    try open().close()
    policy.deadShare = 0.8
    refusal(.invalidParameter) { _ = try open(.relaxed, policy) }
    try first.close()
    try open(.relaxed, policy).close()
  }

  @Test func `closing a handle ends its own listeners and feeds, and no others`() async throws {
    let (first, second) = (try open(), try open())
    let people = try second.defaultCollection
    let queue = DispatchQueue(label: "test.listeners")
    let told = Guarded<[String]>([])
    let tokens = [
      try first.addListener(on: queue) { change in
        told.withLock { $0.append("first \(change.entries[0].id)") }
      },
      try second.addListener(on: queue) { change in
        told.withLock { $0.append("second \(change.entries[0].id)") }
      },
    ]
    let feed = try first.defaultCollection.feed()
    let (saves, seen) = AsyncStream.makeStream(of: String.self)
    let reader = Task {
      defer { seen.finish() }
      for try await change in feed { seen.yield(change.id) }
    }
    try await people.save(MutableDocument(id: "a"))
    #expect(await saves.first { _ in true } == "a")
    try await first.close()
    // The call waits for changes, but there are no saves.
    let error = await #expect(throws: DatabaseError.self) { try await reader.value }
    #expect(error?.code == .notOpen)
    try await people.save(MutableDocument(id: "b"))
    await Self.passes(queue)
    #expect(told.withLock { $0 } == ["first a", "second a", "second b"])
    refusal(.notOpen) { _ = try first.addListener { _ in } }
    withExtendedLifetime(tokens) {}
  }

  private static func passes(_ queue: DispatchQueue) async {
    await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
  }
}
