import LatewoodConcurrency
import LatewoodSimulation
import Synchronization
import Testing

@testable import LatewoodStore

/// The time and manner in which dead parts of the file are released.
@Suite struct PunchingTimeTests {
  @Test func `no block is punched while punching is paused or turned off`() throws {
    let store = try OverwrittenStore.open(SimulatedVolume())
    try OverwrittenStore.fill(store, 1)
    try OverwrittenStore.fill(store, 2)
    let punched = try store.statistics().punchedBytes
    store.engine.reclaimer.pause()
    for byte in 3...5 { try OverwrittenStore.fill(store, UInt8(byte)) }
    #expect(try store.statistics().punchedBytes == punched)
    store.engine.reclaimer.resume()
    try store.checkpoint()
    #expect(try store.statistics().punchedBytes > punched + 100_000)
    var options = OverwrittenStore.options()
    options.punchesHoles = false
    let other = try Store.open(
      at: "db", on: SimulatedVolume(), mode: .createNew, options: options, environment: .system)
    for byte in 1...4 { try OverwrittenStore.fill(other, UInt8(byte)) }
    #expect(try other.statistics().punchedBytes == 0)
    #expect(try other.history().count == 4)
  }

  @Test func `a store in memory returns memory to the system`() throws {
    let store = try Store.inMemory(options: OverwrittenStore.options())
    for byte in 1...40 { try OverwrittenStore.fill(store, UInt8(byte)) }
    let statistics = try store.statistics()
    if statistics.punchedBytes > 0 { #expect(statistics.allocatedSize < statistics.fileSize / 4) }
    #expect(try OverwrittenStore.shows(40, store, store))
    #expect(try store.verify().faults == [])
  }

  @Test func `all dead blocks are punched in turns, however slow each punch is`() throws {
    let volume = SimulatedVolume()
    let store = try OverwrittenStore.open(volume)
    let space = try store.keyspace("a")
    let pieces = Atomic<Int>(0)
    volume.beforeAccess = { access in
      guard access.kind == .punch else { return }
      pieces.wrappingAdd(1, ordering: .relaxed)
      // Longer than the time for which readers are kept out in one step.
      Monitor.sleep(milliseconds: 11)
    }
    defer { volume.beforeAccess = nil }
    for byte: UInt8 in 1...3 {
      try store.write { transaction in
        for number in 0..<5000 {
          try transaction.put(
            OverwrittenStore.key(number), [UInt8](repeating: byte, count: 900), in: space)
        }
      }
      try store.checkpoint()
    }
    let statistics = try store.statistics()
    let count = pieces.load(ordering: .relaxed)
    #expect(count > 4)
    // Two of three states are dead, except for blocks shared with live data.
    #expect(statistics.punchedBytes > 8_000_000)
    #expect(statistics.allocatedSize < statistics.liveBytes + 1_000_000)
    #expect(try store.verify().faults == [])
    try store.close()
  }

  @Test func `all dead blocks are punched, however slow the lock is`() throws {
    let volume = SimulatedVolume()
    let store = try OverwrittenStore.open(volume)
    volume.beforeAccess = { access in
      // Longer than the time for which readers are kept out in one step.
      if access.kind == .lock { Monitor.sleep(milliseconds: 11) }
    }
    defer { volume.beforeAccess = nil }
    for byte: UInt8 in 1...3 { try OverwrittenStore.fill(store, byte) }
    let statistics = try store.statistics()
    #expect(statistics.punchedBytes > 100_000)
    #expect(statistics.allocatedSize < statistics.liveBytes + 1_000_000)
    try store.close()
  }

  @Test func `a file about to be compacted is not punched first`() throws {
    let volume = SimulatedVolume()
    let store = try OverwrittenStore.open(volume)
    for byte: UInt8 in 1...2 { try OverwrittenStore.fill(store, byte) }
    let space = try store.keyspace("a")
    try store.write { try $0.put(OverwrittenStore.key(0), "new", in: space) }
    let pieces = Atomic<Int>(0)
    volume.beforeAccess = { if $0.kind == .punch { pieces.wrappingAdd(1, ordering: .relaxed) } }
    try store.compact()
    let compacting = pieces.load(ordering: .relaxed)
    #expect(compacting == 0)
    for byte: UInt8 in 3...4 { try OverwrittenStore.fill(store, byte) }
    let later = pieces.load(ordering: .relaxed)
    #expect(later > 0)
    volume.beforeAccess = nil
    try store.close()
  }
}
