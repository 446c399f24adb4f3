import LatewoodConcurrency
import LatewoodSimulation
import LatewoodStore
import LatewoodTestSupport
import Testing

/// Snapshots, cursors and earlier states shared by several threads while others write; also run
/// under the thread sanitizer.
@Suite struct SnapshotConcurrencyTests {
  private let directory: StoreDirectory
  private let store: Store
  private let space: Keyspace

  init() throws {
    directory = try StoreDirectory()
    var options = Store.Options()
    options.writeBufferBudget = 65_536
    options.nodeSize = 1024
    options.durability = .relaxed
    store = try Store.open(at: directory.store, options: options)
    space = try store.keyspace("a")
    try store.write { for index in 0..<200 { try $0.put(Self.key(index), "0", in: space) } }
  }

  private static func key(_ index: Int) -> String { "key\(1000 + index)" }

  /// Writes rounds of all keys; every state between two transactions has the same value everywhere.
  private func writeRounds(_ count: Int) throws {
    for round in 1...count {
      try store.write { for index in 0..<200 { try $0.put(Self.key(index), "\(round)", in: space) } }
    }
  }

  private static func checkWhole(_ source: some Readable, _ space: Keyspace) throws {
    let cursor = try source.cursor(in: space)
    var first: [UInt8]?
    var count = 0
    while try cursor.next() {
      let value = try cursor.value()
      if let first, first != value { throw Wrong("two values in one state") }
      first = value
      count += 1
    }
    guard count == 200 else { throw Wrong("\(count) entries") }
  }

  @Test func `several threads can read a snapshot that another one closes`() throws {
    let rounds = 150
    let writing = Countdown(1)
    inParallel(4) { thread in
      if thread == 0 {
        defer { writing.oneIsDone() }
        return try writeRounds(rounds)
      }
      while !writing.isOver {
        let snapshot = try store.snapshot()
        inParallel(2) { reader in
          if reader == 0, thread == 1 { return snapshot.close() }
          do {
            try Self.checkWhole(snapshot, space)
          } catch let error as StoreError where error.code == .snapshotClosed && thread == 1 {
            // The other thread closed it first.
          }
        }
      }
    }
    #expect(try store.get(Self.key(7), in: space) == Array("\(rounds)".utf8))
    #expect(try store.statistics().openSnapshots == 0)
    #expect(try store.verify().faults == [])
    try store.close()
  }

  @Test func `past states can be opened at any moment, and old snapshots stay intact`() throws {
    try store.checkpoint()
    let old = try store.snapshot()
    let writing = Countdown(1)
    inParallel(3) { thread in
      if thread == 0 {
        defer { writing.oneIsDone() }
        return try writeRounds(300)
      }
      while !writing.isOver {
        let history = try store.history()
        for checkpoint in history.prefix(3) {
          let past = try store.snapshot(asOf: checkpoint)
          try Self.checkWhole(past, try past.keyspaces()[0])
        }
        let now = try store.snapshot()
        try Self.checkWhole(now, space)
        try Self.checkWhole(old, space)
      }
    }
    #expect(try Set(old.entries(in: space).map(\.value)) == [Array("0".utf8)])
    #expect(try store.verify().faults == [])
    try store.close()
  }

  @Test func `keyspaces can be created and dropped while others are read`() throws {
    let writing = Countdown(2)
    inParallel(4) { thread in
      if thread < 2 {
        defer { writing.oneIsDone() }
        for round in 0..<100 {
          let own = try store.keyspace("own\(thread)")
          try store.write { for index in 0..<20 { try $0.put("\(index)", "\(round)", in: own) } }
          guard try store.count(in: own) == 20 else { throw Wrong("not 20 entries") }
          try store.dropKeyspace(own)
        }
        return
      }
      while !writing.isOver {
        try Self.checkWhole(store, space)
        let snapshot = try store.snapshot()
        for handle in try snapshot.keyspaces() where handle != space {
          guard [0, 20].contains(try snapshot.count(in: handle)) else { throw Wrong("half a keyspace") }
        }
        _ = try store.statistics()
      }
    }
    #expect(try store.keyspaces() == [space])
    #expect(try store.verify().faults == [])
    try store.close()
  }

  @Test func `synchronous commits of many threads are all in the store and in a copy of its file`() throws {
    inParallel(6) { thread in
      for index in 0..<40 {
        try store.put(
          "thread\(thread).\(index)", "v", in: space, durability: index % 3 == 0 ? .relaxed : .synchronous)
        if index % 10 == thread { try store.sync() }
      }
    }
    let copy = try Store.open(at: directory.copy(of: directory.store, as: "copy"))
    #expect(try copy.count(in: copy.keyspace("a"), .prefix("thread")) == 240)
    #expect(try copy.verify().faults == [])
    try copy.close()
    try store.close()
  }

  @Test func `closing waits for running transactions and refuses the others`() throws {
    let kept = Guarded(0)
    inParallel(5) { thread in
      if thread == 0 {
        while kept.withLock({ $0 }) < 50 { _ = try store.get("key", in: space) }
        return try store.close()
      }
      do {
        while true {
          let number = try store.write { transaction in
            let number = kept.withLock { $0 }
            try transaction.put("n\(thread).\(number)", "v", in: space)
            return number
          }
          kept.withLock { $0 = max($0, number) + 1 }
        }
      } catch let error as StoreError where error.code == .closed {
        return
      }
    }
    let again = try Store.open(at: directory.store, mode: .openExisting)
    #expect(try again.count(in: again.keyspace("a"), .prefix("n")) >= 50)
    #expect(try again.verify().faults == [])
    try again.close()
  }

  @Test func `snapshots count as closed as soon as their store starts to close`() throws {
    let volume = SimulatedVolume(seed: 1)
    var options = Store.Options()
    options.checkpointsInBackground = false
    let store = try Store.open(
      at: "db", on: volume, mode: .openOrCreate, options: options, environment: .system)
    let space = try store.keyspace("a")
    try store.put("k", "v", in: space)
    let snapshot = try store.snapshot()
    #expect(try snapshot.count(in: space) == 1)
    let reads = Guarded(0)
    // Writes and syncs of the last checkpoint.
    volume.beforeAccess = { _ in
      reads.withLock { $0 += 1 }
      refusal(.closed) { _ = try snapshot.count(in: space) }
      refusal(.closed) { try snapshot.forEach(in: space, .all) { _, _ in true } }
    }
    try store.close()
    volume.beforeAccess = nil
    #expect(reads.withLock { $0 } > 0)
  }
}
