import LatewoodModels
import LatewoodSimulation
import LatewoodStore
import Testing

/// An interrupted backup is the previous one or the new one.
@Suite struct BackupCrashTests {
  private static let target = "backup"

  /// Alternates writes and backups. `states` are the contents after each write, `finished` is the
  /// number of finished backups.
  private func run(on volume: SimulatedVolume, _ states: inout [Content], _ finished: inout Int) throws {
    let store = try CrashScript.open(volume.process(1))
    for round in 0..<4 {
      try store.write { transaction in
        let keyspace = try transaction.keyspace("a")
        for number in 0..<30 {
          let value = [UInt8](repeating: UInt8(round), count: number % 10 == 0 ? 900 : 40)
          try transaction.put("key \(number * (round + 1))", value, in: keyspace)
        }
      }
      states.append(try store.content())
      if round == 2 { try store.compact() }
      try store.backup(to: Self.target)
      finished += 1
    }
  }

  @Test func `after a power cut at any call, a backup is the previous or the new one`() throws {
    let (seed, perCall) = (UInt64.random(in: 0...UInt64.max), Effort.count(12, low: 3))
    var random = SeededRandom(seed: seed)
    var points = 0
    for call in 0... {
      let volume = SimulatedVolume()
      volume.inject(.powerCut, atCall: call)
      var states: [Content] = []
      var finished = 0
      do { try run(on: volume, &states, &finished) } catch {}
      let images = volume.crashImages(seed: random.next(), random: 32)
      for index in CrashRun.sample(images.count, perCall, &random) {
        let label = "call \(call), image \(index); seed \(seed)"
        try check(images[index].makeVolume(), states, finished, label)
        points += 1
      }
      if !volume.isCrashed { break }
    }
    print("BackupCrashTests: \(points) points; seed \(seed)")
  }

  @Test func `after any fault, a backup can be repeated`() throws {
    for fault in [InjectedFault.inputOutput(after: 0), .outOfSpace(after: 100)] {
      for call in 0... {
        let volume = SimulatedVolume()
        volume.inject(fault, atCall: call)
        var states: [Content] = []
        var finished = 0
        do { try run(on: volume, &states, &finished) } catch {}
        let wasReached = volume.callCount > call
        volume.clearFaults()
        volume.kill(process: 1)
        try check(volume, states, finished, "\(fault) at call \(call)")
        if !wasReached { break }
      }
    }
  }

  /// Checks that an interrupted backup can be read and extended.
  private func check(
    _ volume: SimulatedVolume, _ states: [Content], _ finished: Int, _ label: String
  ) throws {
    do {
      if try finished > 0 || volume.process(9).exists(Self.target) {
        let backup = try CrashScript.open(volume.process(2), .readOnly, at: Self.target)
        let shown = try backup.content()
        #expect(states[max(0, finished - 1)...].contains(shown), "\(label): \(finished) were made")
        #expect(try backup.verify().faults == [], "\(label)")
        try backup.close()
      }
      guard try volume.process(9).exists(CrashScript.path) else { return }
      let store = try CrashScript.open(volume.process(3))
      try store.backup(to: Self.target)
      let backup = try CrashScript.open(volume.process(2), .readOnly, at: Self.target)
      #expect(try backup.content() == store.content(), "\(label)")
      #expect(try backup.verify().faults == [], "\(label)")
    } catch {
      Issue.record("\(error): \(label)")
    }
  }
}
