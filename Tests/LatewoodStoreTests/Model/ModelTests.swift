import LatewoodDevice
import LatewoodSimulation
import Testing

/// Random operations on a store and on a plain sorted model, side by side.
///
/// `LATEWOOD_SEED` replays a run, `LATEWOOD_OPERATIONS` sets the number of operations of all runs
/// together.
@Suite struct ModelTests {
  static let operations =
    Int(CurrentProcess.environmentVariable("LATEWOOD_OPERATIONS") ?? "")
    ?? Effort.count(1_000_000, low: 200_000)

  @Test(arguments: 0..<12) func `a store behaves like a sorted dictionary`(_ style: Int) throws {
    let seed = SeededRandom.seed()
    let run = try ModelRun(seed: seed, style: style)
    try run.run(operations: Self.operations / 12)
    print(
      "ModelTests: style \(style), \(run.operations) operations, \(run.reopenings) reopenings, \(run.compactions) compactions,",
      "\(run.pastStates) past states, \(run.punched) bytes given back; seed \(seed)")
    #expect(run.punched > 0, "seed \(seed)")
  }

  /// The cache is as small as possible, so that everything is read again and again.
  @Test(arguments: 0..<4) func `a store that is not mapped behaves like a sorted dictionary`(_ style: Int)
    throws
  {
    let seed = SeededRandom.seed()
    let run = try ModelRun(seed: seed, style: style, reading: .buffered(cacheBytes: 64 << 10))
    try run.run(operations: Self.operations / 24)
    print("ModelTests: style \(style), \(run.operations) operations, not mapped; seed \(seed)")
  }
}
