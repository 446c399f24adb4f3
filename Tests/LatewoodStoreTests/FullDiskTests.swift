import Dispatch
import LatewoodConcurrency
import LatewoodFile
import LatewoodSimulation
import LatewoodTestSupport
import Testing

@testable import LatewoodStore

/// Many threads on a disk that is full now and then. The scripts of `FaultTests` do the same in
/// sequence; here everything happens in parallel.
@Suite struct FullDiskTests {
  private static let path = "db"

  private static func open(_ volume: SimulatedVolume) throws -> Store {
    var options = Store.Options()
    options.writeBufferBudget = 65_536
    options.nodeSize = 1024
    return try Store.open(at: path, on: volume, mode: .openOrCreate, options: options, environment: .system)
  }

  /// The outcomes of the threads' commits.
  private struct Told {
    var kept: [String] = []
    var refused: [String] = []
  }

  @Test(.timeLimit(.minutes(10)))
  func `on an intermittently full disk, each commit is kept or lost as its caller was told`() throws {
    let volume = SimulatedVolume(seed: 7)
    let store = try Self.open(volume)
    let space = try store.keyspace("a")
    let told = Guarded(Told())
    let threads = 6
    let running = Countdown(threads)
    inParallel(threads + 1) { thread in
      guard thread < threads else {
        while !running.isOver {
          let size = try volume.liveBytes(of: Self.path).count
          let before = told.withLock { $0.refused.count }
          volume.spaceLimit = size + 300
          // Write until a commit is refused: the writers first use up the space allocated ahead.
          for _ in 0..<100 where !running.isOver && told.withLock({ $0.refused.count == before }) {
            Monitor.sleep(milliseconds: 1)
          }
          volume.spaceLimit = nil
          Monitor.sleep(milliseconds: 3)
        }
        return
      }
      defer { running.oneIsDone() }
      for round in 0..<400 {
        let key = "\(thread).\(round)"
        do {
          try store.put(
            key, [UInt8](repeating: 1, count: 2000), in: space,
            durability: (round + thread) % 2 == 0 ? .synchronous : .relaxed)
          told.withLock { $0.kept.append(key) }
        } catch let error as StoreError {
          guard error.code == .outOfSpace else { throw error }
          told.withLock { $0.refused.append(key) }
        }
      }
    }
    volume.spaceLimit = nil
    let result = told.withLock { $0 }
    func check(_ store: Store) throws {
      let space = try store.keyspace("a")
      let there = Set(try store.entries(in: space).map { String(decoding: $0.key, as: UTF8.self) })
      let lost = result.kept.filter { !there.contains($0) }
      #expect(lost == [], "\(lost.count) of \(result.kept.count) kept ones are lost")
      let back = result.refused.filter { there.contains($0) }
      #expect(back == [], "\(back.count) of \(result.refused.count) refused ones are there")
      #expect(try store.verify().faults == [])
    }
    #expect(!result.refused.isEmpty)
    try store.put("last", "1", in: space)
    try check(store)
    try store.close()
    let again = try Self.open(volume)
    try check(again)
    try again.close()
  }

  @Test(.timeLimit(.minutes(10)))
  func `a commit that is written but unseen survives when the next one finds no space`() throws {
    let volume = SimulatedVolume(seed: 9)
    var options = Store.Options()
    options.checkpointsInBackground = false
    options.compaction = .manual
    let store = try Store.open(
      at: Self.path, on: volume, mode: .openOrCreate, options: options, environment: .system)
    let space = try store.keyspace("a")
    let engine = store.engine
    // The same steps as `write` takes, without the last one, which follows later.
    let first: Transaction
    do {
      engine.head.lock()
      defer { engine.head.unlock() }
      first = try Transaction(engine: engine, engine.file)
      try first.put("first", "1", in: space)
      _ = try engine.commit(first, .synchronous)
    }
    try first.file.flush(through: first.position, durable: true)
    let call = volume.callCount
    volume.inject(.outOfSpace(), atCall: call)
    let group = DispatchGroup()
    DispatchQueue(label: "test").async(group: group) {
      refusal(.outOfSpace) { try store.put("refused", "1", in: space) }
    }
    Patience.wait { volume.callCount != call }
    Monitor.sleep(milliseconds: 50)
    engine.versions.publish(first.committed, in: first.file)
    engine.head.endSettling()
    try #require(group.wait(timeout: Patience.deadline) == .success)
    try store.put("last", "1", in: space)
    for _ in 0..<2 {
      let keys = try store.entries(in: space).map { String(decoding: $0.key, as: UTF8.self) }
      #expect(keys == ["first", "last"])
      try store.checkpoint()
    }
    #expect(try store.verify().faults == [])
    try store.close()
  }

  @Test(.timeLimit(.minutes(10)))
  func `a transaction that met a full disk may request a sync, and is refused`() throws {
    let volume = SimulatedVolume(seed: 1)
    let store = try Self.open(volume)
    let space = try store.keyspace("a")
    refusal(.outOfSpace) {
      try store.write { transaction in
        volume.spaceLimit = try volume.liveBytes(of: Self.path).count + 1000
        refusal(.outOfSpace) {
          try transaction.put("large", [UInt8](repeating: 1, count: 2 << 20), in: space)
        }
        try store.sync()
      }
    }
    volume.spaceLimit = nil
    try store.put("k", "v", in: space)
    #expect(try store.count(in: space) == 1)
    try store.close()
  }

  @Test func `changes that a poisoned log refused are not seen by the next transaction`() throws {
    let volume = SimulatedVolume(seed: 1)
    let store = try Self.open(volume)
    let space = try store.keyspace("a")
    try store.put("k", "old", in: space, durability: .relaxed)
    refusal(.poisoned) {
      try store.write { transaction in
        try transaction.put("k", "new", in: space)
        volume.inject(.inputOutput(), atCall: volume.callCount)
        // The sync of another thread fails in the meantime.
        refusal(.inputOutput) { try store.sync() }
      }
    }
    let seen = try store.write(durability: .relaxed) { try $0.get("k", in: space) }
    #expect(seen == Array("old".utf8))
    #expect(try store.get("k", in: space) == Array("old".utf8))
    // The state that it saw never becomes durable, so reporting it as durable would be wrong.
    refusal(.poisoned) { try store.write(durability: .synchronous) { _ = try $0.get("k", in: space) } }
  }

  @Test func `a log that cannot continue behind a full disk gives that reason`() throws {
    let volume = SimulatedVolume(seed: 8)
    let store = try Self.open(volume)
    let space = try store.keyspace("a")
    volume.spaceLimit = volume.totalLength + 100
    // The log would continue after everything that may have been written.
    volume.claimedSize = FileLayout.fileLimit - 8
    let error = refusal(.fileTooLarge) {
      for number in 0..<1000 { try store.put("\(number)", [UInt8](repeating: 1, count: 2000), in: space) }
    }
    #expect(error?.path == Self.path)
    volume.claimedSize = nil
    volume.spaceLimit = nil
    try store.put("last", "1", in: space)
    #expect(try store.get("last", in: space) == Array("1".utf8))
    try store.close()
  }
}
