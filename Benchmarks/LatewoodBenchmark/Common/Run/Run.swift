/// One run of one group of workloads on one engine. Each group is an extension in its own file,
/// under `Groups`.
struct Run<Engine: BenchmarkEngine>: Sendable {
  var options: BenchmarkOptions
  let report: Report
  let memory: MemorySampler

  init(_ options: BenchmarkOptions) {
    self.options = options
    report = Report(options, engine: Engine.name, answers: Engine.answers)
    // When instructions are counted, a second thread would take most of the time.
    memory = options.group == "instructions" ? MemorySampler() : MemorySampler.start()
  }

  // MARK: Groups

  /// Runs a group that all engines support. Returns false for other groups.
  func commonGroup(_ group: String) throws -> Bool {
    switch group {
    case "seq": try sequentialGroup()
    case "rand": try randomGroup()
    case "sync": try syncGroup()
    case "ycsb": try cloudGroup()
    case "growth": try growthGroup()
    case "readers": try readersGroup()
    case "values": try valuesGroup()
    case "limited": try limitedGroup()
    default: return false
    }
    return true
  }

  // MARK: Opening and closing

  /// Opens an empty database.
  func openEmpty(isDurable: Bool = false) throws -> Engine {
    options.directory.makeEmpty()
    return try open(isDurable: isDurable)
  }

  func open(isDurable: Bool = false) throws -> Engine {
    try Engine.open(in: options.directory, isDurable: isDurable)
  }

  /// Closes the database, prints the size of its files, and opens it again. An in-memory engine is
  /// left unchanged.
  func reopen(_ engine: Engine, after workload: String) throws -> Engine {
    guard Engine.isPersistent else { return engine }
    try close(engine, after: workload)
    return try open()
  }

  /// Closes the database, once it is done with compactions, and prints the bytes written by both
  /// and the size of its files.
  ///
  /// - Returns: the seconds that closing took, without the compactions.
  @discardableResult
  func close(_ engine: Engine, after workload: String) throws -> Double {
    let handed = Process.bytesHandedToWrites
    try engine.settle()
    let start = Process.now
    try engine.close()
    let seconds = Process.now - start
    guard Engine.isPersistent else { return seconds }
    // A checkpoint that was deferred until now is also a cost of the workload, though not part of
    // its rate.
    let handedBytes = Process.bytesHandedToWrites - handed
    report.figure(workload, "close_wchar_MiB", Double(handedBytes) / Process.mebibyte)
    let size = options.directory.size
    report.figure(workload, "size_MiB", Double(size.apparent) / Process.mebibyte)
    report.figure(workload, "alloc_MiB", Double(size.allocated) / Process.mebibyte)
    return seconds
  }

  // MARK: Figures

  func printMemory(_ workload: String) {
    report.figure(workload, "rss_MiB", Process.peakResidentMiB)
    report.figure(workload, "anon_MiB", memory.peakMiB)
  }

  /// Runs a workload of `operations` operations, and prints its rate and cost.
  @discardableResult
  func measure<R>(_ workload: String, operations: UInt64, _ body: () throws -> R) rethrows -> R {
    try measure(workload) {
      let result = try body()
      return (operations, result)
    }
  }

  /// Like the function above, for a workload that determines the number of operations itself.
  func measure<R>(_ workload: String, _ body: () throws -> (operations: UInt64, R)) rethrows -> R {
    let written = Process.bytesWritten
    let handed = Process.bytesHandedToWrites
    let processor = Process.processorSeconds
    let start = Process.now
    let (operations, result) = try body()
    let seconds = Process.now - start
    let processorSeconds = Process.processorSeconds - processor
    let writtenBytes = Process.bytesWritten - written
    let handedBytes = Process.bytesHandedToWrites - handed
    let count = Double(operations)
    report.figure(workload, "ops_s", count / seconds)
    report.figure(workload, "cpu_us", processorSeconds / count * 1e6)
    if writtenBytes > 0 || handedBytes > 0 {
      report.figure(workload, "wbytes_op", Double(writtenBytes) / count)
      report.figure(workload, "wchar_op", Double(handedBytes) / count)
    }
    return result
  }
}
