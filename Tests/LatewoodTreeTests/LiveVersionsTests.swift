import LatewoodSimulation
import Testing

@testable import LatewoodTree

@Suite struct LiveVersionsTests {
  @Test(arguments: [1, 31, 32, 33, 64, 500])
  func `the live versions are known, in whatever order they end`(_ most: Int) {
    var random = SeededRandom(seed: SeededRandom.seed())
    var versions = LiveVersions()
    var model: [LiveVersion] = []
    var number: UInt64 = 1
    for _ in 0..<3000 {
      if model.isEmpty || (model.count < most && random.oneIn(2)) || random.oneIn(9) {
        // Several versions may have the newest number, also after all of them have ended.
        if !random.oneIn(4) { number += UInt64(random.below(3)) }
        model.append(versions.add(number))
      } else {
        let index = random.oneIn(3) ? 0 : random.oneIn(2) ? model.count - 1 : random.below(model.count)
        model.remove(at: index).end()
      }
      #expect(versions.numbers == Set(model.map(\.number)).sorted(), "\(random.replay)")
      // The writer need not look at many more entries than there are live versions.
      #expect(versions.numbers(lookingAtMost: 2 * most + 20) != nil, "\(random.replay)")
    }
    for version in model { version.end() }
    #expect(versions.numbers == [])
  }

  @Test func `ended versions do not stay`() {
    var versions = LiveVersions()
    let kept = versions.add(1)
    for number in 2..<10_000 { versions.add(UInt64(number)).end() }
    #expect(versions.numbers == [1])
    #expect(versions.numbers(lookingAtMost: 8) == [1])
    #expect(versions.numbers(lookingAtMost: 0) == nil)
    kept.end()
  }
}
