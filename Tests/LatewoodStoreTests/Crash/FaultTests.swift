import LatewoodSimulation
import LatewoodStore
import Testing

/// A disk that fails at every call, in every way: calls throw what happened, what was acknowledged stays, reads go on, and the store
/// writes again: after a lack of space at once, after anything else when it was opened again.
@Suite struct FaultTests {
  @Test(arguments: FaultPlan.Kind.allCases)
  func `a fault at any call costs nothing that was acknowledged`(_ kind: FaultPlan.Kind) throws {
    let seed = SeededRandom.seed()
    let calls = try CrashRun.countCalls(of: .faulty)
    var errors = 0
    var points = 0
    for call in 0..<calls {
      let run = FaultRun(FaultPlan(kind: kind, call: call), seed: seed &+ UInt64(call))
      do {
        try run.run(.faulty)
      } catch {
        Issue.record("\(error): \(kind) at call \(call), seed \(seed)")
      }
      errors += run.errors
      points += run.points
    }
    print("FaultTests: \(kind) at \(calls) calls, \(errors) errors, \(points) power cuts; seed \(seed)")
    #expect(errors > calls / 4)
  }
}
