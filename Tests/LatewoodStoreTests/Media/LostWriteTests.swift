import LatewoodDevice
import LatewoodSimulation
import Testing

@testable import LatewoodStore

/// Commits that the disk confirmed and did not keep: nothing is lost silently if it can be known.
@Suite struct LostWriteTests {
  private static let path = "db"

  private static func open(_ volume: any Volume) throws -> Store {
    var options = Store.Options()
    options.checkpointsInBackground = false
    return try Store.open(at: path, on: volume, mode: .openOrCreate, options: options, environment: .system)
  }

  /// Each value fills sectors of its own.
  private static func put(_ key: String, _ store: Store) throws {
    try store.put(key, [UInt8](repeating: 7, count: 2000), in: store.keyspace("a"), durability: .synchronous)
  }

  /// Returns a store with two durable commits, of which the disk has only the first.
  private static func fillWithLoss(_ volume: SimulatedVolume) throws -> Store {
    let store = try open(volume)
    try put("kept", store)
    volume.inject(.lost, atCall: volume.callCount)
    try put("lost", store)
    #expect(volume.trace.last { $0.fault == .lost }?.kind == .write)
    return store
  }

  @Test func `a checkpoint that finds a lost commit makes every later open tell`() throws {
    let volume = SimulatedVolume()
    let store = try Self.fillWithLoss(volume)
    // The system reads the file from the disk again.
    try volume.open(Self.path, .readWrite).dropCache(0..<UInt64.max)
    refusal(.damaged) { try store.checkpoint() }
    refusal(.poisoned) { try Self.put("later", store) }
    try? store.close()
    // Another process, which has only the bytes of the disk.
    for _ in 0..<2 {
      let disk = SimulatedVolume()
      try disk.place(volume.durableBytes(of: Self.path), at: Self.path)
      refusal(.damaged) { _ = try Self.open(disk) }
    }
  }

  @Test func `a commit that was lost before writing failed is missed once by the same process`() throws {
    let volume = SimulatedVolume()
    let store = try Self.fillWithLoss(volume)
    volume.inject(.inputOutput(), atCall: volume.callCount)
    refusal(.inputOutput) { try Self.put("refused", store) }
    try? store.close()
    refusal(.damaged) { _ = try Self.open(volume) }
    let again = try Self.open(volume)
    let space = try again.keyspace("a")
    #expect(try again.get("kept", in: space) != nil)
    #expect(try again.get("lost", in: space) == nil)
    try Self.put("later", again)
    try again.close()
    try Self.open(volume).close()
  }

  @Test func `nothing is missed if the disk kept all confirmed writes`() throws {
    let volume = SimulatedVolume()
    let store = try Self.open(volume)
    try Self.put("kept", store)
    volume.inject(.inputOutput(), atCall: volume.callCount)
    refusal(.inputOutput) { try Self.put("refused", store) }
    try? store.close()
    let again = try Self.open(volume)
    #expect(try again.get("kept", in: again.keyspace("a")) != nil)
    try again.close()
  }
}
