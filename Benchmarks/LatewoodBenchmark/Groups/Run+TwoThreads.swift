import LatewoodStore

/// Part `twothreads`: the throughput of two reading threads relative to one, from the store and
/// from one snapshot. The same figure for arithmetic without shared data shows the limit of the
/// machine.
///
/// One thread and two threads take turns, and the medians count: a system may keep two new threads
/// on one processor for some tens of milliseconds.
extension Run where Engine == LatewoodEngine {
  func twoThreads() throws {
    let engine = try filled(options.records) { $0.checkpointsInBackground = false }
    try compareThreads("arithmetic", Arithmetic(), 0)
    try compareThreads("twothreads", engine, options.records)
    try engine.withSnapshot { try compareThreads("twothreads-snap", $0, options.records) }
    try close(engine, after: "twothreads")
  }

  private func compareThreads(
    _ workload: String, _ reads: some BenchmarkReads & Sendable, _ hits: UInt64
  ) throws {
    let perThread = options.scaled(2_000_000)
    func rate(_ threads: Int) throws -> Double {
      let start = Process.now
      let found = try Threads.run(threads) { thread in
        var checksum = Checksum()
        return try gets(from: reads, seed: 0xBEAD + UInt64(thread), perThread, into: &checksum)
      }
      if hits > 0 {
        report.wrongAnswers(workload, "MISSES", perThread * UInt64(threads) - found.reduce(0, +))
      }
      return Double(threads) * Double(perThread) / (Process.now - start)
    }
    _ = try rate(2)
    let rounds = try (0..<9).map { _ in (one: try rate(1), two: try rate(2)) }
    func median(_ figures: [Double]) -> Double { figures.sorted()[figures.count / 2] }
    report.figure(workload, "one_ops_s", median(rounds.map(\.one)))
    report.figure(workload, "two_ops_s", median(rounds.map(\.two)))
    report.figure(workload, "ratio", median(rounds.map { $0.two / $0.one }))
  }
}

/// Work of about the length of a read that shares nothing between threads.
private struct Arithmetic: BenchmarkReads {
  @inline(__always) func get(_ key: UnsafeRawBufferPointer, into checksum: inout some ValueSink) throws
    -> Bool
  {
    var number = UInt64(key[15])
    for _ in 0..<20 { number = mix64(number) }
    return number == 0
  }

  func scan(from start: UnsafeRawBufferPointer, limit: Int, into checksum: inout Checksum) throws -> Int { 0 }
}
