import LatewoodDevice
import LatewoodSimulation
import Testing

/// Random operations on a database and on a plain model in parallel. `LATEWOOD_SEED` replays a run.
@Suite struct DocumentModelTests {
  static let isLowEffort = CurrentProcess.environmentVariable("LATEWOOD_EFFORT") == "low"

  @Test(arguments: 0..<4) func `a database behaves as a dictionary of trees`(_ number: Int) throws {
    let seed = SeededRandom.seed()
    let run = try DocumentModelRun(seed: seed)
    try run.run(operations: Self.isLowEffort ? 1500 : 8000)
    print("DocumentModelTests: \(run.operations) operations, \(run.reopenings) reopenings; seed \(seed)")
  }
}
