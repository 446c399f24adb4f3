import LatewoodDevice
import LatewoodSimulation
import LatewoodTestSupport
import Synchronization
import Testing

@testable import LatewoodStore

/// Every later read sees the state that a transaction found, even if it contains a commit of
/// another thread that is not published yet.
@Suite struct FoundStateTests {
  private let volume = SimulatedVolume(seed: 1)
  private let store: Store
  private let space: Keyspace

  init() throws {
    var options = Store.Options()
    options.checkpointsInBackground = false
    store = try Store.open(at: "db", on: volume, mode: .openOrCreate, options: options, environment: .system)
    space = try store.keyspace("a")
    try store.put("k", "old", in: space, durability: .synchronous)
  }

  /// Simulates another thread whose commit is in memory and not written yet.
  private func commitInMemory() throws {
    try store.engine.head.withMaintenance {
      let transaction = try Transaction(engine: store.engine, store.engine.file)
      try transaction.put("k", "new", in: space)
      _ = try store.engine.commit(transaction, .relaxed)
      store.engine.head.endSettling()
    }
    #expect(try store.get("k", in: space) == Array("old".utf8))
  }

  /// Expects that no commit is in progress, so that commits lost on a full disk can be undone.
  private func expectNobodyOnTheWay() { #expect(store.engine.head.isSettled) }

  @Test(arguments: [Durability.relaxed, .synchronous])
  func `a commit read by a transaction without changes is visible afterwards`(durability: Durability) throws {
    try commitInMemory()
    let found = try store.write(durability: durability) { try $0.get("k", in: space) }
    #expect(found == Array("new".utf8))
    #expect(try store.get("k", in: space) == found)
    expectNobodyOnTheWay()
    try store.close()
  }

  @Test func `a commit read by a transaction that throws is visible, and its error is rethrown`() throws {
    try commitInMemory()
    #expect(throws: OnPurpose.self) {
      try store.write { transaction in
        #expect(try transaction.get("k", in: space) == Array("new".utf8))
        try transaction.put("k", "newest", in: space)
        throw OnPurpose()
      }
    }
    #expect(try store.get("k", in: space) == Array("new".utf8))
    expectNobodyOnTheWay()
    #expect(try store.verify().faults == [])
    try store.close()
  }

  @Test func `a commit that a full disk refuses stays invisible, and its reader gets the error`() throws {
    try commitInMemory()
    volume.spaceLimit = try volume.liveBytes(of: "db").count
    refusal(.outOfSpace) { try store.write(durability: .relaxed) { _ = try $0.get("k", in: space) } }
    #expect(try store.get("k", in: space) == Array("old".utf8))
    volume.spaceLimit = nil
    // The lost commit has been undone, and writing works again.
    let found = try store.write(durability: .relaxed) { try $0.get("k", in: space) }
    #expect(found == Array("old".utf8))
    try store.put("k", "newest", in: space)
    expectNobodyOnTheWay()
    #expect(try store.verify().faults == [])
    try store.close()
  }

  @Test func `a commit that can no longer be synced stays invisible, and its reader gets the error`() throws {
    try commitInMemory()
    volume.inject(.inputOutput(), atCall: volume.callCount)
    refusal(.inputOutput) { try store.sync() }
    refusal(.poisoned) { try store.write(durability: .relaxed) { _ = try $0.get("k", in: space) } }
    #expect(throws: OnPurpose.self) { try store.write(durability: .relaxed) { _ in throw OnPurpose() } }
    #expect(try store.get("k", in: space) == Array("old".utf8))
    expectNobodyOnTheWay()
  }
}
