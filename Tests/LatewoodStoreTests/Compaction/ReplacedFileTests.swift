import LatewoodConcurrency
import LatewoodFile
import LatewoodModels
import LatewoodSimulation
import LatewoodTestSupport
import Testing

@testable import LatewoodStore

/// State that belongs to one file does not outlive its replacement by a compaction.
@Suite struct ReplacedFileTests {
  private let volume = SimulatedVolume(seed: 12)
  private let store: Store
  private let fruit: Keyspace

  init() throws {
    var options = CrashScript.options()
    options.compaction = .manual
    options.durability = .relaxed
    options.checkpointsInBackground = true
    store = try Store.open(
      at: "db", on: volume, mode: .openOrCreate, options: options, environment: .system)
    fruit = try store.keyspace("fruit")
  }

  /// Overwrites all entries, in a transaction of about 200 KiB.
  private func overwrite(_ byte: UInt8) throws {
    try store.write { transaction in
      for number in 0..<1000 {
        try transaction.put("key \(number)", [UInt8](repeating: byte, count: 200), in: fruit)
      }
    }
  }

  @Test func `a late commit to the old file does not suspend the writeback of the new one`() throws {
    try overwrite(1)
    let old = store.engine.file
    try store.compact()
    let new = store.engine.file
    let end = new.completedThrough.offset
    store.engine.scheduleWriteback(old, through: end + 1 << 30)
    store.engine.scheduleWriteback(new, through: end + 16 << 20)
    #expect(
      Patience.wait { volume.requestedWritebacks.contains { $0.range.upperBound == end + 16 << 20 } })
    try store.close()
  }

  @Test func `a new file does not await the sync of a commit to the old one`() throws {
    for byte in 1...3 { try overwrite(UInt8(byte)) }
    volume.beforeAccess = { access in
      // The commit is in the log, but not yet durable, when the compaction switches files.
      if access.kind == .sync, access.path == "db" { Monitor.sleep(milliseconds: 1) }
    }
    try store.write(durability: .synchronous) { try $0.put("late", "1", in: fruit) }
    volume.beforeAccess = nil
    try store.compact()
    let engine = store.engine
    #expect(!engine.head.awaitsSync(of: engine.file))
    try store.close()
  }

  @Test func `a synchronous commit that a full disk has refused is not awaited`() throws {
    try store.put("apple", "1", in: fruit)
    volume.spaceLimit = volume.totalLength
    while true {
      do {
        try store.write(durability: .synchronous) {
          try $0.put("pear", [UInt8](repeating: 1, count: 60_000), in: fruit)
        }
      } catch let error as StoreError {
        #expect(error.code == .outOfSpace)
        break
      }
    }
    let engine = store.engine
    #expect(!engine.head.awaitsSync(of: engine.file))
    volume.spaceLimit = nil
    try store.close()
  }

  @Test func `space that died while a compaction followed commits is found by a sweep`() throws {
    try overwrite(0)
    var byte: UInt8 = 0
    try store.compact { _ in
      guard byte == 0 else { return }
      do {
        while byte < 6 {
          byte += 1
          try overwrite(byte)
        }
      } catch { Issue.record(error) }
    }
    try store.checkpoint()
    let engine = store.engine
    let before = engine.reclaimer.reclaimedBytes
    try engine.checkpointer.withoutCheckpoints { try engine.reclaimer.sweep(upTo: .max) }
    #expect(engine.reclaimer.reclaimedBytes > before)
    #expect(try store.verify().faults == [])
    try store.close()
  }

  @Test(.timeLimit(.minutes(10)))
  func `a sync during a compaction concerns only one of the two files`() throws {
    let isOver = Guarded(false)
    inParallel(4) { thread in
      if thread > 0 {
        while !isOver.withLock({ $0 }) { try store.sync() }
        return
      }
      defer { isOver.withLock { $0 = true } }
      for round in 0..<20 {
        // The old file is longer, so its offsets are beyond the end of the new one.
        try overwrite(UInt8(round))
        try store.compact()
      }
    }
    #expect(try store.count(in: fruit) == 1000)
    try store.close()
  }
}
