import Dispatch
import LatewoodConcurrency
import LatewoodDocuments
import LatewoodSimulation
import LatewoodStore
import LatewoodTestSupport
import Testing

@Suite struct ObserverTests {
  /// The events of an observer, until a number of changes have arrived.
  final class Listener: Sendable {
    private let list = Guarded<[CollectionChange]>([])
    private let arrived = DispatchSemaphore(value: 0)
    let queue = DispatchQueue(label: "test.listener")

    func take(_ event: CollectionChange) {
      list.withLock { $0.append(event) }
      for _ in event.entries { arrived.signal() }
      if event.kind != .changed { arrived.signal() }
    }

    var events: [CollectionChange] { list.withLock { $0 } }
    var changes: [CollectionChange.Entry] { events.flatMap(\.entries) }

    /// Returns false if not enough events arrive in time.
    func wait(for count: Int) -> Bool {
      for _ in 0..<count where arrived.wait(timeout: Patience.deadline) == .timedOut { return false }
      return true
    }
  }

  @Test func `observers are told after the commit, even of losing revisions, purges and expiries`() throws {
    let clock = TestClock()
    let store = try DocumentStore.inMemory(options: clock.options())
    let documents = try store.defaultCollection()
    let listener = Listener()
    let token = try store.addListener(on: listener.queue) { listener.take($0) }
    let first = try store.save("a", "one")
    let loser = try RevisionID("1-00")
    try store.write { try $0.insert("a", in: documents, history: [loser], body: [1]) }
    try store.write { try $0.setExpiry(of: "a", in: documents, clock.now + 5) }
    try store.save("b", "two")
    try store.write { try $0.purge("b", in: documents) }
    clock.advance(5)
    #expect(try store.purgeExpired() == 1)
    #expect(throws: OnPurpose.self) {
      try store.write { _ in
        try store.save("c", "never")
        throw OnPurpose()
      }
    }
    #expect(listener.wait(for: 5))
    let changes = listener.changes
    #expect(changes.map(\.id) == ["a", "a", "b", "b", "a"])
    #expect(changes.map(\.reason) == [.saved, .saved, .saved, .purged, .expired])
    #expect(changes[1].revision == first.revision && changes[1].hasConflicts && changes[1].sequence == 2)
    token.cancel()
    try store.save("d", "unheard")
    listener.queue.sync {}
    #expect(listener.changes.count == 5)
  }

  @Test func `a batch reports each document once, at its last change`() throws {
    let store = try DocumentStore.inMemory()
    let listener = Listener()
    let token = try store.addListener(collection: "_default", on: listener.queue) { listener.take($0) }
    try store.write { _ in
      let first = try store.save("a", "one")
      try store.save("b", "one")
      try store.save("a", "two", over: first.revision)
    }
    #expect(listener.wait(for: 2))
    #expect(listener.events.count == 1)
    #expect(listener.changes.map(\.id) == ["b", "a"] && listener.changes.map(\.sequence) == [2, 3])
    _ = try store.createCollection("other")
    try store.dropCollection("other")
    try store.close()
    #expect(listener.wait(for: 1))
    #expect(listener.events.map(\.kind) == [.changed, .closed])
    token.cancel()
  }

  @Test func `under load no change is missed, and all arrive in sequence order`() throws {
    let store = try DocumentStore.inMemory()
    let listener = Listener()
    let token = try store.addListener(on: listener.queue) { listener.take($0) }
    inParallel(4) { thread in
      for number in 0..<100 { try store.save("\(thread) \(number)", "x") }
    }
    #expect(listener.wait(for: 400))
    #expect(listener.changes.map(\.sequence) == Array(1...400))
    token.cancel()
  }

  @Test func `a live feed neither misses nor repeats changes across its start`() async throws {
    let store = try DocumentStore.inMemory()
    let documents = try store.defaultCollection()
    for number in 0..<300 { try store.save("before \(number)", "x") }
    let feed = store.continuousFeed(of: documents)
    let reader = Task {
      var sequences: [UInt64] = []
      for try await change in feed {
        sequences.append(change.sequence)
        if sequences.count == 700 { break }
      }
      return sequences
    }
    for thread in 0..<4 {
      DispatchQueue(label: "test.\(thread)").async {
        for number in 0..<100 {
          do { try store.save("\(thread) \(number)", "x") } catch { Issue.record(error) }
        }
      }
    }
    #expect(try await reader.value == Array(1...700))
  }

  @Test func `a live feed ends with its task, and throws when the database closes`() async throws {
    let store = try DocumentStore.inMemory()
    let feed = store.continuousFeed(of: try store.defaultCollection())
    let cancelled = Task {
      for try await _ in feed {}
      return true
    }
    cancelled.cancel()
    #expect(try await cancelled.value)
    let closed = Task {
      for try await change in feed where change.id == "never" { return }
    }
    try store.save("a", "x")
    try store.close()
    await #expect(throws: DatabaseError.self) { try await closed.value }
  }

  @Test func `a live feed throws when its collection is dropped`() async throws {
    let store = try DocumentStore.inMemory()
    let fruit = try store.createCollection("fruit")
    let feed = store.continuousFeed(of: fruit)
    let reader = Task { for try await change in feed where change.id == "never" { return } }
    try store.save("apple", "x", in: fruit)
    try store.dropCollection("fruit")
    let error = await #expect(throws: DatabaseError.self) { try await reader.value }
    #expect(error?.code == .notFound)
  }
}
