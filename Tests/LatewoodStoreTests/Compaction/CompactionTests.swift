import Dispatch
import LatewoodConcurrency
import LatewoodModels
import LatewoodSimulation
import LatewoodStore
import Synchronization
import Testing

@Suite struct CompactionTests {
  private let directory: StoreDirectory
  private let options = Store.Options.compactedByHand

  init() throws { directory = try StoreDirectory() }

  @Test func `a compaction removes dead bytes and keeps everything else`() throws {
    let store = try Store.open(at: directory.store, options: options)
    let fruit = try store.keyspace("fruit")
    try fill(store, fruit)
    try store.put("late", "one", in: fruit)
    let content = try store.content()
    let before = try store.statistics()
    let checkpoints = try store.history()
    var last = 0.0
    let report = try store.compact { progress in
      #expect(progress.fraction >= last && progress.bytesCopied <= progress.bytesTotal)
      last = progress.fraction
    }
    #expect(last == 1)
    let after = try store.statistics()
    // A seal may have been appended since.
    #expect(after.fileSize >= report.bytesAfter && after.fileSize <= report.bytesAfter + 64)
    #expect(report.bytesBefore >= before.fileSize)
    #expect(after.fileSize * 2 < before.fileSize)
    #expect(after.fileID != before.fileID)
    #expect(after.transaction == before.transaction)
    #expect(try store.content() == content)
    #expect(try store.verify().isSound)
    #expect(try directory.others() == [])
    // The history begins with the compaction; older checkpoints are refused.
    #expect(try store.history().map(\.isCompaction) == [true])
    let error = refusal(.notFound) { _ = try store.snapshot(asOf: checkpoints[0]) }
    #expect(error?.advice.contains("history()") == true)
    try store.put("later", "two", in: fruit)
    try store.close()
    let again = try Store.open(at: directory.store, options: options)
    #expect(try again.get("later", in: again.keyspace("fruit")) == Array("two".utf8))
    #expect(try again.verify().isSound)
    try again.close()
  }

  @Test func `empty stores and stores in memory can be compacted`() throws {
    let store = try Store.open(at: directory.store, options: options)
    try store.compact()
    #expect(try store.content() == [:])
    try fill(store, store.keyspace("fruit"))
    let content = try store.content()
    try store.compact()
    try store.compact()
    #expect(try store.content() == content)
    #expect(try store.verify().isSound)
    let memory = try Store.inMemory(options: options)
    try fill(memory, memory.keyspace("fruit"))
    try memory.compact()
    #expect(try memory.content() == content)
  }

  @Test func `snapshots and cursors keep their state through two compactions`() throws {
    let store = try Store.open(at: directory.store, options: options)
    let fruit = try store.keyspace("fruit")
    try fill(store, fruit)
    let first = try store.snapshot()
    let firstContent = try first.content(of: [fruit])
    let cursor = try first.cursor(in: fruit)
    #expect(try cursor.seekFirst())
    try store.compact()
    try fill(store, fruit, rounds: 1, keys: 4000)
    let second = try store.snapshot()
    let secondContent = try second.content(of: [fruit])
    try store.compact()
    try store.deleteRangeForTests(fruit)
    try store.compact()
    #expect(try first.content(of: [fruit]) == firstContent)
    #expect(try second.content(of: [fruit]) == secondContent)
    #expect(try store.content() == ["fruit": [:]])
    #expect(try cursor.next())
    #expect(try store.verify().isSound)
  }

  @Test func `writers and readers continue during a compaction`() throws {
    let store = try Store.open(at: directory.store, options: options)
    let fruit = try store.keyspace("fruit")
    try fill(store, fruit)
    let isDone = Atomic<Bool>(false)
    let written = Atomic<Int>(0)
    let group = DispatchGroup()
    DispatchQueue(label: "test").async(group: group) {
      var number = 0
      while !isDone.load(ordering: .relaxed) {
        do {
          try store.write(durability: number % 16 == 0 ? .synchronous : .relaxed) { transaction in
            try transaction.put("new \(number)", "value \(number)", in: fruit)
            if number % 5 == 4 { try transaction.delete("new \(number - 2)", in: fruit) }
            if number % 50 == 49 {
              try transaction.deleteRange(.between("new \(number - 3)", "new \(number - 2)"), in: fruit)
            }
          }
          let seen = try store.get("new \(number)", in: fruit)
          #expect(seen == Array("value \(number)".utf8))
        } catch { Issue.record(error) }
        number += 1
        written.store(number, ordering: .relaxed)
      }
    }
    var meanwhile: UInt64 = 0
    Patience.wait { written.load(ordering: .relaxed) > 0 }
    // Four rounds, or more if the other thread has no chance to write in these.
    for round in 0..<100 where round < 4 || meanwhile == 0 {
      meanwhile += try store.compact(bytesPerSecond: 8 << 20).transactionsMeanwhile
    }
    isDone.store(true, ordering: .relaxed)
    group.wait()
    let count = written.load(ordering: .relaxed)
    #expect(meanwhile > 0)
    print("CompactionTests: \(count) transactions, \(meanwhile) of them followed")
    #expect(try store.get("new \(count - 1)", in: fruit) == Array("value \(count - 1)".utf8))
    let content = try store.content()
    #expect(try store.verify().isSound)
    try store.close()
    let again = try Store.open(at: directory.store, mode: .readOnly)
    #expect(try again.content() == content)
    #expect(try again.verify().isSound)
  }

  @Test func `a compaction can be paused, resumed and cancelled`() throws {
    let store = try Store.open(at: directory.store, options: options)
    let fruit = try store.keyspace("fruit")
    try fill(store, fruit)
    let before = try store.statistics()
    store.pauseCompaction()
    let outcome = Guarded<Result<CompactionReport, any Error>?>(nil)
    let group = DispatchGroup()
    DispatchQueue(label: "test").async(group: group) {
      let result = Result { try store.compact() }
      outcome.withLock { $0 = result }
    }
    Patience.wait { store.compactionProgress != nil }
    #expect(store.compactionProgress?.isPaused == true)
    store.cancelCompaction()
    group.wait()
    refusal(.cancelled) { _ = try outcome.withLock { try $0?.get() } }
    #expect(try directory.others() == [])
    #expect(try store.statistics().fileID == before.fileID)
    store.resumeCompaction()
    try store.put("still", "here", in: fruit)
    try store.compact(bytesPerSecond: 100 << 20)
    #expect(try store.get("still", in: fruit) == Array("here".utf8))
    #expect(try store.verify().isSound)
  }

  @Test func `simultaneous compactions are shared or run in sequence`() throws {
    let store = try Store.open(at: directory.store, options: options)
    try fill(store, store.keyspace("fruit"))
    let content = try store.content()
    store.pauseCompaction()
    let group = DispatchGroup()
    for _ in 0..<3 {
      DispatchQueue(label: "test").async(group: group) {
        do {
          let report = try store.compact()
          #expect(report.bytesAfter > 0)
        } catch { Issue.record(error) }
      }
    }
    Patience.wait { store.compactionProgress != nil }
    store.resumeCompaction()
    group.wait()
    #expect(try store.content() == content)
    #expect(try store.verify().isSound)
    #expect(try directory.others() == [])
  }

  @Test func `closing the store cancels a running compaction`() throws {
    let store = try Store.open(at: directory.store, options: options)
    try fill(store, store.keyspace("fruit"))
    let content = try store.content()
    store.pauseCompaction()
    let group = DispatchGroup()
    DispatchQueue(label: "test").async(group: group) { refusal(.cancelled) { try store.compact() } }
    Patience.wait { store.compactionProgress != nil }
    try store.close()
    group.wait()
    #expect(try directory.others() == [])
    let again = try Store.open(at: directory.store)
    #expect(try again.content() == content)
    try again.close()
  }

  @Test func `leftover files are removed, and other files are kept`() throws {
    let store = try Store.open(at: directory.store, options: options)
    try store.put("apple", "red", in: store.keyspace("fruit"))
    try store.close()
    for name in ["db.latewood.compacting", "db.latewood.creating", "db.latewood.mine", "other.compacting"] {
      _ = try directory.write([1, 2, 3], to: name)
    }
    _ = try Store.open(at: directory.store, mode: .readOnly).content()
    #expect(try directory.others().count == 4)
    let again = try Store.open(at: directory.store)
    #expect(try directory.others().sorted() == ["db.latewood.mine", "other.compacting"])
    try again.close()
  }

  @Test func `a reader finds the new file when it refreshes`() throws {
    let store = try Store.open(at: directory.store, options: options)
    let fruit = try store.keyspace("fruit")
    try fill(store, fruit)
    let reader = try Store.open(at: directory.store, mode: .readOnly)
    let old = try reader.snapshot()
    let content = try store.content()
    try store.compact()
    try store.put("new", "one", in: fruit)
    #expect(try reader.content() == content)
    #expect(try reader.refresh())
    #expect(try reader.content() == store.content())
    #expect(try old.content(of: [reader.keyspace("fruit")]) == content)
    #expect(try reader.statistics().fileID == store.statistics().fileID)
  }

  @Test func `a compaction that cannot run is refused with the right code`() throws {
    let store = try Store.open(at: directory.store, options: options)
    let fruit = try store.keyspace("fruit")
    try store.write { _ in refusal(.invalidRange) { try store.compact() } }
    let reader = try Store.open(at: directory.store, mode: .readOnly)
    refusal(.readOnly) { try reader.compact() }
    try store.put("apple", "red", in: fruit)
    try store.close()
    refusal(.closed) { try store.compact() }
  }

  @Test func `an asynchronous compaction is cancelled with its task`() async throws {
    let store = try Store.open(at: directory.store, options: options)
    try fill(store, store.keyspace("fruit"))
    let report = try await store.compact(progress: nil)
    #expect(report.bytesAfter < report.bytesBefore)
    store.pauseCompaction()
    let task = Task { try await store.compact(progress: nil) }
    while store.compactionProgress == nil { try await Task.sleep(for: .milliseconds(1)) }
    task.cancel()
    let result = await task.result
    refusal(.cancelled) { _ = try result.get() }
  }
}

extension Store {
  fileprivate func deleteRangeForTests(_ keyspace: Keyspace) throws {
    try write { try $0.deleteRange(in: keyspace) }
  }
}

extension Store.Options {
  /// Options without automatic compactions and with many checkpoints.
  static var compactedByHand: Self {
    var options = Self()
    options.compaction = .manual
    options.writeBufferBudget = 256 << 10
    return options
  }
}

/// Overwrites all keys in each round, so that there is something to compact.
func fill(_ store: Store, _ keyspace: Keyspace, rounds: Int = 3, keys: Int = 3000) throws {
  for round in 0..<rounds {
    try store.write(durability: .relaxed) { transaction in
      for key in 0..<keys {
        let value = [UInt8](repeating: UInt8(round + 1), count: key % 50 == 0 ? 3000 : 100)
        try transaction.put("key \(key * 7919 % keys)", value, in: keyspace)
      }
    }
    try store.checkpoint()
  }
}
