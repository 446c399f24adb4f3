import Dispatch
import LatewoodConcurrency
import LatewoodFile
import LatewoodModels
import LatewoodSimulation
import Synchronization
import Testing

@testable import LatewoodStore

/// Events at the last moment of a compaction, immediately before and during the replacement of the
/// old file.
@Suite struct SwitchTests {
  private let volume = SimulatedVolume(seed: 11)
  private let store: Store
  private let fruit: Keyspace
  private let threads = DispatchGroup()
  private let failures = Guarded<[String]>([])

  init() throws {
    var options = CrashScript.options()
    options.compaction = .manual
    store = try Store.open(
      at: "db", on: volume, mode: .openOrCreate, options: options, environment: .system)
    fruit = try store.keyspace("fruit")
    try store.write { transaction in
      for number in 0..<200 {
        try transaction.put("key \(number)", [UInt8](repeating: 1, count: 60), in: fruit)
      }
    }
    for number in 0..<20 { try store.put("key \(number)", "again", in: fruit) }
  }

  /// Runs `body` on another thread. `join` waits for it and records errors as issues.
  private func inBackground(_ body: @escaping @Sendable () throws -> Void) {
    let failures = failures
    DispatchQueue(label: "test").async(group: threads) {
      do { try body() } catch { failures.withLock { $0.append("\(error)") } }
    }
  }

  private func join() throws {
    try #require(threads.wait(timeout: Patience.deadline) == .success)
    #expect(failures.withLock { $0 } == [])
  }

  /// Compacts. Calls `atLast` once, after everything has been copied, followed and verified: only
  /// later commits are still missing.
  @discardableResult private func compact(
    _ atLast: @escaping @Sendable () -> Void
  ) throws -> CompactionReport {
    let isVerified = Atomic<Bool>(false)
    let isCalled = Atomic<Bool>(false)
    volume.beforeAccess = { access in
      guard access == SimulatedAccess(kind: .sync, path: "db.compacting"),
        isVerified.load(ordering: .relaxed), !isCalled.exchange(true, ordering: .relaxed)
      else { return }
      atLast()
    }
    defer { volume.beforeAccess = nil }
    let result = Result {
      try store.compact { if $0.fraction > 0.98 { isVerified.store(true, ordering: .relaxed) } }
    }
    let wasCalled = isCalled.load(ordering: .relaxed)
    #expect(wasCalled)
    return try result.get()
  }

  /// Expects the old file at its path, alone, with exactly this content.
  private func expectOldFile(holding content: Content) throws {
    #expect(volume.liveNames == ["db"])
    volume.kill(process: 1)
    let next = try CrashScript.open(volume.process(2), .openExisting)
    #expect(try next.content() == content)
    #expect(try !next.history().contains { $0.isCompaction })
    #expect(try next.verify().faults == [])
    try next.close()
  }

  @Test(.timeLimit(.minutes(10)))
  func `a transaction during the switch is in the new file, and durable if requested`() throws {
    let (store, fruit) = (store, fruit)
    try compact {
      let isRunning = Atomic<Bool>(false)
      inBackground {
        try store.write(durability: .synchronous) { transaction in
          try transaction.put("late", "one", in: fruit)
          isRunning.store(true, ordering: .relaxed)
          // The compaction can only continue with the lock that this transaction holds.
          Patience.wait { store.engine.head.isMaintenanceWaiting }
        }
      }
      Patience.wait { isRunning.load(ordering: .relaxed) }
    }
    try join()
    let content = try store.content()
    #expect(content["fruit"]?[Array("late".utf8)] == Array("one".utf8))
    let disk = SimulatedVolume()
    try disk.place(volume.durableBytes(of: "db"), at: "db")
    let found = try CrashScript.open(disk, .readOnly)
    #expect(try found.content() == content)
    #expect(try found.history().map(\.isCompaction) == [true])
    #expect(try found.verify().faults == [])
    #expect(try store.verify().faults == [])
    try store.close()
  }

  @Test func `a sync that fails during the switch leaves the old file in place`() throws {
    let (store, fruit, volume, threads) = (store, fruit, volume, threads)
    let content = try store.content()
    let error = refusal(.poisoned) {
      try compact {
        inBackground {
          // The write is the next call, the sync the one after it.
          volume.inject(.inputOutput(), atCall: volume.callCount + 1)
          refusal(.inputOutput) { try store.put("lost", "one", in: fruit) }
        }
        _ = threads.wait(timeout: Patience.deadline)
      }
    }
    #expect(error?.message.contains("open the store again") == true)
    #expect(try store.content() == content)
    try expectOldFile(holding: content)
  }

  @Test func `a disk that fills up during the switch leaves the old file in place and usable`() throws {
    let (store, fruit, volume, threads) = (store, fruit, volume, threads)
    var content = try store.content()
    let report = try compact {
      inBackground {
        volume.inject(.outOfSpace(), atCall: volume.callCount)
        refusal(.outOfSpace) { try store.put("refused", "one", in: fruit) }
      }
      _ = threads.wait(timeout: Patience.deadline)
    }
    #expect(report.isInPlace, "dead blocks were given back instead")
    try store.put("later", "two", in: fruit)
    content["fruit"]?[Array("later".utf8)] = Array("two".utf8)
    #expect(try store.content() == content)
    try expectOldFile(holding: content)
  }

  @Test(.timeLimit(.minutes(10)))
  func `a store that is closed during the switch keeps its file`() throws {
    let store = store
    let content = try store.content()
    refusal(.closed) {
      try compact {
        inBackground { try store.close() }
        Patience.wait { store.engine.isClosed }
      }
    }
    try join()
    try expectOldFile(holding: content)
  }

  // MARK: Threads that still wait for the old file

  /// Starts a commit that waits in the sync of the old file until `isFree`.
  private func putSlowly(_ isFree: @escaping @Sendable () -> Bool) {
    let (store, fruit) = (store, fruit)
    let isSyncing = Atomic<Bool>(false)
    volume.beforeAccess = { access in
      guard access == SimulatedAccess(kind: .sync, path: "db"),
        !isSyncing.exchange(true, ordering: .relaxed)
      else { return }
      Patience.wait(until: isFree)
    }
    inBackground { try store.put("late", "one", in: fruit, durability: .synchronous) }
    Patience.wait { isSyncing.load(ordering: .relaxed) }
  }

  private func checkLate(_ before: Content) throws {
    var content = before
    content["fruit"]?[Array("late".utf8)] = Array("one".utf8)
    #expect(try store.content() == content)
    try store.put("later", "two", in: fruit)
    content["fruit"]?[Array("later".utf8)] = Array("two".utf8)
    #expect(try store.content() == content)
    #expect(try store.verify().faults == [])
    try store.close()
  }

  @Test(.timeLimit(.minutes(10)))
  func `a sync that ends after the switch does not bring back the old file`() throws {
    let content = try store.content()
    let isFree = Atomic<Bool>(false)
    try compact { putSlowly { isFree.load(ordering: .relaxed) } }
    isFree.store(true, ordering: .relaxed)
    try join()
    try checkLate(content)
  }

  @Test(.timeLimit(.minutes(10)))
  func `a sync that ends during the switch does not publish the new file early`() throws {
    let (store, fruit) = (store, fruit)
    let content = try store.content()
    let old = store.engine.file
    let isHeld = Atomic<Bool>(false)
    let isOver = Atomic<Bool>(false)
    try compact {
      inBackground {
        // The store has switched to the new file, but has not published it yet.
        let seen = try store.engine.reclaimer.withStateLocked {
          isHeld.store(true, ordering: .relaxed)
          Patience.wait { store.engine.file !== old }
          Patience.wait { store.engine.head.isSettled }
          return [try store.get("key 150", in: fruit), try store.get("late", in: fruit)]
        }
        guard seen == [[UInt8](repeating: 1, count: 60), Array("one".utf8)] else { throw Wrong("\(seen)") }
        isOver.store(true, ordering: .relaxed)
      }
      Patience.wait { isHeld.load(ordering: .relaxed) }
      putSlowly { store.engine.file !== old }
    }
    try join()
    let wasLooked = isOver.load(ordering: .relaxed)
    #expect(wasLooked)
    try checkLate(content)
  }

  @Test func `either root slot of the new file leads to all of its contents`() throws {
    let content = try store.content()
    try store.compact()
    let bytes = try volume.liveBytes(of: "db")
    for place in 0..<2 {
      let disk = SimulatedVolume()
      try disk.place(bytes, at: "db")
      try disk.corrupt("db", at: Int(FileLayout.slotOffset(place)) + 9, xor: 1)
      let found = try CrashScript.open(disk, .readOnly)
      #expect(try found.content() == content)
      #expect(try found.verify().faults.map(\.what) == ["a root slot is damaged"])
      try found.close()
    }
    try store.close()
  }

  @Test func `a checkpoint fails while it is unknown which file has the name`() throws {
    /// Compacts a file; returns the number of the call that makes the new one's name durable.
    func compact(on volume: SimulatedVolume, failing call: Int? = nil) throws -> (Store, Int) {
      var options = CrashScript.options()
      options.compaction = .manual
      // Otherwise dead blocks may wait, and releasing them fails.
      options.punchesHoles = false
      let store = try Store.open(
        at: "db", on: volume, mode: .openOrCreate, options: options, environment: .system)
      try store.put("a", "b", in: store.keyspace("fruit"))
      if let call { volume.inject(.inputOutput(), atCall: call) }
      do { try store.compact() } catch { #expect(call != nil && error.storeCode == .inputOutput, "\(error)") }
      return (store, try #require(volume.trace.last { $0.kind == .syncDirectory }).number)
    }
    let (sound, call) = try compact(on: SimulatedVolume(seed: 11))
    let (store, last) = try compact(on: SimulatedVolume(seed: 11), failing: call)
    #expect(last == call)
    refusal(.poisoned) { try store.checkpoint() }
    #expect(throws: Never.self) { try sound.checkpoint() }
    try sound.close()
    try? store.close()
  }
}
