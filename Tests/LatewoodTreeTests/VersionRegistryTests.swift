import LatewoodSimulation
import Testing

@testable import LatewoodTree

@Suite struct VersionRegistryTests {
  @Test(arguments: [1, 31, 32, 33, 64, 500])
  func `the live versions are known, in whatever order they end`(_ most: Int) {
    var random = SeededRandom(seed: SeededRandom.seed())
    let registry = VersionRegistry()
    var model: [UInt64] = []
    var number: UInt64 = 1
    for _ in 0..<3000 {
      if model.isEmpty || (model.count < most && random.oneIn(2)) || random.oneIn(9) {
        // Several versions may have the newest number, also after all of them have ended.
        if !random.oneIn(4) { number += UInt64(random.below(3)) }
        registry.add(number, transaction: number)
        model.append(number)
      } else {
        let index = random.oneIn(3) ? 0 : random.oneIn(2) ? model.count - 1 : random.below(model.count)
        registry.remove(model.remove(at: index))
      }
      let live = Set(model).sorted()
      #expect(registry.live == live, "\(random.replay)")
      #expect(registry.count == live.count, "\(random.replay)")
    }
    registry.remove(number + 1)
    for number in model { registry.remove(number) }
    #expect(registry.live == [] && registry.count == 0)
  }
}
