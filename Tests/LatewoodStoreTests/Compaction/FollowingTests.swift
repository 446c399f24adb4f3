import Dispatch
import LatewoodConcurrency
import LatewoodModels
import LatewoodSimulation
import LatewoodTestSupport
import LatewoodTree
import Synchronization
import Testing

@testable import LatewoodStore

/// Commits during a compaction.
@Suite struct FollowingTests {
  private let directory: StoreDirectory

  init() throws { directory = try StoreDirectory() }

  @Test func `memory does not grow with the commits that a compaction follows`() throws {
    var options = Store.Options()
    options.durability = .relaxed
    options.compaction = .manual
    let store = try Store.open(at: directory.store, options: options)
    let fruit = try store.keyspace("fruit")
    try store.put("apple", "0", in: fruit)
    var commits: UInt64 = 0
    let report = try store.compact { _ in
      guard commits == 0 else { return }
      do {
        while commits < 20_000 {
          commits += 1
          try store.put("apple", "\(commits)", in: fruit)
        }
      } catch { Issue.record(error) }
    }
    #expect(report.transactionsMeanwhile == commits)
    #expect(store.engine.head.newest.active.layer.memoryLength <= 1 << 20)
    #expect(try store.get("apple", in: fruit) == Array("\(commits)".utf8))
    #expect(try store.verify().isSound)
  }

  @Test func `keyspaces can be dropped and created during a compaction`() throws {
    var options = Store.Options()
    options.compaction = .manual
    let store = try Store.open(at: directory.store, options: options)
    for name in ["fruit", "stone"] {
      let keyspace = try store.keyspace(name)
      try store.write { transaction in
        for number in 0..<2000 { try transaction.put("key \(number)", "value \(number)", in: keyspace) }
      }
    }
    var isFirst = true
    try store.compact { _ in
      guard isFirst else { return }
      isFirst = false
      do {
        try store.dropKeyspace(store.keyspace("fruit"))
        try store.put("key", "value", in: store.keyspace("wood"))
        try store.put("key", "again", in: store.keyspace("fruit"))
      } catch { Issue.record(error) }
    }
    #expect(try store.content()["fruit"] == [Array("key".utf8): Array("again".utf8)])
    #expect(try store.content()["wood"] == [Array("key".utf8): Array("value".utf8)])
    #expect(try store.content()["stone"]?.count == 2000)
    let content = try store.content()
    #expect(try store.verify().faults == [])
    try store.close()
    let again = try Store.open(at: directory.store, options: options)
    #expect(try again.content() == content)
    #expect(try again.verify().faults == [])
  }

  @Test(.timeLimit(.minutes(10)))
  func `a progress closure can use the store until the compaction ends`() throws {
    var options = Store.Options()
    options.durability = .relaxed
    options.compaction = .manual
    let store = try Store.open(at: directory.store, options: options)
    let fruit = try store.keyspace("fruit")
    try store.put("apple", "red", in: fruit)
    var calls = 0
    try store.compact { _ in
      calls += 1
      do {
        try store.put("call \(calls)", "one", in: fruit)
        try store.checkpoint()
        #expect(try store.statistics().fileSize > 0)
      } catch {
        Issue.record(error)
      }
    }
    #expect(calls > 2)
    #expect(try store.count(in: fruit) == 1 + calls)
    #expect(try store.verify().faults == [])
    try store.close()
  }

  @Test(.timeLimit(.minutes(10)))
  func `calls that would wait for the compaction they are made from are refused`() throws {
    let directory = directory
    let store = try Store.open(at: directory.store)
    let fruit = try store.keyspace("fruit")
    try store.put("apple", "red", in: fruit)
    var calls = 0
    let refuse: (CompactionProgress) -> Void = { _ in
      calls += 1
      refusal(.invalidRange) { try store.compact() }
      refusal(.invalidRange) { try store.copy(to: directory.path + "/inner") }
      refusal(.invalidRange) { try store.backup(to: directory.path + "/inner") }
      refusal(.invalidRange) { try store.close() }
    }
    try store.compact(progress: refuse)
    try store.copy(to: directory.path + "/copy", progress: refuse)
    #expect(calls > 2)
    #expect(try store.count(in: fruit) == 1)
    try store.compact()
    #expect(try store.verify().faults == [])
    try store.close()
  }

  @Test func `transactions keep their numbers, even after a long one was rolled back`() throws {
    var options = Store.Options()
    options.compaction = .manual
    let store = try Store.open(at: directory.store, options: options)
    let fruit = try store.keyspace("fruit")
    try store.put("apple", "0", in: fruit)
    var isFirst = true
    try store.compact { _ in
      guard isFirst else { return }
      isFirst = false
      do {
        let before = try store.snapshot().transaction
        #expect(throws: OnPurpose.self) {
          try store.write { transaction in
            // Long enough to be written to the file immediately.
            try transaction.put("pear", [UInt8](repeating: 1, count: 2 << 20), in: fruit)
            throw OnPurpose()
          }
        }
        try store.put("apple", "1", in: fruit)
        #expect(try store.snapshot().transaction == before + 2)
      } catch { Issue.record(error) }
    }
    let number = try store.snapshot().transaction
    try store.put("apple", "2", in: fruit)
    #expect(try store.snapshot().transaction == number + 1)
    #expect(number == 4)
    #expect(try store.verify().faults == [])
    try store.close()
    let reader = try Store.open(at: directory.store, mode: .readOnly)
    #expect(try reader.snapshot().transaction == number + 1)
    #expect(try reader.content() == ["fruit": [Array("apple".utf8): Array("2".utf8)]])
  }

  @Test func `a compaction waits for a running backup, and then runs separately`() throws {
    let store = try Store.open(at: directory.store)
    try store.put("key", "value", in: store.keyspace("fruit"))
    let fileID = try store.statistics().fileID
    store.pauseCompaction()
    let group = DispatchGroup()
    let directory = directory
    DispatchQueue(label: "test").async(group: group) {
      do { try store.backup(to: directory.path + "/backup") } catch { Issue.record(error) }
    }
    Patience.wait { store.compactionProgress != nil }
    DispatchQueue(label: "test").async(group: group) {
      do { try store.compact() } catch { Issue.record(error) }
    }
    Monitor.sleep(milliseconds: 20)
    store.resumeCompaction()
    group.wait()
    #expect(try store.statistics().fileID != fileID)
  }

  @Test func `data that a layer above no longer needs is removed first, and counts as dead`() throws {
    var options = Store.Options()
    options.compaction.quietTime = 0.01
    options.compaction.minimumSize = 1 << 16
    options.durability = .relaxed
    let store = try Store.open(at: directory.store, options: options)
    let (kept, old) = (try store.keyspace("kept"), try store.keyspace("old"))
    try store.write { transaction in
      for number in 0..<1000 {
        try transaction.put("key \(number)", [UInt8](repeating: 1, count: 200), in: kept)
        try transaction.put("key \(number)", [UInt8](repeating: 2, count: 400), in: old)
      }
    }
    let fileID = try store.statistics().fileID
    let isCalled = Atomic<Bool>(false)
    store.setCompactionPreparation(
      reclaimable: { isCalled.load(ordering: .relaxed) ? 0 : 400_000 },
      prepare: {
        isCalled.store(true, ordering: .relaxed)
        try store.write { try $0.deleteRange(.all, in: old) }
      })
    try store.checkpoint()
    try Patience.wait { try store.statistics().fileID != fileID }
    // The next compaction must be a separate run.
    Patience.wait { store.compactionProgress == nil }
    #expect(try store.content()["old"] == [:])
    #expect(try store.count(in: kept) == 1000)
    #expect(try store.verify().faults == [])
    struct Refusal: Error {}
    store.setCompactionPreparation(reclaimable: { 0 }, prepare: { throw Refusal() })
    refusal(.cancelled) { try store.compact() }
    try store.put("still", "here", in: kept)
    try store.close()
  }
}
