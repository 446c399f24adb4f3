/// Group `growth`: the cost of operations in a database of N records. Running it with several N
/// shows how costs grow.
extension Run {
  func growthGroup() throws {
    let ascending = try openEmpty()
    try fillSequentially(ascending)
    try close(ascending, after: "fillseq")
    var engine = try openEmpty()
    try fillRandom(engine, options.records, batch: 1000, workload: "fillrandom")
    printMemory("fillrandom")
    if Engine.isPersistent {
      try close(engine, after: "fillrandom")
      try measureOpening("open").close()
      engine = try measureOpening("open2")
    }
    try readSequentially(engine, workload: "readseq-first")
    try engine.withSession { session in
      try readRandomly(session, "warmup2", options.scaled(200_000))
      try readRandomly(session, "readrandom", options.scaled(1_000_000))
      try session.withSnapshot { try readRandomly($0, "readrandom-snap", options.scaled(1_000_000)) }
    }
    try scanHundreds(engine)
    try overwrite(engine)
    engine = try reopen(engine, after: "overwrite")
    try engine.withSession { try readRandomly($0, "readrandom-aged", options.scaled(1_000_000)) }
    try engine.close()
    if Engine.isPersistent { try commitDurably() }
    printMemory("growth")
  }

  /// Transactions of one put, each on the disk when it returns, in the database of N records.
  private func commitDurably() throws {
    let operations = options.scaled(2000)
    let engine = try open(isDurable: true)
    var times: [Double] = []
    times.reserveCapacity(Int(operations))
    try inSession(engine, valueLength: options.valueLength) { session, scratch in
      var random = SplitMix64(seed: 0x0C03)
      try measure("commit", operations: operations) {
        for _ in 0..<operations {
          let start = Process.now
          let number = random.below(options.records)
          try session.put(scratch.key(number), scratch.value(number, 3))
          times.append(Process.now - start)
        }
      }
    }
    report.latencies("commit", times)
    try readSequentially(engine, workload: "readseq-last")
    try close(engine, after: "commit")
  }
}
