import Dispatch
import LatewoodDevice
import LatewoodSimulation
import LatewoodTestSupport
import Synchronization
import Testing

@testable import LatewoodStore

/// Commits around the lengths at which they are written differently: their counted bytes, and the
/// resulting file.
@Suite(.serialized) struct LargeCommitTests {
  private static let mebibyte = 1 << 20
  private let directory: StoreDirectory

  init() throws { directory = try StoreDirectory() }

  private func open(_ change: (inout Store.Options) -> Void = { _ in }) throws -> Store {
    var options = Store.Options()
    options.durability = .relaxed
    change(&options)
    return try Store.open(at: directory.store, options: options)
  }

  /// The bytes that the store counts as waiting for a checkpoint, and as committed since it was
  /// opened.
  private func counted(_ store: Store) -> [UInt64] {
    [
      store.engine.pacer.pendingBytes,
      store.engine.pacer.committedBytes,
    ]
  }

  @Test(arguments: [1, 512, 4096, mebibyte - 1, mebibyte, mebibyte + 1, 5 * mebibyte])
  func `a commit counts all its bytes, at every length of value`(length: Int) throws {
    let store = try open { $0.checkpointsInBackground = false }
    let space = try store.keyspace("a")
    for durability in [Durability.relaxed, .synchronous] {
      let before = counted(store)
      try store.put("key", [UInt8](repeating: 1, count: length), in: space, durability: durability)
      for (after, before) in zip(counted(store), before) {
        #expect(length..<length + 256 ~= Int(after - before))
      }
    }
    try store.close()
  }

  @Test(arguments: [4000, 4400, 20_000])
  func `a transaction counts all its frames`(entries: Int) throws {
    let store = try open { $0.checkpointsInBackground = false }
    let space = try store.keyspace("a")
    let before = counted(store)
    try store.write { transaction in
      for number in 0..<entries {
        try transaction.put("key \(number)", [UInt8](repeating: 1, count: 1000), in: space)
      }
    }
    for (after, before) in zip(counted(store), before) {
      #expect(entries * 1000..<entries * 1050 ~= Int(after - before))
    }
    try store.close()
  }

  @Test func `frames of a rolled-back transaction are counted, and a checkpoint skips them`() throws {
    let store = try open { $0.checkpointsInBackground = false }
    let space = try store.keyspace("a")
    try store.checkpoint()
    let before = counted(store)
    #expect(throws: OnPurpose.self) {
      try store.write { transaction in
        try transaction.put("key", [UInt8](repeating: 1, count: 3 << 20), in: space)
        throw OnPurpose()
      }
    }
    for (after, before) in zip(counted(store), before) { #expect(after - before >= 3 << 20) }
    #expect(try store.statistics().logBytes >= 3 << 20)
    try store.checkpoint()
    #expect(try store.statistics().logBytes < 4096)
    try store.close()
  }

  @Test func `repeated rollbacks do not fill the log`() throws {
    let store = try open()
    let space = try store.keyspace("a")
    var longest: UInt64 = 0
    for _ in 0..<40 {
      #expect(throws: OnPurpose.self) {
        try store.write { transaction in
          try transaction.put("key", [UInt8](repeating: 1, count: 4 << 20), in: space)
          throw OnPurpose()
        }
      }
      longest = max(longest, try store.statistics().logBytes)
    }
    #expect(longest < 64 << 20)
    try store.close()
  }

  @Test(arguments: [1000, mebibyte - 1, mebibyte, 3 * mebibyte])
  func `the bytes replayed after a crash are the bytes counted`(length: Int) throws {
    let store = try open { $0.checkpointsInBackground = false }
    let space = try store.keyspace("a")
    for number in 0..<4 { try store.put("key \(number)", [UInt8](repeating: 1, count: length), in: space) }
    let pending = counted(store)[0]
    let copy = try directory.copy(of: directory.store, as: "crashed")
    var options = Store.Options()
    options.checkpointsInBackground = false
    let crashed = try Store.open(at: copy, options: options)
    // Padding between frames is counted but not replayed.
    #expect(Int(pending) - 128...Int(pending) ~= Int(crashed.recovery.replayedBytes))
    #expect(counted(crashed)[0] == crashed.recovery.replayedBytes)
    try crashed.close()
    try store.close()
  }

  @Test(arguments: [mebibyte - 1, mebibyte, 4 * mebibyte], [Durability.relaxed, .synchronous])
  func `overwriting large values leaves a short log and a small file`(
    length: Int, durability: Durability
  ) throws {
    let store = try open()
    let space = try store.keyspace("a")
    var (log, size): (UInt64, UInt64) = (0, 0)
    for round in 0..<Effort.count(160 << 20, low: 112 << 20) / length {
      let value = [UInt8](repeating: UInt8(truncatingIfNeeded: round), count: length)
      try store.put("key \(round % 4)", value, in: space, durability: durability)
      let statistics = try store.statistics()
      (log, size) = (max(log, statistics.logBytes), max(size, statistics.allocatedSize))
    }
    #expect(log <= 64 << 20)
    #expect(size <= 96 << 20)
    #expect(try store.verify().faults == [])
    try store.close()
  }

  @Test(arguments: [100, mebibyte - 1, mebibyte, 16 * mebibyte])
  func `a compaction finishes beside a writer, with values of any length`(length: Int) throws {
    let store = try open { $0.compaction = .manual }
    let space = try store.keyspace("a")
    for number in 0..<Effort.count(32, low: 12) {
      try store.put("kept \(number)", [UInt8](repeating: 2, count: 1 << 20), in: space)
    }
    let isOver = Atomic<Bool>(false)
    let value = [UInt8](repeating: 1, count: length)
    let batch = max(1, (64 << 10) / length)
    inParallel(2) { thread in
      guard thread == 0 else {
        try store.compact()
        isOver.store(true, ordering: .relaxed)
        return
      }
      var written = 0
      while !isOver.load(ordering: .relaxed), written < 1 << 30 {
        try store.write { transaction in
          for number in 0..<batch { try transaction.put("key \(number % 8)", value, in: space) }
        }
        written += batch * length
      }
      if written >= 1 << 30 { throw Wrong("the writer was done before the compaction") }
    }
    #expect(try store.verify().faults == [])
    try store.close()
  }
}
