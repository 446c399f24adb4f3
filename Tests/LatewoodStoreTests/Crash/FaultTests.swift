import LatewoodModels
import LatewoodSimulation
import LatewoodStore
import Testing

/// A disk that fails at every call, in every way. Calls throw the failure, acknowledged commits
/// stay, and reads continue. After a lack of space the store can write again immediately; after
/// other failures it has to be reopened.
@Suite struct FaultTests {
  static let scripts = [CrashScript.faulty] + CrashScript.all.filter { $0.share >= 0.002 }
  private let seed = SeededRandom.seed()

  private struct Totals {
    var runs = 0
    var errors = 0
    var points = 0
  }

  private func run(_ script: CrashScript, _ plan: FaultPlan, _ totals: inout Totals) {
    let run = FaultRun(plan, seed: seed &+ UInt64(totals.runs))
    do {
      try run.run(script)
    } catch {
      Issue.record("\(error): \(script.name), \(plan), seed \(seed)")
    }
    totals.runs += 1
    totals.errors += run.errors
    totals.points += run.points
  }

  private func tell(_ script: CrashScript, _ what: String, _ totals: Totals) {
    print(
      "FaultTests: \(script.name), \(what): \(totals.runs) runs, \(totals.errors) errors, \(totals.points) power cuts; seed \(seed)"
    )
    #expect(totals.errors > 0)
  }

  /// With low effort, each call of most scripts fails in only one way, and in a different way in
  /// each run.
  @Test(arguments: scripts)
  func `a fault at any call loses no acknowledged commit`(_ script: CrashScript) throws {
    let calls = try CrashRun.countCalls(of: script)
    var totals = Totals()
    let kinds = FaultPlan.Kind.allCases
    let triesAll = !Effort.isLow || script.name == CrashScript.faulty.name
    for (number, kind) in kinds.enumerated() {
      let turn = number + Int(seed % UInt64(kinds.count))
      for call in 0..<calls where triesAll || (call + turn) % kinds.count == 0 {
        run(script, FaultPlan(faults: [(kind, call)]), &totals)
      }
    }
    tell(script, "one fault", totals)
  }

  @Test(arguments: scripts.filter { $0.share >= 1 })
  func `two faults lose no acknowledged commit`(_ script: CrashScript) throws {
    let calls = try CrashRun.countCalls(of: script)
    var random = SeededRandom(seed: seed)
    var totals = Totals()
    for _ in 0..<Effort.count(60, low: 20) {
      let first = random.below(calls)
      let second = random.oneIn(2) ? first + 1 + random.below(6) : random.below(calls)
      let kinds = FaultPlan.Kind.allCases
      let plan = FaultPlan(faults: [(random.pick(kinds), first), (random.pick(kinds), second)])
      run(script, plan, &totals)
    }
    tell(script, "two faults", totals)
  }

  /// A process that is killed after a failed sync leaves its root slot in the cache. The next
  /// process cannot build on it: behind the gap of a full disk, only that slot would lead to its
  /// commits.
  @Test func `a slot whose sync failed is not trusted`() throws {
    func run(losing lost: Int?) throws -> (first: Int, calls: Int) {
      let volume = SimulatedVolume(seed: seed)
      let store = try CrashScript.open(volume.process(1))
      let fruit = try store.keyspace("fruit")
      try store.put("apple", "red", in: fruit)
      volume.inject(.outOfSpace(), atCall: volume.callCount)
      #expect(throws: StoreError.self) { try store.put("pear", "green", in: fruit) }
      let first = volume.callCount
      if let lost {
        volume.inject(.inputOutput(), atCall: lost)
        #expect(throws: StoreError.self) { try store.checkpoint() }
      } else {
        try store.checkpoint()
      }
      let calls = volume.callCount
      volume.kill(process: 1)
      let next = try CrashScript.open(volume.process(2))
      try next.put("plum", "blue", in: next.keyspace("fruit"), durability: .synchronous)
      for image in volume.crashImages() {
        let last = try CrashScript.open(image.makeVolume())
        #expect(try last.get("apple", in: last.keyspace("fruit")) == Array("red".utf8))
        #expect(try last.get("plum", in: last.keyspace("fruit")) == Array("blue".utf8))
        #expect(try last.verify().faults.isEmpty)
      }
      return (first, calls)
    }
    let (first, calls) = try run(losing: nil)
    for call in first..<calls { _ = try run(losing: call) }
  }

  @Test(arguments: scripts.filter { $0.share >= 1 })
  func `a disk that is full for a while loses no acknowledged commit`(_ script: CrashScript) throws {
    let volume = SimulatedVolume()
    var progress = CrashScript.Progress()
    try script.run(on: volume, &progress)
    let size = try volume.liveBytes(of: CrashScript.path).count
    var totals = Totals()
    for limit in stride(from: 0, to: 16384, by: 4096) { run(script, FaultPlan(spaceLimit: limit), &totals) }
    for limit in stride(from: 16384, to: size, by: max(24, (size - 16384) / Effort.count(50, low: 20))) {
      run(script, FaultPlan(spaceLimit: limit), &totals)
    }
    tell(script, "full disk", totals)
  }
}
