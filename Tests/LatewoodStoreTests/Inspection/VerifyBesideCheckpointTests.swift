import LatewoodDevice
import LatewoodModels
import LatewoodSimulation
import LatewoodStore
import Synchronization
import Testing

@Suite struct VerifyBesideCheckpointTests {
  @Test func `space that a checkpoint has only just reserved is not damage`() throws {
    let directory = try Directories.makeTemporary()
    defer { #expect(throws: Never.self) { try Directories.removeTree(directory) } }
    var options = Store.Options()
    options.writeBufferBudget = 64 << 10
    options.compaction = .manual
    let store = try Store.open(at: directory + "/file", options: options)
    let keyspace = try store.keyspace("busy")
    var random = SeededRandom(seed: SeededRandom.seed())
    for _ in 0..<20 {
      for _ in 0..<20 {
        try store.write(durability: .relaxed) { transaction in
          for _ in 0..<20 {
            try transaction.put(
              Array("\(random.below(2000))".utf8), random.bytes(random.below(700)), in: keyspace)
          }
        }
      }
      #expect(try store.verify().faults == [], "\(random.replay)")
    }
    try store.close()
  }

  @Test func `a verification between any two writes of a checkpoint finds no fault`() throws {
    let volume = SimulatedVolume(seed: 17)
    let store = try CrashScript.open(volume)
    let keyspace = try store.keyspace("busy")
    try store.write { transaction in
      for number in 0..<100 {
        try transaction.put("key \(number)", [UInt8](repeating: 1, count: 100), in: keyspace)
      }
    }
    let looks = Atomic<Int>(0)
    volume.beforeAccess = { access in
      guard access.kind == .write else { return }
      looks.wrappingAdd(1, ordering: .relaxed)
      do { #expect(try store.verify().faults == []) } catch { Issue.record(error) }
    }
    try store.checkpoint()
    volume.beforeAccess = nil
    let count = looks.load(ordering: .relaxed)
    #expect(count > 1)
    #expect(try store.verify().faults == [])
    try store.close()
  }
}
