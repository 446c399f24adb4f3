import LatewoodModels
import LatewoodSimulation
import LatewoodStore
import Testing

/// An interrupted copy does not exist or is complete; a finished one exists after any power cut.
@Suite struct CopyCrashTests {
  private static let target = "copy"

  private func run(on volume: SimulatedVolume, _ content: inout Content) throws {
    let store = try CrashScript.open(volume.process(1))
    try store.write { transaction in
      let keyspace = try transaction.keyspace("a")
      for number in 0..<20 {
        try transaction.put(
          "key \(number)", [UInt8](repeating: 5, count: number % 7 == 0 ? 900 : 30), in: keyspace)
      }
    }
    content = try store.content()
    try store.copy(to: Self.target)
  }

  @Test func `after a power cut at any call, a copy is complete or does not exist`() throws {
    let seed = SeededRandom.seed()
    var random = SeededRandom(seed: seed)
    for call in 0... {
      let volume = SimulatedVolume()
      volume.inject(.powerCut, atCall: call)
      var content: Content = [:]
      var isFinished = false
      do {
        try run(on: volume, &content)
        isFinished = true
      } catch {}
      let images = volume.crashImages(seed: random.next(), random: 16)
      for index in CrashRun.sample(images.count, Effort.count(12, low: 4), &random) {
        let label = "call \(call), image \(index): \(images[index]); seed \(seed)"
        let disk = try images[index].makeVolume()
        guard try disk.exists(Self.target) else {
          #expect(!isFinished, "a copy that was made is gone: \(label)")
          continue
        }
        let copy = try CrashScript.open(disk, .openExisting, at: Self.target)
        #expect(try copy.content() == content, "\(label)")
        #expect(try copy.verify().isSound, "\(label)")
        disk.crash()
      }
      if !volume.isCrashed { break }
    }
  }
}
