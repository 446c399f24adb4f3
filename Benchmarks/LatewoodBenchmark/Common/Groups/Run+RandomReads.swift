/// The read workloads of group `rand`.
extension Run {
  func readWorkloads(_ engine: Engine) throws {
    try readSequentially(engine, workload: "readseq-first")
    try readSequentially(engine, workload: "readseq")
    try engine.withSession { session in
      try readRandomly(session, "warmup2", options.scaled(200_000))
      try readRandomly(session, "readrandom", options.scaled(1_000_000))
      try session.withSnapshot {
        try readRandomly($0, "readrandom-snap", options.scaled(1_000_000))
      }
    }
    let perThread = options.scaled(500_000)
    try engine.withSharedSnapshot { snapshot in
      try readOnThreads("readrandom-snap-2t", 2, perThread) { try read(snapshot, $0, $1) }
    }
    try readMissing(engine)
    try scanHundreds(engine)
    try readOnThreads("readrandom-2t", 2, perThread) { thread, count in
      try engine.withSession { try read($0, thread, count) }
    }
  }

  func readRandomly(_ reads: some BenchmarkReads, _ workload: String, _ operations: UInt64) throws {
    var checksum = Checksum()
    let hits = try measure(workload, operations: operations) {
      try gets(from: reads, seed: 0xBEAD, operations, into: &checksum)
    }
    report.count(workload, "checksum", checksum.sum)
    report.wrongAnswers(workload, "MISSES", operations - hits)
  }

  /// The reads of one of several threads, each with a separate seed.
  func read(
    _ reads: some BenchmarkReads, _ thread: Int, _ operations: UInt64
  ) throws -> (hits: UInt64, checksum: Checksum) {
    var checksum = Checksum()
    let hits = try gets(from: reads, seed: 0xBEAD + UInt64(thread), operations, into: &checksum)
    return (hits, checksum)
  }

  private func readMissing(_ engine: Engine) throws {
    let operations = options.scaled(500_000)
    var checksum = Checksum()
    let hits = try engine.withSession { session in
      try measure("readmissing", operations: operations) {
        try gets(from: session, seed: 0xA85E, operations, missing: true, into: &checksum)
      }
    }
    if Engine.answers { report.wrongAnswers("readmissing", "HITS", hits) }
  }

  func scanHundreds(_ engine: Engine) throws {
    let operations = options.scaled(20_000)
    var random = SplitMix64(seed: 0x5CA9)
    var checksum = Checksum()
    let entries = try inSession(engine) { session, scratch in
      try measure("scan100", operations: operations) {
        var entries: UInt64 = 0
        for _ in 0..<operations {
          let start = scratch.key(random.below(options.records - 100))
          entries += UInt64(try session.scan(from: start, limit: 100, into: &checksum))
        }
        return entries
      }
    }
    report.count("scan100", "checksum", checksum.sum)
    report.count("scan100", "count", entries)
    report.wrongAnswers("scan100", "SHORT", operations * 100 - entries)
  }

  /// Measures threads that read in parallel.
  ///
  /// - Parameter body: the work of each thread; receives its number and the number of gets.
  func readOnThreads(
    _ workload: String, _ threads: Int, _ perThread: UInt64,
    _ body: @escaping @Sendable (Int, UInt64) throws -> (hits: UInt64, checksum: Checksum)
  ) throws {
    let operations = UInt64(threads) * perThread
    let results = try measure(workload, operations: operations) {
      try Threads.run(threads) { thread in try body(thread, perThread) }
    }
    var checksum = Checksum()
    for result in results { checksum &+= result.checksum }
    report.count(workload, "checksum", checksum.sum)
    report.wrongAnswers(workload, "MISSES", operations - results.reduce(0) { $0 + $1.hits })
  }
}
