import LatewoodStore

/// Group `keyspaces`: one keyspace for each record (`--n`), as in an application with a collection
/// for each user. Measures the cost of creating them, of opening the file, and of a get in one.
extension Run where Engine == LatewoodEngine {
  func keyspacesGroup() throws {
    let created = try openEmpty()
    let before = memory.restart()
    _ = try measure("keyspaces-create", operations: options.records) {
      try create(in: created.store)
    }
    report.figure("keyspaces-create", "anon_growth_MiB", memory.peakMiB - before)
    try close(created, after: "keyspaces-create")
    let start = Process.now
    let engine = try open()
    let opened = Process.now
    var checksum = Checksum()
    let isThere = try hasEntry(engine.store, options.records / 2, into: &checksum)
    report.figure("keyspaces-open", "open_ms", (opened - start) * 1e3)
    report.figure("keyspaces-open", "open_get_ms", (Process.now - start) * 1e3)
    report.wrongAnswers("keyspaces-open", "MISSES", isThere ? 0 : 1)
    try getByName(engine.store, "keyspaces-first", options.scaled(100_000))
    try getByName(engine.store, "keyspaces-get", options.scaled(100_000))
    try getInOne(engine.store)
    try commitInAny(engine.store)
    report.figure("keyspaces", "anon_growth_MiB", memory.peakMiB - before)
    try close(engine, after: "keyspaces")
  }

  private func name(_ number: UInt64) -> String { "keyspace \(number)" }

  /// Creates the keyspaces with one entry each, in transactions of 1000.
  private func create(in store: Store) throws {
    var done: UInt64 = 0
    while done < options.records {
      let end = min(options.records, done + 1000)
      try store.write { transaction in
        while done < end {
          let keyspace = try transaction.keyspace(name(done))
          try transaction.put("a", String(done), in: keyspace)
          done += 1
        }
      }
    }
    try store.sync()
  }

  /// Whether a keyspace exists under its name, with its entry.
  private func hasEntry(_ store: Store, _ number: UInt64, into checksum: inout Checksum) throws -> Bool {
    try store.withValue("a", in: store.keyspace(name(number))) { checksum.add(value: $0) } != nil
  }

  /// Looks up random keyspaces by name, each for one get.
  private func getByName(_ store: Store, _ workload: String, _ operations: UInt64) throws {
    var random = SplitMix64(seed: 0x4E5)
    var checksum = Checksum()
    var hits: UInt64 = 0
    try measure(workload, operations: operations) {
      for _ in 0..<operations where try hasEntry(store, random.below(options.records), into: &checksum) {
        hits += 1
      }
    }
    report.wrongAnswers(workload, "MISSES", operations - hits)
  }

  private func getInOne(_ store: Store) throws {
    let keyspace = try store.keyspace(name(options.records / 2))
    let operations = options.scaled(500_000)
    var hits: UInt64 = 0
    var checksum = Checksum()
    try measure("keyspaces-get-one", operations: operations) {
      for _ in 0..<operations where try store.withValue("a", in: keyspace, { checksum.add(value: $0) }) != nil
      {
        hits += 1
      }
    }
    report.wrongAnswers("keyspaces-get-one", "MISSES", operations - hits)
  }

  /// Runs relaxed transactions of one put in a random keyspace.
  private func commitInAny(_ store: Store) throws {
    var random = SplitMix64(seed: 0x4E6)
    let operations = options.scaled(100_000)
    try measure("keyspaces-commit", operations: operations) {
      for _ in 0..<operations {
        try store.put("b", "value", in: try store.keyspace(name(random.below(options.records))))
      }
    }
  }
}
