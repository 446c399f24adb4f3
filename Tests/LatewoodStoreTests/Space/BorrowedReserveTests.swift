import LatewoodConcurrency
import LatewoodDevice
import LatewoodSimulation
import LatewoodTestSupport
import Testing

@testable import LatewoodStore

/// Transactions while a compaction has borrowed the reserve of a full disk.
@Suite struct BorrowedReserveTests {
  private static let path = "db"
  private static let count = 3000
  private static let left = count / 3

  /// Long, so that a delete takes more of the log than a put leaves behind.
  private static func key(_ number: Int) -> [UInt8] {
    Array("\(100_000 + number)".utf8) + [UInt8](repeating: 0x61, count: 150)
  }

  /// A store with a third of its entries left, on a disk that is full except for the reserve.
  private static func filled() throws -> (volume: SimulatedVolume, store: Store) {
    let volume = SimulatedVolume(seed: 8)
    volume.countsBlocks = true
    volume.keepsBlocks = true
    volume.spaceLimit = 40 << 20
    var options = Store.Options()
    options.checkpointsInBackground = false
    let store = try Store.open(
      at: path, on: volume, mode: .openOrCreate, options: options, environment: .system)
    let space = try store.keyspace("a")
    try store.write(durability: .synchronous) { transaction in
      for number in 0..<count {
        try transaction.put(key(number), [UInt8](repeating: 1, count: 200), in: space)
      }
    }
    try store.checkpoint()
    try store.write(durability: .synchronous) { transaction in
      for number in 0..<count where number % 3 > 0 { try transaction.delete(key(number), in: space) }
    }
    volume.spaceLimit = Int(try store.statistics().allocatedSize)
    return (volume, store)
  }

  @Test(.timeLimit(.minutes(10)), arguments: [false, true])
  func `a transaction waits instead of failing while a compaction borrows the reserve`(
    _ deletes: Bool
  ) throws {
    let (volume, store) = try Self.filled()
    let engine = store.engine
    let compacting = Countdown(1)
    let changed = Guarded<Set<Int>>([])
    let writers = Countdown(3)
    volume.beforeAccess = { access in
      guard engine.disk.loan.isUnderWay else { return }
      // The compaction continues when every other thread is about to begin a transaction.
      while !writers.isOver { Monitor.sleep(milliseconds: 1) }
      Monitor.sleep(milliseconds: 2)
    }
    inParallel(4) { thread in
      if thread == 0 {
        defer { compacting.oneIsDone() }
        _ = try store.compact()
        return
      }
      let space = try store.keyspace("a")
      var hasBegun = false
      while !compacting.isOver {
        guard engine.disk.loan.isUnderWay else { continue }
        if !hasBegun { writers.oneIsDone() }
        hasBegun = true
        try store.write(durability: thread == 1 ? .synchronous : .relaxed) { transaction in
          if deletes {
            try transaction.delete(Self.key(3 * thread), in: space)
          } else {
            try transaction.put(Self.key(3 * thread), "new", in: space)
          }
        }
        changed.withLock { _ = $0.insert(thread) }
      }
    }
    volume.beforeAccess = nil
    let threads = changed.withLock { $0 }
    #expect(threads == [1, 2, 3])
    #expect(try store.count(in: store.keyspace("a")) == Self.left - (deletes ? threads.count : 0))
    #expect(try store.statistics().reservedBytes > 0)
    #expect(try store.verify().faults == [])
    try store.close()
  }
}
