import LatewoodStore

/// Group `snapshots`: one snapshot for each record (`--n`), all held at the same time, each of a
/// different state. Measures their memory, and the cost of commits and gets while they are held.
extension Run where Engine == LatewoodEngine {
  func snapshotsGroup() throws {
    let records = options.scaled(100_000)
    let engine = try filled(records)
    try commitAndGet(engine, records, "snapshots-none")
    let oldest = try readAll(engine)
    let before = memory.restart()
    let held = try take(engine, records)
    let newest = try readAll(engine)
    report.figure("snapshots-take", "anon_growth_MiB", Process.anonymousMiB - before)
    try commitAndGet(engine, records, "snapshots-held")
    report.figure("snapshots-held", "anon_growth_MiB", memory.peakMiB - before)
    try checkUnchanged(held.first, oldest, engine)
    try checkUnchanged(held.last, newest, engine)
    measure("snapshots-close", operations: options.records) {
      for snapshot in held { snapshot.close() }
    }
    try commitAndGet(engine, records, "snapshots-closed")
    try close(engine, after: "snapshots")
  }

  /// Takes a snapshot, changes one record, takes the next. The last one is of the newest state.
  private func take(_ engine: LatewoodEngine, _ records: UInt64) throws -> [Snapshot] {
    var held: [Snapshot] = []
    held.reserveCapacity(Int(options.records))
    var random = SplitMix64(seed: 0x54AD)
    try Scratch.use(valueLength: options.valueLength) { scratch in
      try measure("snapshots-take", operations: options.records) {
        held.append(try engine.store.snapshot())
        for _ in 1..<options.records {
          let number = random.below(records)
          try engine.put(scratch.key(number), scratch.value(number, 1))
          held.append(try engine.store.snapshot())
        }
      }
    }
    return held
  }

  /// Runs relaxed transactions of one put, and gets, on random records.
  private func commitAndGet(_ engine: LatewoodEngine, _ records: UInt64, _ workload: String) throws {
    let commits = options.scaled(100_000)
    let gets = options.scaled(500_000)
    var random = SplitMix64(seed: 0x54AE)
    var checksum = Checksum()
    var hits: UInt64 = 0
    try Scratch.use(valueLength: options.valueLength) { scratch in
      try measure("\(workload):commit", operations: commits) {
        for _ in 0..<commits {
          let number = random.below(records)
          try engine.put(scratch.key(number), scratch.value(number, 2))
        }
      }
      try measure("\(workload):get", operations: gets) {
        for _ in 0..<gets where try engine.get(scratch.key(random.below(records)), into: &checksum) {
          hits += 1
        }
      }
    }
    report.wrongAnswers(workload, "MISSES", gets - hits)
  }

  private func checkUnchanged(
    _ snapshot: Snapshot?, _ expected: (count: Int, sum: UInt64), _ engine: LatewoodEngine
  ) throws {
    guard let snapshot else { return }
    let found = try readAll(LatewoodEngine.State(snapshot: snapshot, keyspace: engine.keyspace))
    report.require(
      "snapshots", "a snapshot reads \(found.count) entries with checksum \(found.sum)",
      "\(expected.count) with \(expected.sum)", found == expected)
  }
}
