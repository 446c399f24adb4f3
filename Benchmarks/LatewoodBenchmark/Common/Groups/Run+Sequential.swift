/// Group `seq`: keys in ascending order, then reading while writing.
extension Run {
  func sequentialGroup() throws {
    let engine = try openEmpty()
    try fillSequentially(engine)
    printMemory("fillseq")
    guard Engine.isPersistent else { return }
    try close(engine, after: "fillseq")
    // Larger values would measure the memory bus; the definition leaves them out.
    guard options.valueLength == 100 else { return }
    let reopened = try open()
    try readSequentially(reopened, workload: "warmup")
    try readWhileWriting(reopened, "readwhilewriting", writesPerSecond: .infinity)
    printMemory("readwhilewriting")
    try readWhileWriting(reopened, "readwhilewriting-held", writesPerSecond: 100_000)
    try close(reopened, after: "readwhilewriting")
  }

  func fillSequentially(_ engine: Engine) throws {
    let times = try inSession(engine, valueLength: options.valueLength) { session, scratch in
      try measure("fillseq", operations: options.records) {
        try writeBatches(options.records, of: 1000, to: session, of: engine) { writer, number in
          try writer.put(scratch.key(number), scratch.value(number, 0))
        }
      }
    }
    report.figure("fillseq", "max_commit_ms", times.longest * 1e3)
  }

  /// - Parameter writesPerSecond: the greatest rate of the writer.
  private func readWhileWriting(_ engine: Engine, _ workload: String, writesPerSecond: Double) throws {
    let stop = StopFlag()
    let start = Process.now
    let counts = try Threads.run(3) { role in
      // A failing thread also stops the others, which would otherwise run for ever.
      defer { stop.set() }
      switch role {
      case 0: return try writeBatches(to: engine, perSecond: writesPerSecond, until: stop)
      case 1: return try gets(from: engine, workload, seed: 0x4444, until: stop)
      default:
        Process.sleep(seconds: options.readWriteSeconds)
        return 0
      }
    }
    let seconds = Process.now - start
    report.figure(workload, "write_ops_s", Double(counts[0]) / seconds)
    report.figure(workload, "read_ops_s", Double(counts[1]) / seconds)
  }
}
