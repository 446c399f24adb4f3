import Dispatch
import LatewoodConcurrency
import LatewoodDocuments
import LatewoodSimulation
import LatewoodStore
import Testing

/// Observers that are slower than the changes.
@Suite struct SlowObserverTests {
  /// A handler that waits until it may continue, and its events.
  private final class SlowListener: Sendable {
    let queue = DispatchQueue(label: "test.slow")
    private let gate = DispatchSemaphore(value: 0)
    private let list = Guarded<[CollectionChange]>([])
    private let isOpen = Guarded(false)

    func take(_ event: CollectionChange) {
      if !isOpen.withLock({ $0 }) { gate.wait() }
      list.withLock { $0.append(event) }
    }

    /// Waits for the end of the events and returns all of them.
    func finish() -> [CollectionChange] {
      isOpen.withLock { $0 = true }
      gate.signal()
      queue.sync {}
      return list.withLock { $0 }
    }
  }

  private let store: DocumentStore
  private let documents: CollectionHandle

  init() throws {
    store = try DocumentStore.inMemory(options: TestClock().options())
    documents = try store.defaultCollection()
  }

  /// Saves documents repeatedly, in batches, and returns the number of saves.
  private func save(documents count: Int, times: Int, batch: Int = 100) throws -> Int {
    var heads: [RevisionID?] = Array(repeating: nil, count: count)
    for round in 0..<times {
      for start in stride(from: 0, to: count, by: batch) {
        try store.write(durability: .relaxed) { writer in
          for number in start..<min(start + batch, count) {
            heads[number] =
              try writer.save(
                "\(number)", in: documents, body: bytes("\(round)"), parent: heads[number]
              ).revision
          }
        }
      }
    }
    return count * times
  }

  private func expectNewest(_ events: [CollectionChange], sourceLocation: SourceLocation = #_sourceLocation)
    throws
  {
    var last: [String: CollectionChange.Entry] = [:]
    var sequence: UInt64 = 0
    for change in events.flatMap(\.entries) {
      guard let next = change.sequence else { continue }
      #expect(next > sequence, sourceLocation: sourceLocation)
      (sequence, last[change.id]) = (next, change)
    }
    for entry in try store.reads(documents).changes() {
      #expect(last[entry.id]?.sequence == entry.sequence, sourceLocation: sourceLocation)
      #expect(last[entry.id]?.revision == entry.revision, sourceLocation: sourceLocation)
    }
  }

  @Test func `the backlog of a slow observer does not grow with the changes`() throws {
    let listener = SlowListener()
    let token = try store.addListener(on: listener.queue) { listener.take($0) }
    let saved = try save(documents: 1000, times: 10)
    let events = listener.finish()
    let told = events.reduce(0) { $0 + $1.entries.count }
    // The commit being handled, 4,096 waiting changes, and one range of the existing documents.
    #expect(told <= 100 + 4096 + 1000, "\(told) of \(saved) changes")
    #expect(events.allSatisfy { $0.isComplete && $0.kind == .changed })
    try expectNewest(events)
    token.cancel()
  }

  @Test func `a slow observer learns of every document, however many there are`() throws {
    let listener = SlowListener()
    let token = try store.addListener(on: listener.queue) { listener.take($0) }
    _ = try save(documents: 5000, times: 1)
    try expectNewest(listener.finish())
    token.cancel()
  }

  @Test func `an observer that keeps up is told of a commit in one event, however large`() throws {
    let listener = SlowListener()
    _ = listener.finish()
    let token = try store.addListener(on: listener.queue) { listener.take($0) }
    _ = try save(documents: 5000, times: 1, batch: 5000)
    listener.queue.sync {}
    #expect(listener.finish().map(\.entries.count) == [5000])
    token.cancel()
  }

  @Test func `a slow observer is told that purges may be missing`() throws {
    let listener = SlowListener()
    let token = try store.addListener(on: listener.queue) { listener.take($0) }
    _ = try save(documents: 100, times: 1)
    try store.write { try $0.purge("7", in: documents) }
    for number in 100..<200 { try store.save("\(number)", "x") }
    let other = try store.createCollection("other")
    try store.save("a", "x", in: other)
    try store.dropCollection("other")
    let large = try store.createCollection("large")
    try store.write(durability: .relaxed) { writer in
      for number in 0..<4100 {
        _ = try writer.save("\(number)", in: large, body: [0], parent: nil)
      }
    }
    let events = listener.finish()
    let ofDefault = events.filter { $0.collection == "_default" }
    #expect(ofDefault.contains { !$0.isComplete })
    #expect(Set(ofDefault.flatMap(\.entries).map(\.id)).isSuperset(of: (100..<200).map { "\($0)" }))
    #expect(events.filter { $0.collection == "other" }.map(\.kind) == [.dropped])
    let changes = events.filter { $0.collection == "large" }.flatMap(\.entries)
    #expect(changes.count == 4100)
    token.cancel()
  }

  @Test func `closing the database is the last event, for slow observers too`() throws {
    let listener = SlowListener()
    let token = try store.addListener(on: listener.queue) { listener.take($0) }
    _ = try save(documents: 50, times: 100)
    try store.close()
    let events = listener.finish()
    #expect(events.last?.kind == .closed && events.count { $0.kind == .closed } == 1)
    token.cancel()
  }

  @Test func `a batch that throws leaves nothing, even while the database closes`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    for _ in 0..<40 {
      let disk = SimulatedVolume()
      let options = TestClock().options()
      let store = try DocumentStore.open(at: "db", on: disk, mode: .createNew, options: options)
      let pause = random.below(40)
      let closer = DispatchQueue(label: "test.closer")
      let hasBegun = DispatchSemaphore(value: 0)
      closer.async {
        hasBegun.wait()
        for _ in 0..<pause { Monitor.yieldProcessor() }
        do { try store.close() } catch { Issue.record(error) }
      }
      var isSaved = false
      do {
        try store.write { writer in
          let fruit = try store.createCollection("fruit")
          hasBegun.signal()
          _ = try writer.save("apple", in: fruit, body: [1], parent: nil)
        }
        isSaved = true
      } catch let error as DatabaseError {
        #expect(error.code == .notOpen, "\(error)")
        hasBegun.signal()
      }
      closer.sync {}
      let again = try DocumentStore.open(at: "db", on: disk, mode: .openExisting, options: options)
      #expect(try (again.collection("fruit") != nil) == isSaved, "\(random.replay)")
      try again.close()
    }
  }
}
