import LatewoodDevice
import LatewoodSimulation
import Testing

/// Random operations on a store and on a plain sorted model, side by side.
///
/// `LATEWOOD_SEED` replays a run, `LATEWOOD_OPERATIONS` sets the number of operations of all runs
/// together.
@Suite struct ModelTests {
  static let isLowEffort = CurrentProcess.environmentVariable("LATEWOOD_EFFORT") == "low"
  static let operations =
    Int(CurrentProcess.environmentVariable("LATEWOOD_OPERATIONS") ?? "") ?? (isLowEffort ? 60_000 : 1_000_000)

  @Test(arguments: 0..<12) func `a store behaves as a sorted dictionary`(_ style: Int) throws {
    let seed = SeededRandom.seed()
    let first = try run(seed: seed, style)
    guard !first.keepsFollower, first.options.wholeCheckpoints == 1 else { return }
    // Blocks are given back only while there are no readers. One run may miss each such moment, but
    // not five runs.
    var punched = first.punched
    for more: UInt64 in 1...4 where punched == 0 {
      punched = try run(seed: seed &+ more, style).punched
    }
    #expect(punched > 0, "seed \(seed)")
  }

  private func run(seed: UInt64, _ style: Int) throws -> ModelRun {
    let run = try ModelRun(seed: seed, style: style)
    try run.run(operations: Self.operations / 12)
    print(
      "ModelTests: style \(style), \(run.operations) operations, \(run.reopenings) reopenings, \(run.compactions) compactions,",
      "\(run.pastStates) past states, \(run.punched) bytes given back; seed \(seed)")
    return run
  }

  /// The cache is as small as possible, so that everything is read again and again.
  @Test(arguments: 0..<4) func `a store that is not mapped behaves as a sorted dictionary`(_ style: Int)
    throws
  {
    let seed = SeededRandom.seed()
    let run = try ModelRun(seed: seed, style: style, reading: .buffered(cacheBytes: 64 << 10))
    try run.run(operations: Self.operations / 24)
    print("ModelTests: style \(style), \(run.operations) operations, not mapped; seed \(seed)")
  }
}
