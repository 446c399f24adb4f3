/// The read workloads of group `rand`.
extension Run {
  func readWorkloads(_ engine: Engine) throws {
    try readSequentially(engine, workload: "readseq-first")
    try readSequentially(engine, workload: "readseq")
    try readRandomly(engine, "warmup2", options.scaled(200_000))
    try readRandomly(engine, "readrandom", options.scaled(1_000_000))
    try engine.withSnapshot { snapshot in
      try readRandomly(snapshot, "readrandom-snap", options.scaled(1_000_000))
      try readOnTwoThreads(snapshot, "readrandom-snap-2t")
    }
    try readMissing(engine)
    try scanHundreds(engine)
    try readOnTwoThreads(engine, "readrandom-2t")
  }

  func readRandomly(_ reads: some BenchmarkReads, _ workload: String, _ operations: UInt64) throws {
    var checksum = Checksum()
    let hits = try measure(workload, operations: operations) {
      try gets(from: reads, seed: 0xBEAD, operations, into: &checksum)
    }
    report.count(workload, "checksum", checksum.sum)
    report.wrongAnswers(workload, "MISSES", operations - hits)
  }

  private func readMissing(_ engine: Engine) throws {
    let operations = options.scaled(500_000)
    var checksum = Checksum()
    let hits = try measure("readmissing", operations: operations) {
      try gets(from: engine, seed: 0xA85E, operations, missing: true, into: &checksum)
    }
    if Engine.answers { report.wrongAnswers("readmissing", "HITS", hits) }
  }

  private func scanHundreds(_ engine: Engine) throws {
    let operations = options.scaled(20_000)
    var random = SplitMix64(seed: 0x5CA9)
    var checksum = Checksum()
    let entries = try Scratch.use(valueLength: 0) { scratch in
      try measure("scan100", operations: operations) {
        var entries: UInt64 = 0
        for _ in 0..<operations {
          let start = scratch.key(random.below(options.records - 100))
          entries += UInt64(try engine.scan(from: start, limit: 100, into: &checksum))
        }
        return entries
      }
    }
    report.count("scan100", "checksum", checksum.sum)
    report.count("scan100", "count", entries)
    report.wrongAnswers("scan100", "SHORT", operations * 100 - entries)
  }

  private func readOnTwoThreads(_ reads: some BenchmarkReads & Sendable, _ workload: String) throws {
    let perThread = options.scaled(500_000)
    let results = try measure(workload, operations: 2 * perThread) {
      try Threads.run(2) { thread in
        var checksum = Checksum()
        let hits = try gets(from: reads, seed: 0xBEAD + UInt64(thread), perThread, into: &checksum)
        return (hits: hits, checksum: checksum)
      }
    }
    var checksum = Checksum()
    for result in results { checksum &+= result.checksum }
    report.count(workload, "checksum", checksum.sum)
    report.wrongAnswers(workload, "MISSES", 2 * perThread - results.reduce(0) { $0 + $1.hits })
  }
}
