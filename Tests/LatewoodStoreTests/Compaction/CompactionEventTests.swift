import LatewoodConcurrency
import LatewoodSimulation
import Testing

@testable import LatewoodStore

/// The events of automatic compactions, on a disk with a block that it cannot read.
@Suite struct CompactionEventTests {
  private let volume = SimulatedVolume(seed: 31)
  private let events = Guarded<[StoreEvent]>([])

  private var failures: [CompactionFailure] {
    events.withLock { $0 }.compactMap { if case .compactionFailed(let failure) = $0 { failure } else { nil } }
  }

  private func options(_ onEvent: @escaping @Sendable (StoreEvent) -> Void) -> Store.Options {
    var options = Store.Options()
    options.durability = .relaxed
    options.punchesHoles = false
    options.reading = .buffered(cacheBytes: 1 << 20)
    options.compaction.minimumSize = 1 << 16
    options.compaction.urgentDeadShare = 0.5
    options.onEvent = onEvent
    return options
  }

  private func open(_ options: Store.Options) throws -> (Store, Keyspace) {
    let store = try Store.open(
      at: "db", on: volume, mode: .openOrCreate, options: options, environment: .system)
    return (store, try store.keyspace("a"))
  }

  /// Creates a database with an entry of which the disk cannot read the value.
  private func makeUnreadable() throws {
    var options = Store.Options()
    options.compaction = .manual
    let (store, space) = try open(options)
    let value = [UInt8](repeating: 0xAB, count: 5000)
    try store.put("lost", value, in: space)
    try store.close()
    let bytes = try volume.liveBytes(of: "db")
    let start = try #require(bytes.firstRange(of: value)).lowerBound
    let block = UInt64(start + 511) / 512 * 512
    volume.makeUnreadable("db", block..<block + 512)
  }

  private static func overwrite(_ store: Store, _ space: Keyspace, _ byte: UInt8) throws {
    try store.write { transaction in
      for number in 0..<300 {
        try transaction.put("key \(number)", [UInt8](repeating: byte, count: 400), in: space)
      }
    }
    try store.checkpoint()
  }

  /// Overwrites entries until there are `count` events.
  private func work(_ store: Store, _ space: Keyspace, until count: Int) throws {
    var byte: UInt8 = 0
    try Patience.wait {
      byte &+= 1
      try Self.overwrite(store, space, byte)
      return events.withLock { $0.count } >= count
    }
  }

  @Test func `an unreadable block is reported at every attempt, and work continues`() throws {
    try makeUnreadable()
    let (store, space) = try open(options { [events] event in events.withLock { $0.append(event) } })
    try work(store, space, until: 3)
    let failures = failures
    #expect(failures.count == events.withLock { $0.count })
    for (index, failure) in failures.enumerated() {
      #expect(failure.error.code == .inputOutput)
      #expect(failure.error.offset != nil)
      #expect(failure.attempts == index + 1)
      #expect(failure.bytesUntilRetry == UInt64(1 << 16) << UInt64(index))
    }
    let statistics = try store.statistics()
    #expect(statistics.compactionFailure == failures.last?.error)
    #expect(statistics.failedCompactions == failures.count)
    #expect(try store.get("key 7", in: space)?.count == 400)
    try store.put("other", "1", in: space)
    #expect(try store.get("other", in: space) == Array("1".utf8))
    volume.makeAllReadable()
    try work(store, space, until: failures.count + 1)
    guard case .compactionFinished(let report)? = events.withLock({ $0.last }) else {
      Issue.record("\(events.withLock { $0 })")
      return
    }
    #expect(report.bytesAfter < report.bytesBefore && !report.isInPlace)
    #expect(try store.statistics().compactionFailure == nil)
    #expect(try store.statistics().failedCompactions == 0)
    try store.close()
  }

  @Test func `the closure may read, write, compact and close the store`() throws {
    try makeUnreadable()
    let open = Guarded<(Store, Keyspace)?>(nil)
    let outcome = Guarded<String?>(nil)
    let options = options { event in
      guard let (store, space) = open.withLock({ $0 }), outcome.withLock({ $0 }) == nil else { return }
      do {
        try store.put("from the closure", "1", in: space)
        _ = try store.statistics()
        try store.checkpoint()
        do { try store.compact() } catch let error as StoreError where error.code == .inputOutput {}
        let found = try store.get("from the closure", in: space) != nil
        try store.close()
        outcome.withLock { $0 = found ? "done" : "lost" }
      } catch {
        outcome.withLock { $0 = "\(error)" }
      }
    }
    let (store, space) = try self.open(options)
    open.withLock { $0 = (store, space) }
    var byte: UInt8 = 0
    try Patience.wait {
      byte &+= 1
      do { try Self.overwrite(store, space, byte) } catch let error as StoreError where error.code == .closed
      {}
      return outcome.withLock { $0 } != nil
    }
    #expect(outcome.withLock { $0 } == "done")
    open.withLock { $0 = nil }
  }

  @Test func `a failure while the store closes is reported once, and names no further attempt`() throws {
    try makeUnreadable()
    let again = Guarded<Store?>(nil)
    var options = options { [events] event in
      events.withLock { $0.append(event) }
      do { try again.withLock { $0 }?.close() } catch { Issue.record(error) }
    }
    // Large dead data, which only a compaction could remove, and no compaction while it is open.
    options.compaction.minimumSize = .max
    options.keepsBoundsWhenClosed = true
    options.compaction.deadShare = 0.95
    options.compaction.urgentDeadShare = 0.95
    let (store, space) = try open(options)
    again.withLock { $0 = store }
    let large = [UInt8](repeating: 1, count: 1 << 20)
    for number in 0..<90 { try store.put("key \(number % 2)", large, in: space) }
    try store.close()
    Patience.wait { events.withLock { !$0.isEmpty } }
    #expect(failures.map(\.error.code) == [.inputOutput])
    #expect(failures.map(\.attempts) == [1])
    #expect(failures.map(\.bytesUntilRetry) == [nil])
    again.withLock { $0 = nil }
  }

  @Test func `options are equal to their copies, with a closure too`() {
    let some = options { _ in }
    var other = some
    #expect(some == other)
    other.onEvent = { _ in }
    #expect(some != other)
    #expect(Store.Options() == Store.Options())
  }
}
