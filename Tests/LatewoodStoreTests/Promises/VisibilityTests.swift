import Dispatch
import LatewoodConcurrency
import LatewoodSimulation
import LatewoodTestSupport
import Testing

@testable import LatewoodStore

/// Readers see a commit once the log is as durable as this commit, or a later one, requires. Only
/// commits publish commits.
@Suite struct VisibilityTests {
  private let volume = SimulatedVolume(seed: 1)
  private let store: Store
  private let space: Keyspace

  init() throws {
    var options = Store.Options()
    options.checkpointsInBackground = false
    options.compaction = .manual
    store = try Store.open(at: "db", on: volume, mode: .openOrCreate, options: options, environment: .system)
    space = try store.keyspace("a")
    try store.put("k", "old", in: space, durability: .synchronous)
  }

  /// Holds syncs of the database until it is opened, and counts the waiting ones.
  private final class Gate: Sendable {
    private let state = Guarded((isOpen: false, syncs: 0))
    private let volume: SimulatedVolume

    init(_ volume: SimulatedVolume) {
      self.volume = volume
      volume.beforeAccess = { [weak self] access in
        guard access.kind == .sync, let self else { return }
        self.state.withLock { $0.syncs += 1 }
        while !self.state.withLock({ $0.isOpen }) { Monitor.sleep(milliseconds: 1) }
      }
    }

    deinit { volume.beforeAccess = nil }
    func waitForSync() { Patience.wait { state.withLock { $0.syncs > 0 } } }
    func open() { state.withLock { $0.isOpen = true } }
  }

  /// Runs `body` on a separate thread.
  private func start(_ group: DispatchGroup, _ body: @escaping @Sendable () -> Void) {
    DispatchQueue(label: "test").async(group: group) { body() }
  }

  private func seen() throws -> String? {
    try store.get("k", in: space).map { String(decoding: $0, as: UTF8.self) }
  }

  @Test func `a checkpoint shows no synchronous commit before it is durable`() throws {
    let gate = Gate(volume)
    defer { gate.open() }
    let (commit, checkpoint) = (DispatchGroup(), DispatchGroup())
    let (store, space) = (store, space)
    start(commit) { refusal(.inputOutput) { try store.put("k", "new", in: space, durability: .synchronous) } }
    gate.waitForSync()
    start(checkpoint) { #expect(throws: StoreError.self) { try store.checkpoint() } }
    Monitor.sleep(milliseconds: 50)
    #expect(try seen() == "old")
    // The sync fails, and with it the commit.
    volume.inject(.inputOutput(), atCall: volume.callCount)
    gate.open()
    try #require(commit.wait(timeout: Patience.deadline) == .success)
    try #require(checkpoint.wait(timeout: Patience.deadline) == .success)
    #expect(try seen() == "old")
  }

  @Test func `reads, snapshots and waiting transactions show no undurable commit either`() throws {
    let gate = Gate(volume)
    defer { gate.open() }
    let (commit, found) = (DispatchGroup(), DispatchGroup())
    let (store, space) = (store, space)
    start(commit) { refusal(.inputOutput) { try store.put("k", "new", in: space, durability: .synchronous) } }
    gate.waitForSync()
    start(found) {
      // This call reads the commit, so it must wait for the commit and fail with it.
      #expect(throws: StoreError.self) {
        try store.write(durability: .synchronous) { _ = try $0.get("k", in: space) }
      }
    }
    Monitor.sleep(milliseconds: 20)
    #expect(try store.snapshot().get("k", in: space) == Array("old".utf8))
    volume.inject(.inputOutput(), atCall: volume.callCount)
    gate.open()
    try #require(commit.wait(timeout: Patience.deadline) == .success)
    try #require(found.wait(timeout: Patience.deadline) == .success)
    #expect(try seen() == "old")
  }

  @Test func `a relaxed commit waits for no sync, and also shows the commits before it`() throws {
    let gate = Gate(volume)
    defer { gate.open() }
    let (commit, relaxed) = (DispatchGroup(), DispatchGroup())
    let (store, space) = (store, space)
    start(commit) { refusal(.inputOutput) { try store.put("k", "new", in: space, durability: .synchronous) } }
    gate.waitForSync()
    start(relaxed) {
      do {
        try store.put("other", "1", in: space, durability: .relaxed)
        #expect(try store.get("other", in: space) != nil)
      } catch { Issue.record(error) }
    }
    #expect(relaxed.wait(timeout: Patience.deadline) == .success, "it waits for the sync")
    // Like every commit, it becomes visible together with the commits before it.
    #expect(try seen() == "new")
    // The commits of a failed sync stay visible until the store is closed. Only then does it turn
    // out whether they are in the file.
    volume.inject(.inputOutput(), atCall: volume.callCount)
    gate.open()
    try #require(commit.wait(timeout: Patience.deadline) == .success)
    try #require(relaxed.wait(timeout: Patience.deadline) == .success)
    #expect(try seen() == "new")
    refusal(.poisoned) { try store.put("k", "newer", in: space, durability: .relaxed) }
  }

  @Test
  func `beside checkpoints, every commit of many threads is visible once it is acknowledged`() throws {
    let running = Countdown(4)
    inParallel(5) { thread in
      guard thread < 4 else {
        while !running.isOver { try store.checkpoint() }
        return
      }
      defer { running.oneIsDone() }
      for round in 0..<60 {
        let key = "\(thread).\(round)"
        try store.put(key, "1", in: space, durability: (thread + round) % 2 == 0 ? .synchronous : .relaxed)
        if try store.get(key, in: space) == nil { throw Wrong("\(key) is not seen") }
      }
    }
    #expect(try store.count(in: space) == 241)
    #expect(try store.verify().faults == [])
    try store.close()
  }
}
