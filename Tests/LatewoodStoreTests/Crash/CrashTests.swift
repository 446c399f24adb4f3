import LatewoodDevice
import LatewoodModels
import LatewoodSimulation
import LatewoodStore
import Testing

/// The effort of tests that lose power, and of those that damage files.
extension Effort {
  /// The approximate number of points of the crash tests, which `LATEWOOD_CRASH_POINTS` overrides.
  static let points =
    Int(CurrentProcess.environmentVariable("LATEWOOD_CRASH_POINTS") ?? "") ?? count(60_000, low: 4_000)

  /// The number of images for each second cut. First cuts alone cannot make millions of points,
  /// because there are not that many different ones.
  static let secondCuts = max(6, points / 60_000)

  /// A damage test tries one in this many bits and lengths.
  static let damageStride = count(1, low: 29)

  /// Whether all bits of a larger file are tried, as `LATEWOOD_EVERY_BIT` requests.
  static let everyBit = CurrentProcess.environmentVariable("LATEWOOD_EVERY_BIT") != nil
}

/// Power cuts at every call, with every subset of the unsynced data lost, kept or torn.
///
/// A *point* is one call at which the power is cut, with one image of the resulting disk. At each
/// point the store must open, show a state from the last one acknowledged as durable up to the one
/// in flight, be sound in every byte, and accept further writes.
@Suite struct CrashTests {
  @Test(arguments: CrashScript.all)
  func `a power cut at any call leaves an acknowledged state or the one in flight`(_ script: CrashScript)
    throws
  {
    let seed = SeededRandom.seed()
    var random = SeededRandom(seed: seed)
    let calls = try CrashRun.countCalls(of: script)
    // At most half of the points are first cuts. If there are too few images for that, the rest are
    // second cuts.
    let wanted = Double(Effort.points) * script.share / CrashScript.all.reduce(0) { $0 + $1.share }
    let perCall = max(2, Int(wanted / 2) / (calls + 1))
    var points = 0
    var second = 0
    for call in 0...calls {
      let run = CrashRun(script: script, call: call)
      let images = try run.images(seed: random.next(), random: perCall / 2)
      for position in CrashRun.sample(images.count, perCall, &random) {
        let image = images[position]
        func label() -> String {
          "\(script.name), call \(call), image \(position): \(image); \(random.replay)"
        }
        let content = try run.check(image, goesOn: points % 4 == 0, label: label())
        points += 1
        guard let content, script.share >= 1,
          Double(points + second) < wanted * Double(call + 1) / Double(calls + 1),
          random.oneIn(1 + images.count / 16)
        else { continue }
        second += try CrashRun.checkSecondCut(
          image, showing: content, perCall: Effort.secondCuts, &random, label: label())
      }
      #expect(run.isCut == (call < calls), "call \(call) of \(script.name)")
    }
    print("CrashTests: \(script.name): \(calls) calls, \(points) points, \(second) second; seed \(seed)")
    #expect(points >= calls)
  }
}

extension CrashScript: CustomTestStringConvertible {
  public var testDescription: String { name }
}
