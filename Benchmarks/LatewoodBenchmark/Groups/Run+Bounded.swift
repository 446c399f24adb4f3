import LatewoodStore

/// Group `bounded`: the space that a file takes on the disk, and its apparent size, while its
/// entries are overwritten over and over.
extension Run where Engine == LatewoodEngine {
  /// Runs with all records, with a tenth of them and with a hundredth; the smaller sets are
  /// overwritten four times as often.
  func boundedGroup() throws {
    let sampler = SizeSampler.start(options.directory)
    var rounds = options.rounds
    for (name, divisor) in [("bounded", 1), ("bounded-tenth", 10), ("bounded-hundredth", 100)]
      as [(_, UInt64)]
    {
      try bounded(name, records: max(200, options.records / divisor), rounds: rounds, sampler)
      rounds *= 4
    }
  }

  private func bounded(_ name: String, records: UInt64, rounds: Int, _ sampler: SizeSampler) throws {
    options.directory.makeEmpty()
    var settings = Store.Options()
    settings.durability = .relaxed
    settings.wholeCheckpoints = options.wholeCheckpoints
    settings.punchesHoles = options.wholeCheckpoints > 0
    settings.writeBufferBudget = options.budgetMiB << 20
    let engine = try LatewoodEngine.open(in: options.directory, settings)
    try fillRandom(engine, records, batch: 1000, workload: "\(name)-fill")
    try engine.store.checkpoint()
    let live = try engine.store.statistics().liveBytes
    report.figure(name, "live_MiB", Double(live) / Process.mebibyte)
    _ = sampler.take()
    var greatest: (apparent: UInt64, allocated: UInt64) = (0, 0)
    for round in 1...rounds {
      try overwriteRound(engine, "\(name)-\(round)", records, UInt64(round))
      let size = sampler.take()
      report.figure("\(name)-\(round)", "max_alloc_to_live", Double(size.allocated) / Double(live))
      report.figure("\(name)-\(round)", "max_size_to_live", Double(size.apparent) / Double(live))
      greatest = (max(greatest.apparent, size.apparent), max(greatest.allocated, size.allocated))
    }
    report.figure(name, "max_alloc_to_live", Double(greatest.allocated) / Double(live))
    report.figure(name, "max_size_to_live", Double(greatest.apparent) / Double(live))
    if options.wholeCheckpoints == 1 {
      require(name, "on the disk", greatest.allocated, 3 * live + 32 << 20)
      require(name, "by its size", greatest.apparent, 8 * live + 64 << 20)
    }
    try engine.store.checkpoint()
    let statistics = try engine.store.statistics()
    report.figure(name, "end_alloc_to_live", Double(statistics.allocatedSize) / Double(live))
    waitForQuiet(engine)
    report.figure(name, "rest_alloc_to_live", Double(options.directory.size.allocated) / Double(live))
    report.figure(name, "size_MiB", Double(statistics.fileSize) / Process.mebibyte)
    report.figure(name, "punched_MiB", Double(statistics.punchedBytes) / Process.mebibyte)
    let verified = try engine.store.verify()
    report.require(name, "\(verified.faults.count) faults", "none", verified.faults.isEmpty)
    try engine.close()
  }

  private func require(_ name: String, _ how: String, _ found: UInt64, _ bound: UInt64) {
    let (found, bound) = (Double(found) / Process.mebibyte, Double(bound) / Process.mebibyte)
    report.require(name, "\(found) MiB \(how)", "at most \(bound)", found <= bound)
  }

  /// Waits until the store has finished the work that it does after a quiet period.
  private func waitForQuiet(_ engine: LatewoodEngine) {
    let start = Process.now
    let patience = Store.Options().compaction.quietTime + 2
    while Process.now - start < patience || engine.store.compactionProgress != nil {
      Threads.rest(milliseconds: 50)
    }
  }

  /// Overwrites as many records as the database has.
  private func overwriteRound(
    _ engine: LatewoodEngine, _ name: String, _ records: UInt64, _ round: UInt64
  ) throws {
    try Scratch.use(valueLength: options.valueLength) { scratch in
      var random = SplitMix64(seed: 0x0B00 + round)
      try measure(name, operations: records) {
        _ = try writeBatches(records, of: 1000, to: engine) { writer, _ in
          let number = random.below(records)
          try writer.put(scratch.key(number), scratch.value(number, round))
        }
      }
    }
  }
}
