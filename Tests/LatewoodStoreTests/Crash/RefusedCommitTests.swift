import LatewoodDevice
import LatewoodSimulation
import Testing

@testable import LatewoodStore

/// Commits that were refused for lack of space do not come back.
@Suite struct RefusedCommitTests {
  private func open(_ volume: any Volume) throws -> Store {
    var options = Store.Options()
    options.checkpointsInBackground = false
    options.compaction = .manual
    return try Store.open(at: "db", on: volume, mode: .openOrCreate, options: options, environment: .system)
  }

  @Test(arguments: [Durability.synchronous, .relaxed], [0, 100, 1 << 20])
  func `a refused commit does not return after a power cut, however much of it was written`(
    durability: Durability, written: Int
  ) throws {
    let volume = SimulatedVolume(seed: 3)
    let store = try open(volume)
    let space = try store.keyspace("a")
    try store.put("kept", "1", in: space, durability: .synchronous)
    volume.inject(.outOfSpace(after: written), atCall: volume.callCount)
    refusal(.outOfSpace) {
      try store.put("refused", [UInt8](repeating: 1, count: 300), in: space, durability: durability)
    }
    #expect(try store.get("refused", in: space) == nil)
    for image in volume.crashImages(seed: 5, exhaustiveUpTo: 64, random: 16) {
      let after = try open(image.makeVolume())
      let keys = try after.entries(in: after.keyspace("a")).map { String(decoding: $0.key, as: UTF8.self) }
      #expect(keys == ["kept"], "\(image)")
      try after.close()
    }
    try store.put("more", "1", in: space)
    try store.close()
  }
}
