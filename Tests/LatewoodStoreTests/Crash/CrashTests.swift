import LatewoodDevice
import LatewoodSimulation
import LatewoodStore
import Testing

/// Power cuts at every call, with every subset of what was not synced lost, kept or torn.
///
/// A *point* is one call at which the power goes, with one image of what the disk then has. At each the store must open and show a state
/// from the last one acknowledged as durable up to the one in flight, sound in every byte, and go on from there.
@Suite struct CrashTests {
  /// Factor on how many images are looked at; `LATEWOOD_EFFORT=low` is for sanitizers.
  static let isLowEffort = CurrentProcess.environmentVariable("LATEWOOD_EFFORT") == "low"
  static let pointsWanted =
    Int(CurrentProcess.environmentVariable("LATEWOOD_CRASH_POINTS") ?? "") ?? (isLowEffort ? 2_000 : 100_000)

  @Test(arguments: CrashScript.all.indices)
  func `a power cut at any call leaves an acknowledged state or the one in flight`(_ index: Int) throws {
    let script = CrashScript.all[index]
    let seed = SeededRandom.seed()
    var random = SeededRandom(seed: seed)
    let calls = try CrashRun.countCalls(of: script)
    let perCall = max(4, Self.pointsWanted / CrashScript.all.count / calls)
    var points = 0
    var nested = 0
    for call in 0..<calls {
      let run = CrashRun(script: script, call: call)
      let images = try run.images(seed: random.next())
      for position in CrashRun.sample(images.count, perCall, &random) {
        let image = images[position]
        let label = "\(script.name), call \(call), image \(position): \(image); \(random.replay)"
        try run.check(image, label: label, goesOn: points % 16 == 0)
        points += 1
        if points % 64 == 0 { nested += try run.checkNested(image, label: label, &random) }
      }
    }
    print("CrashTests: \(script.name): \(calls) calls, \(points) points, \(nested) in recovery; seed \(seed)")
    #expect(points >= calls)
  }
}
