import LatewoodDevice
import LatewoodSimulation
import LatewoodStore
import Testing

@Suite struct VerifyBesideCheckpointTests {
  @Test func `room that a checkpoint has only just reserved is no damage`() throws {
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
}
