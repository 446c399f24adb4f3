import LatewoodConcurrency
import LatewoodSimulation
import Testing

@testable import LatewoodStore

/// The decision to compact a file automatically.
@Suite struct AutomaticCompactionTests {
  private let directory: StoreDirectory
  private let store: Store
  private let space: Keyspace

  init() throws {
    directory = try StoreDirectory()
    var options = Store.Options()
    options.durability = .relaxed
    options.punchesHoles = false
    options.compaction.minimumSize = 1 << 16
    options.compaction.deadShare = 0.3
    options.compaction.urgentDeadShare = 0.7
    options.compaction.quietTime = 3600
    store = try Store.open(at: directory.store, options: options)
    space = try store.keyspace("a")
  }

  /// Overwrites `count` keys, and writes a checkpoint.
  private func overwrite(_ count: Int, _ byte: UInt8) throws {
    try store.write { transaction in
      for number in 0..<count {
        try transaction.put("key \(number)", [UInt8](repeating: byte, count: 400), in: space)
      }
    }
    try store.checkpoint()
  }

  @Test func `an urgent compaction does not wait for the quiet time`() throws {
    let fileID = try store.statistics().fileID
    try overwrite(1000, 1)
    let engine = store.engine
    Patience.wait { engine.schedule.urgency == .whenQuiet }
    #expect(engine.schedule.urgency == .whenQuiet)
    #expect(try store.statistics().fileID == fileID)
    var byte: UInt8 = 1
    while try engine.occupancy().deadShare < 0.75, try store.statistics().fileID == fileID {
      byte += 1
      try overwrite(1000, byte)
    }
    try #require(engine.schedule.urgency != .whenQuiet)
    try Patience.wait { try store.statistics().fileID != fileID }
    #expect(try store.statistics().fileID != fileID)
    #expect(try store.get("key 7", in: space) == [UInt8](repeating: byte, count: 400))
    #expect(try store.verify().faults == [])
    try store.close()
  }

  @Test func `bytes of a checkpoint in progress do not count as dead`() throws {
    let volume = SimulatedVolume(seed: 3)
    var options = Store.Options()
    options.checkpointsInBackground = false
    options.compaction = .manual
    let store = try Store.open(
      at: "db", on: volume, mode: .openOrCreate, options: options, environment: .system)
    let space = try store.keyspace("a")
    try store.write { transaction in
      for number in 0..<2000 {
        try transaction.put("key \(number)", [UInt8](repeating: 1, count: 400), in: space)
      }
    }
    let shares = Guarded<[Double]>([])
    let engine = store.engine
    volume.beforeAccess = { access in
      guard access.kind == .write else { return }
      do {
        let share = try engine.occupancy().deadShare
        shares.withLock { $0.append(share) }
      } catch { Issue.record(error) }
    }
    try store.checkpoint()
    volume.beforeAccess = nil
    #expect(shares.withLock { $0.count } > 2)
    #expect(shares.withLock { $0.max() ?? 1 } < 0.2)
    try store.close()
  }
}
