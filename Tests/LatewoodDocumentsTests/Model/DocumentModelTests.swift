import LatewoodDevice
import LatewoodSimulation
import Testing

/// Random operations on a database and on a plain model in parallel. `LATEWOOD_SEED` replays a run.
@Suite struct DocumentModelTests {
  @Test(arguments: 0..<4) func `a database behaves like a dictionary of trees`(_ number: Int) throws {
    let seed = SeededRandom.seed()
    let run = try DocumentModelRun(seed: seed)
    try run.run(operations: Effort.count(8000, low: 1500))
    print("DocumentModelTests: \(run.operations) operations, \(run.reopenings) reopenings; seed \(seed)")
  }
}
