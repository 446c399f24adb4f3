import LatewoodStore
import LatewoodTestSupport
import Testing

/// Compactions that are abandoned.
@Suite struct CompactionRequestTests {
  private let directory: StoreDirectory
  private let options = Store.Options.compactedByHand
  init() throws { directory = try StoreDirectory() }

  @Test func `a progress closure that throws cancels the compaction, unless it is complete`() throws {
    let store = try Store.open(at: directory.store, options: options)
    let fruit = try store.keyspace("fruit")
    try store.write { transaction in
      for number in 0..<5000 {
        try transaction.put("key \(number)", String(repeating: "x", count: 600), in: fruit)
      }
    }
    let content = try store.content()
    var last = 0.0
    var call = 0
    while last < 1 {
      call += 1
      let before = try store.statistics().fileID
      var calls = 0
      #expect(throws: OnPurpose.self, "call \(call)") {
        try store.compact { progress in
          calls += 1
          last = progress.fraction
          if calls == call { throw OnPurpose() }
        }
      }
      #expect(calls == call)
      // The last call is made when the new file has replaced the old one.
      #expect(try (store.statistics().fileID == before) == (last < 1), "call \(call)")
      #expect(store.compactionProgress == nil)
      #expect(try directory.others() == [])
    }
    #expect(call > 4)
    #expect(try store.content() == content)
    #expect(try store.verify().isSound)
    try store.compact()
    try store.close()
  }

  @Test func `cancelling a task that waits for another's compaction ends only that task`() async throws {
    let store = try Store.open(at: directory.store, options: options)
    try fill(store, store.keyspace("fruit"))
    store.pauseCompaction()
    let other = Task { try await store.compact(progress: nil) }
    while store.compactionProgress == nil { try await Task.sleep(for: .milliseconds(1)) }
    for delay in [0, 20] {
      let task = Task { try await store.compact(progress: nil) }
      try await Task.sleep(for: .milliseconds(delay))
      task.cancel()
      let result = await task.result
      refusal(.cancelled) { _ = try result.get() }
    }
    #expect(store.compactionProgress != nil)
    store.resumeCompaction()
    let report = try await other.value
    #expect(report.bytesAfter < report.bytesBefore)
    #expect(try directory.others() == [])
  }

  @Test func `a caller waiting for a compaction that is cancelled starts its own`() async throws {
    let store = try Store.open(at: directory.store, options: options)
    try fill(store, store.keyspace("fruit"))
    let before = try store.statistics().fileID
    store.pauseCompaction()
    let first = Task { try await store.compact(progress: nil) }
    while store.compactionProgress == nil { try await Task.sleep(for: .milliseconds(1)) }
    let second = Task { try await store.compact(progress: nil) }
    try await Task.sleep(for: .milliseconds(20))
    first.cancel()
    let result = await first.result
    refusal(.cancelled) { _ = try result.get() }
    store.resumeCompaction()
    let report = try await second.value
    #expect(try report.bytesAfter < report.bytesBefore && store.statistics().fileID != before)
    #expect(try directory.others() == [])
  }

  @Test func `a cancellation reaches the work done before a compaction`() throws {
    let store = try Store.open(at: directory.store, options: options)
    try fill(store, store.keyspace("fruit"))
    store.setCompactionPreparation(
      reclaimable: { 0 },
      prepare: { [weak store] in
        try store?.checkCompaction()
        store?.cancelCompaction()
        try store?.checkCompaction()
        Issue.record("the work goes on")
      })
    let error = refusal(.cancelled) { try store.compact() }
    #expect(error?.message == "the compaction was cancelled; the file is unchanged")
    store.setCompactionPreparation(reclaimable: { 0 }, prepare: {})
    try store.compact()
  }
}
