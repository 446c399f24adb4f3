import LatewoodStore

/// Group `bounded`: what a file takes on the disk while its entries are overwritten over and over.
extension Run where Engine == LatewoodEngine {
  func boundedGroup() throws {
    options.directory.makeEmpty()
    var settings = Store.Options()
    settings.durability = .relaxed
    settings.wholeCheckpoints = options.wholeCheckpoints
    settings.punchesHoles = options.wholeCheckpoints > 0
    settings.writeBufferBudget = options.budgetMiB << 20
    let engine = try LatewoodEngine.open(in: options.directory, settings)
    try fillRandom(engine, options.records, batch: 1000, workload: "bounded-fill")
    try engine.store.checkpoint()
    let live = try engine.store.statistics().liveBytes
    report.figure("bounded", "live_MiB", Double(live) / Process.mebibyte)
    var greatest = 0.0
    for round in 1...options.rounds {
      greatest = max(greatest, try overwriteRound(engine, round, live: Double(live)))
    }
    report.figure("bounded", "max_alloc_to_live", greatest)
    if options.wholeCheckpoints == 1 {
      report.require("bounded", "\(greatest) times the live data", "at most 6", greatest <= 6)
    }
    try engine.store.checkpoint()
    let statistics = try engine.store.statistics()
    report.figure("bounded", "end_alloc_to_live", Double(statistics.allocatedSize) / Double(live))
    waitForQuiet(engine)
    report.figure("bounded", "rest_alloc_to_live", Double(options.directory.size.allocated) / Double(live))
    report.figure("bounded", "size_MiB", Double(statistics.fileSize) / Process.mebibyte)
    report.figure("bounded", "punched_MiB", Double(statistics.punchedBytes) / Process.mebibyte)
    let verified = try engine.store.verify()
    report.require("bounded", "\(verified.faults.count) faults", "none", verified.faults.isEmpty)
    try engine.close()
  }

  /// Until what the store does by itself after a quiet time is done.
  private func waitForQuiet(_ engine: LatewoodEngine) {
    let start = Process.now
    let patience = Store.Options().compaction.quietTime + 2
    while Process.now - start < patience || engine.store.compactionProgress != nil {
      Threads.rest(milliseconds: 50)
    }
  }

  /// As many overwrites as there are records; returns the greatest ratio of what the file took to the live bytes.
  private func overwriteRound(_ engine: LatewoodEngine, _ round: Int, live: Double) throws -> Double {
    var greatest = 0.0
    try Scratch.use(valueLength: options.valueLength) { scratch in
      var random = SplitMix64(seed: 0x0B00 + UInt64(round))
      try measure("bounded-\(round)", operations: options.records) {
        var done: UInt64 = 0
        while done < options.records {
          let count = min(20_000, options.records - done)
          _ = try writeBatches(count, of: 1000, to: engine) { writer, _ in
            let number = random.below(options.records)
            try writer.put(scratch.key(number), scratch.value(number, UInt64(round)))
          }
          done += count
          // Of all files: a compaction that is under way counts.
          greatest = max(greatest, Double(options.directory.size.allocated) / live)
        }
      }
    }
    report.figure("bounded-\(round)", "max_alloc_to_live", greatest)
    return greatest
  }
}
