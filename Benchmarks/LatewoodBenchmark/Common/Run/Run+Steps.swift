/// The common steps of the workloads.
extension Run {
  /// Runs `body` with a session of this thread and with memory for keys and values.
  @inline(__always) func inSession<R>(
    _ engine: Engine, valueLength: Int = 0, _ body: (Engine.Session, Scratch) throws -> R
  ) throws -> R {
    try engine.withSession { session in
      try Scratch.use(valueLength: valueLength) { try body(session, $0) }
    }
  }

  /// Runs `count` operations in transactions of `size`, then a flush of the session's engine.
  ///
  /// - Returns: the duration of the longest transaction in seconds, from the call of `write` to its
  ///   return and including its operations, and the duration of the flush.
  @inline(__always) func writeBatches(
    _ count: UInt64, of size: UInt64, to session: Engine.Session, of engine: Engine,
    _ operation: (inout Engine.Session.Writer, UInt64) throws -> Void
  ) throws -> (longest: Double, flush: Double) {
    var longest = 0.0
    var done: UInt64 = 0
    while done < count {
      let end = min(count, done + size)
      let start = Process.now
      try session.write { writer in
        while done < end {
          try operation(&writer, done)
          done += 1
        }
      }
      longest = max(longest, Process.now - start)
    }
    let start = Process.now
    try engine.flush()
    return (longest, Process.now - start)
  }

  /// Puts version 0 of the keys 0..<count in the order of the fill permutation.
  func fillRandom(_ engine: Engine, _ count: UInt64, batch: UInt64, workload: String) throws {
    let order = Permutation(count: count, seed: Permutation.fillSeed)
    let times = try inSession(engine, valueLength: options.valueLength) { session, scratch in
      try measure(workload, operations: count) {
        try writeBatches(count, of: batch, to: session, of: engine) { writer, index in
          let number = order[index]
          try writer.put(scratch.key(number), scratch.value(number, 0))
        }
      }
    }
    report.figure(workload, "flush_s", times.flush)
    report.figure(workload, "max_commit_ms", times.longest * 1e3)
  }

  /// Gets random keys. Returns the number of those found.
  @inline(__always) func gets(
    from reads: some BenchmarkReads, seed: UInt64, _ operations: UInt64, missing: Bool = false,
    into checksum: inout Checksum
  ) throws -> UInt64 {
    try Scratch.use(valueLength: 0) { scratch in
      var random = SplitMix64(seed: seed)
      var hits: UInt64 = 0
      for _ in 0..<operations {
        let number = random.below(options.records)
        let key = missing ? scratch.missingKey(number) : scratch.key(number)
        if try reads.get(key, into: &checksum) { hits += 1 }
      }
      return hits
    }
  }

  /// Reads the whole database in order.
  func readSequentially(_ engine: Engine, workload: String) throws {
    // A scan of nothing has no rate.
    guard Engine.answers else { return }
    let (count, checksum) = try inSession(engine) { session, scratch in
      try measure(workload) {
        var checksum = Checksum()
        let count = try session.scan(from: scratch.key(0), limit: .max, into: &checksum)
        return (UInt64(count), (UInt64(count), checksum))
      }
    }
    report.count(workload, "checksum", checksum.sum)
    report.count(workload, "count", count)
  }
}
