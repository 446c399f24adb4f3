/// Group `readers`: one, two, four and eight threads that read, first alone, then next to a thread
/// that writes as fast as possible.
extension Run {
  private static var counts: [Int] { [1, 2, 4, 8] }

  func readersGroup() throws {
    guard Engine.isPersistent else { return }
    let filled = try openEmpty()
    try fillSequentially(filled)
    try filled.close()
    let engine = try open()
    try readSequentially(engine, workload: "warmup")
    // Nothing has been overwritten yet, and the number of reads is the same for all engines: so the
    // answers are the same, too.
    for count in Self.counts {
      try readOnThreads("readers-\(count)", count, gets(of: count)) { thread, gets in
        try engine.withSession { try read($0, thread, gets) }
      }
    }
    try engine.withSharedSnapshot { snapshot in
      for count in [1, 2] {
        try readOnThreads("readers-snap-\(count)", count, gets(of: count)) { try read(snapshot, $0, $1) }
      }
    }
    if options.readWriteSeconds > 0 {
      try readBesideWriter(engine, 0)
      for count in Self.counts { try readBesideWriter(engine, count) }
    }
    printMemory("readers")
    try close(engine, after: "readers")
  }

  /// The number of gets for each of this many readers, without a writer.
  private func gets(of readers: Int) -> UInt64 { max(1, options.scaled(2_000_000) / UInt64(readers)) }

  /// - Parameter readers: the number of readers; with 0, the writer is alone.
  private func readBesideWriter(_ engine: Engine, _ readers: Int) throws {
    let workload = "readers-\(readers)-writing"
    let stop = StopFlag()
    let start = Process.now
    let counts = try Threads.run(readers + 2) { thread -> UInt64 in
      // A failing thread also stops the others, which would otherwise run for ever.
      defer { stop.set() }
      switch thread {
      case 0:
        Process.sleep(seconds: options.readWriteSeconds)
        return 0
      case 1: return try writeBatches(to: engine, perSecond: .infinity, until: stop)
      default: return try gets(from: engine, workload, seed: 0x4444 + UInt64(thread - 2), until: stop)
      }
    }
    let seconds = Process.now - start
    report.figure(workload, "write_ops_s", Double(counts[1]) / seconds)
    if readers > 0 {
      report.figure(workload, "read_ops_s", Double(counts[2...].reduce(0, +)) / seconds)
    }
  }
}
