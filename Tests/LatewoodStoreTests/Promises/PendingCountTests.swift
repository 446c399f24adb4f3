import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice
import LatewoodSimulation
import LatewoodStore
import LatewoodTestSupport
import Testing

/// `count`, `rank`, `key(at:)` and `forEach` with changes that are not in a checkpoint yet,
/// compared with a sorted array.
@Suite struct PendingCountTests {
  private struct Run {
    var random: SeededRandom
    let keys: KeyMaker
    let store: Store
    let keyspace: Keyspace
    var model = OrderedModel.Space()
    var held: [(snapshot: Snapshot, model: OrderedModel.Space)] = []

    init(_ random: SeededRandom, style: Int, on volume: any Volume = SimulatedVolume(seed: 1).process(1))
      throws
    {
      self.random = random
      keys = KeyMaker(style: style)
      var options = Store.Options()
      options.checkpointsInBackground = false
      options.compaction = .manual
      options.durability = .relaxed
      options.nodeSize = 1024
      store = try Store.open(at: "db", on: volume, mode: .createNew, options: options, environment: .system)
      keyspace = try store.keyspace("counted")
      // Neighbouring keyspaces, whose entries are not counted.
      let others = [try store.keyspace("after"), try store.keyspace("far after")]
      try store.write { transaction in
        for other in others { try transaction.put("a", "b", in: other) }
      }
    }

    /// Makes a transaction of random changes, some of which report whether the key existed.
    mutating func write(_ steps: Int, fails: Bool = false) throws {
      var next = model
      do {
        try store.write { transaction in
          for _ in 0..<steps { try step(transaction, &next) }
          if random.oneIn(3) { try compare(transaction, next, probes: 3) }
          // Changes after a count that has read the transaction's own nodes.
          for _ in 0..<random.below(10) { try step(transaction, &next) }
          if random.oneIn(3) { try compare(transaction, next, probes: 3) }
          if fails { throw OnPurpose() }
        }
        model = next
      } catch is OnPurpose {}
    }

    mutating func step(_ transaction: Transaction, _ model: inout OrderedModel.Space) throws {
      let key = random.oneIn(3) && !model.keys.isEmpty ? random.pick(model.keys) : keys.key(&random)
      let existed = model.values[key] != nil
      let saysSo = random.oneIn(2)
      switch random.below(12) {
      case 0 where random.oneIn(3):
        let (range, low, high) = keys.range(&random, model)
        try transaction.deleteRange(range, in: keyspace)
        model.deleteRange(low, high)
      case 0..<4:
        if saysSo {
          try transaction.delete(key, in: keyspace, existed: existed)
        } else {
          try transaction.delete(key, in: keyspace)
        }
        model.delete(key)
      default:
        if saysSo {
          try transaction.put(key, [1], in: keyspace, existed: existed)
        } else {
          try transaction.put(key, [1], in: keyspace)
        }
        model.put(key, [1])
      }
    }

    mutating func compare(_ source: some Readable, _ model: OrderedModel.Space, probes: Int) throws {
      #expect(try source.count(in: keyspace) == model.keys.count, "\(random.replay)")
      for _ in 0..<probes {
        let (range, low, high) = keys.range(&random, model)
        #expect(try source.count(in: keyspace, range) == max(0, high - low), "\(random.replay)")
        var found: [[UInt8]] = []
        try source.forEach(in: keyspace, range) { key, _ in
          found.append(key.withUnsafeBytes { Array($0) })
          return true
        }
        #expect(found == Array(model.keys[low..<max(low, high)]), "\(random.replay)")
        let probe = keys.key(&random)
        #expect(try source.rank(of: probe, in: keyspace) == model.rank(probe), "\(random.replay)")
        let index = random.below(model.keys.count + 1)
        let expected = index < model.keys.count ? model.keys[index] : nil
        #expect(try source.key(at: index, in: keyspace) == expected, "\(random.replay)")
        if low < high {
          let inside = random.below(high - low)
          #expect(
            try source.key(at: inside, in: keyspace, range) == model.keys[low + inside], "\(random.replay)")
          #expect(try source.key(at: high - low, in: keyspace, range) == nil, "\(random.replay)")
        }
      }
    }

    mutating func compareAll(probes: Int) throws {
      try compare(store, model, probes: probes)
      for (snapshot, model) in held { try compare(snapshot, model, probes: probes) }
    }
  }

  @Test(arguments: 0..<6) func `counts are right with any pending changes, in all versions`(_ style: Int)
    throws
  {
    var run = try Run(SeededRandom(seed: SeededRandom.seed()), style: style)
    for round in 0..<60 {
      try run.write(1 + run.random.below(run.random.oneIn(4) ? 400 : 30), fails: run.random.oneIn(8))
      try run.compareAll(probes: 3)
      if round % 9 == 4 { run.held.append((try run.store.snapshot(), run.model)) }
      if round % 20 == 19 { run.held.removeFirst() }
      if run.random.oneIn(12) { try run.store.checkpoint() }
    }
    for index in run.model.keys.indices {
      #expect(try run.store.key(at: index, in: run.keyspace) == run.model.keys[index], "\(run.random.replay)")
    }
    run.held = []
    #expect(try run.store.verify().faults == [])
    try run.store.close()
  }

  @Test func `counts are right during a checkpoint's merge, even with newer changes`() throws {
    let volume = SimulatedVolume(seed: 5)
    let run = Guarded(try Run(SeededRandom(seed: SeededRandom.seed()), style: 0, on: volume.process(1)))
    let meetings = Guarded(0)
    for _ in 0..<5 {
      try run.withLock { run in
        for _ in 0..<6 { try run.write(300) }
        run.held = [(try run.store.snapshot(), run.model)]
      }
      // The tree is written but not yet named by a slot: its new entries are still in the frozen
      // buffer.
      volume.beforeAccess = { access in
        guard access.kind == .sync else { return }
        volume.beforeAccess = nil
        meetings.withLock { $0 += 1 }
        run.withLock { run in
          do {
            for _ in 0..<6 {
              try run.compareAll(probes: 4)
              try run.write(150)
            }
            run.held.append((try run.store.snapshot(), run.model))
            try run.compareAll(probes: 4)
          } catch { Issue.record(error) }
        }
      }
      try run.withLock { $0.store }.checkpoint()
      try run.withLock { try $0.compareAll(probes: 10) }
    }
    #expect(meetings.withLock { $0 } == 5)
    try run.withLock { run in
      run.held = []
      try run.store.close()
    }
  }
}
