import Dispatch
import LatewoodConcurrency
import LatewoodSimulation
import LatewoodTestSupport
import Testing

@testable import LatewoodStore

/// Transactions that do not block their callers.
@Suite struct QueuedWriteTests {
  private let volume = SimulatedVolume(seed: 1)
  private let store: Store
  private let space: Keyspace

  init() throws {
    var options = Store.Options()
    options.checkpointsInBackground = false
    options.compaction = .manual
    store = try Store.open(at: "db", on: volume, mode: .openOrCreate, options: options, environment: .system)
    space = try store.keyspace("a")
  }

  /// Holds the writer lock on a separate thread until `end`.
  private final class Hold: Sendable {
    private let isOver = Guarded(false)
    private let isHeld = Guarded(false)
    private let group = DispatchGroup()

    init(_ store: Store) {
      DispatchQueue(label: "hold").async(group: group) { [isOver, isHeld] in
        do {
          try store.write(durability: .relaxed) { _ in
            isHeld.withLock { $0 = true }
            while !isOver.withLock({ $0 }) { Monitor.sleep(milliseconds: 1) }
          }
        } catch { Issue.record(error) }
      }
      Patience.wait { isHeld.withLock { $0 } }
    }

    func end() { isOver.withLock { $0 = true } }
  }

  private var syncs: Int { volume.trace.count { $0.kind == .sync } }

  @Test func `writes that wait at the same time share a sync`() async throws {
    let (store, space) = (store, space)
    let hold = Hold(store)
    let before = syncs
    let started = Guarded(0)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for index in 0..<300 {
        group.addTask {
          started.withLock { $0 += 1 }
          try await store.write(durability: .synchronous) { try $0.put("k\(index)", "1", in: space) }
        }
      }
      while started.withLock({ $0 }) < 300 { try await Task.sleep(nanoseconds: 1_000_000) }
      try await Task.sleep(nanoseconds: 20_000_000)
      hold.end()
      try await group.waitForAll()
    }
    #expect(try store.count(in: space) == 300)
    // A batch ends now and then, so that others can get the writer lock.
    #expect(syncs - before <= 12)
    try store.close()
  }

  @Test func `closures run in queue order, each in a separate transaction`() async throws {
    let (store, space) = (store, space)
    let hold = Hold(store)
    let order = Guarded<[Int]>([])
    var tasks: [Task<UInt64, any Error>] = []
    for index in 0..<100 {
      tasks.append(
        Task {
          try await store.write(durability: index % 3 == 0 ? .synchronous : .relaxed) { transaction in
            order.withLock { $0.append(index) }
            try transaction.put("n", "\(index)", in: space)
            return transaction.committed.number
          }
        })
      // The next one is queued after this one.
      await waitUntil { store.engine.queuedWrites.count == index + 1 }
    }
    hold.end()
    var numbers: [UInt64] = []
    for task in tasks { numbers.append(try await task.value) }
    #expect(order.withLock { $0 } == Array(0..<100))
    #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 })
    #expect(try store.get("n", in: space) == Array("99".utf8))
    try store.close()
  }

  @Test func `a closure that throws leaves no trace and fails alone`() async throws {
    let (store, space) = (store, space)
    let hold = Hold(store)
    let outcomes = await withTaskGroup(of: (Int, Bool).self) { group in
      for index in 0..<60 {
        group.addTask {
          do {
            try await store.write(durability: index % 2 == 0 ? .synchronous : .relaxed) { transaction in
              try transaction.put("k\(index)", "1", in: space)
              if index % 5 == 0 { throw OnPurpose() }
            }
            return (index, true)
          } catch {
            return (index, !(error is OnPurpose))
          }
        }
      }
      hold.end()
      return await group.reduce(into: [Int: Bool]()) { $0[$1.0] = $1.1 }
    }
    for index in 0..<60 {
      #expect(outcomes[index] == (index % 5 != 0))
      #expect(try (store.get("k\(index)", in: space) != nil) == (index % 5 != 0))
    }
    try store.close()
    #expect(throws: StoreError.self) { try store.get("k1", in: space) }
  }

  @Test func `a write that is cancelled before its closure has run is dropped`() async throws {
    let (store, space) = (store, space)
    let hold = Hold(store)
    let task = Task { try await store.write { try $0.put("cancelled", "1", in: space) } }
    await waitUntil { store.engine.queuedWrites.count == 1 }
    let other = Task { try await store.write { try $0.put("other", "1", in: space) } }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    hold.end()
    try await other.value
    #expect(try store.get("cancelled", in: space) == nil)
    #expect(try store.get("other", in: space) != nil)
    // A task that is already cancelled does not begin.
    let late = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await store.write { try $0.put("late", "1", in: space) }
    }
    await #expect(throws: CancellationError.self) { try await late.value }
    #expect(try store.get("late", in: space) == nil)
    try store.close()
  }

  @Test func `a relaxed write does not wait for the sync of a synchronous one`() async throws {
    let (store, space) = (store, space)
    let isOpen = Guarded(false)
    let hasCome = Guarded(false)
    volume.beforeAccess = { access in
      guard access.kind == .sync else { return }
      hasCome.withLock { $0 = true }
      while !isOpen.withLock({ $0 }) { Monitor.sleep(milliseconds: 1) }
    }
    defer { volume.beforeAccess = nil }
    let synchronous = Task {
      try await store.write(durability: .synchronous) { try $0.put("a", "1", in: space) }
    }
    await waitUntil { hasCome.withLock { $0 } }
    let isDone = Guarded(false)
    let relaxed = Task {
      try await store.write(durability: .relaxed) { try $0.put("b", "1", in: space) }
      isDone.withLock { $0 = true }
    }
    await waitUntil(seconds: 5) { isDone.withLock { $0 } }
    #expect(isDone.withLock { $0 }, "it waits for the sync")
    isOpen.withLock { $0 = true }
    try await relaxed.value
    try await synchronous.value
    try store.close()
  }

  @Test func `on an intermittently full disk, every write is told the truth`() async throws {
    let (store, space, volume) = (store, space, volume)
    let outcomes = Guarded<[String: Bool]>([:])
    let writers = Countdown(8)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<8 {
        group.addTask {
          defer { writers.oneIsDone() }
          for round in 0..<60 {
            let key = "\(task).\(round)"
            do {
              try await store.write(durability: (task + round) % 2 == 0 ? .synchronous : .relaxed) {
                try $0.put(key, [UInt8](repeating: 1, count: 10_000), in: space)
              }
              outcomes.withLock { $0[key] = true }
            } catch let error as StoreError {
              guard error.code == .outOfSpace else { throw error }
              outcomes.withLock { $0[key] = false }
            }
          }
        }
      }
      group.addTask {
        @Sendable func refused() -> Int { outcomes.withLock { $0.values.count { !$0 } } }
        while !writers.isOver {
          let before = refused()
          volume.spaceLimit = try volume.liveBytes(of: "db").count + 300
          // Write until a transaction is refused: the writers first use up the space allocated
          // ahead.
          for _ in 0..<100 where !writers.isOver && refused() == before {
            try await Task.sleep(nanoseconds: 1_000_000)
          }
          volume.spaceLimit = nil
          try await Task.sleep(nanoseconds: 2_000_000)
        }
      }
      try await group.waitForAll()
    }
    let told = outcomes.withLock { $0 }
    for (key, isKept) in told { #expect(try (store.get(key, in: space) != nil) == isKept, "\(key)") }
    #expect(told.count == 480)
    #expect(told.values.contains(false))
    try store.put("last", "1", in: space)
    try store.close()
    let again = try Store.open(
      at: "db", on: volume, mode: .openExisting, options: .init(), environment: .system)
    let there = try again.keyspace("a")
    for (key, isKept) in told { #expect(try (again.get(key, in: there) != nil) == isKept, "\(key)") }
    try again.close()
  }

  @Test func `a full disk does not delay the commits behind the refused one`() async throws {
    let (store, space, volume) = (store, space, volume)
    let hasCome = Guarded(false)
    let isOpen = Guarded(false)
    // The first write waits, and then finds the disk full.
    volume.beforeAccess = { access in
      guard access.kind == .write, !hasCome.withLock({ $0 }) else { return }
      hasCome.withLock { $0 = true }
      while !isOpen.withLock({ $0 }) { Monitor.sleep(milliseconds: 1) }
      volume.inject(.outOfSpace(), atCall: volume.callCount)
    }
    defer { volume.beforeAccess = nil }
    let results = Guarded<[String: StoreError.Code]>([:])
    let hasRun = Guarded(false)
    func write(_ key: String) {
      Task {
        do {
          try await store.write(durability: .synchronous) {
            try $0.put(key, "1", in: space)
            if key == "second" { hasRun.withLock { $0 = true } }
          }
        } catch let error as StoreError {
          results.withLock { $0[key] = error.code }
        }
      }
    }
    write("first")
    await waitUntil { hasCome.withLock { $0 } }
    write("second")
    await waitUntil { hasRun.withLock { $0 } }
    isOpen.withLock { $0 = true }
    await waitUntil(seconds: 20) { results.withLock { $0.count == 2 } }
    #expect(
      results.withLock { $0 } == ["first": .outOfSpace, "second": .outOfSpace], "nothing waits for ever")
    guard results.withLock({ $0.count == 2 }) else { return }
    try store.put("third", "1", in: space)
    #expect(try store.count(in: space) == 1)
    try store.close()
  }

  @Test func `a refused transaction is undone before its task learns of it`() async throws {
    let (store, space, volume) = (store, space, volume)
    try store.put("kept", "1", in: space)
    let isInjected = Guarded(false)
    volume.beforeAccess = { access in
      guard access.kind == .write, !isInjected.withLock({ $0 }) else { return }
      isInjected.withLock { $0 = true }
      volume.inject(.outOfSpace(), atCall: volume.callCount)
    }
    defer { volume.beforeAccess = nil }
    await #expect(throws: StoreError.self) {
      try await store.write(durability: .synchronous) { try $0.put("refused", "1", in: space) }
    }
    let head = store.engine.head.withMaintenance { store.engine.head.newest }
    let shown = try store.engine.versions.current()
    #expect(head.transaction == shown.transaction)
    #expect(!store.engine.file.isOutOfSpace)
    try store.put("next", "1", in: space)
    #expect(try store.count(in: space) == 2)
    try store.close()
  }

  @Test func `a failed sync is reported to every write that needed it`() async throws {
    let (store, space) = (store, space)
    let hold = Hold(store)
    let tasks = (0..<20).map { index in
      Task { try await store.write(durability: .synchronous) { try $0.put("k\(index)", "1", in: space) } }
    }
    await waitUntil { store.engine.queuedWrites.count == 20 }
    let call = volume.callCount
    // The write, and then the sync.
    volume.inject(.inputOutput(), atCall: call)
    volume.inject(.inputOutput(), atCall: call + 1)
    hold.end()
    for task in tasks {
      await #expect(throws: StoreError.self) { try await task.value }
    }
    #expect(try store.count(in: space) == 0)
    await #expect(throws: StoreError.self) {
      try await store.write(durability: .relaxed) { try $0.put("late", "1", in: space) }
    }
  }

  @Test func `writes that wait when the store closes are committed or get a closed error`() async throws {
    let (store, space, volume) = (store, space, volume)
    let tasks = (0..<50).map { index in
      Task { () -> Bool in
        do {
          try await store.write(durability: .synchronous) { try $0.put("k\(index)", "1", in: space) }
          return true
        } catch let error as StoreError {
          if error.code != .closed { throw error }
          return false
        }
      }
    }
    try store.close()
    var kept = 0
    for task in tasks where try await task.value { kept += 1 }
    let again = try Store.open(
      at: "db", on: volume, mode: .openExisting, options: .init(), environment: .system)
    #expect(try again.count(in: again.keyspace("a")) == kept)
    try again.close()
  }

  private func waitUntil(seconds: Int = Patience.seconds, _ condition: () -> Bool) async {
    for _ in 0..<seconds * 1000 {
      if condition() { return }
      // A cancellation of the sleep is ignored.
      try? await Task.sleep(nanoseconds: 1_000_000)
    }
  }
}
