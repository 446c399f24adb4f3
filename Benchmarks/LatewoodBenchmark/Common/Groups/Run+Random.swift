/// Group `rand`: one database throughout, filled in random order, read, overwritten, and half
/// deleted.
extension Run {
  func randomGroup() throws {
    var engine = try openEmpty()
    try fillRandom(engine, options.records, batch: 1000, workload: "fillrandom")
    printMemory("fillrandom")
    if Engine.isPersistent {
      let seconds = try close(engine, after: "fillrandom")
      report.figure("fillrandom", "close_ms", seconds * 1e3)
      try measureOpening("open").close()
      engine = try measureOpening("open2")
    }
    try readWorkloads(engine)
    printMemory("reads")
    // The in-memory engine continues, too: it confirms the checksums of the following workloads.
    guard Engine.answers else { return }
    try overwrite(engine)
    printMemory("overwrite")
    engine = try reopen(engine, after: "overwrite")
    try engine.withSession { try readRandomly($0, "readrandom-aged", options.scaled(1_000_000)) }
    try deleteHalf(engine)
    engine = try reopen(engine, after: "delete")
    try readSequentially(engine, workload: "readseq-halfdeleted")
    try engine.close()
    printMemory("rand")
  }

  /// Opens the database and gets one record. Prints the time until the open and until the get were
  /// done.
  func measureOpening(_ workload: String) throws -> Engine {
    let start = Process.now
    let engine = try open()
    let opened = Process.now
    var checksum = Checksum()
    _ = try inSession(engine) { session, scratch in
      try session.get(scratch.key(options.records / 2), into: &checksum)
    }
    report.figure(workload, "open_ms", (opened - start) * 1e3)
    report.figure(workload, "open_get_ms", (Process.now - start) * 1e3)
    return engine
  }

  func overwrite(_ engine: Engine) throws {
    let operations = options.scaled(1_000_000)
    let times = try inSession(engine, valueLength: options.valueLength) { session, scratch in
      var random = SplitMix64(seed: 0x0007)
      return try measure("overwrite", operations: operations) {
        try writeBatches(operations, of: 1000, to: session, of: engine) { writer, _ in
          let number = random.below(options.records)
          try writer.put(scratch.key(number), scratch.value(number, 1))
        }
      }
    }
    report.figure("overwrite", "max_commit_ms", times.longest * 1e3)
  }

  private func deleteHalf(_ engine: Engine) throws {
    let order = Permutation(count: options.records, seed: Permutation.deleteSeed)
    let operations = options.records / 2
    let times = try inSession(engine) { session, scratch in
      try measure("delete", operations: operations) {
        try writeBatches(operations, of: 1000, to: session, of: engine) { writer, index in
          try writer.delete(scratch.key(order[index]))
        }
      }
    }
    report.figure("delete", "max_commit_ms", times.longest * 1e3)
  }
}
