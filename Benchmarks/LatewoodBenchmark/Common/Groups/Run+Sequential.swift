import Synchronization

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

  private func fillSequentially(_ engine: Engine) throws {
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
      // A thread that fails stops the others, too, instead of letting them run for ever.
      defer { stop.set() }
      switch role {
      case 0: return try write(engine, writesPerSecond, until: stop)
      case 1: return try read(engine, workload, until: stop)
      default:
        Process.sleep(seconds: options.readWriteSeconds)
        return 0
      }
    }
    let seconds = Process.now - start
    report.figure(workload, "write_ops_s", Double(counts[0]) / seconds)
    report.figure(workload, "read_ops_s", Double(counts[1]) / seconds)
  }

  private func write(_ engine: Engine, _ perSecond: Double, until stop: StopFlag) throws -> UInt64 {
    try inSession(engine, valueLength: options.valueLength) { session, scratch in
      var random = SplitMix64(seed: 0x3333)
      var count: UInt64 = 0
      let start = Process.now
      while !stop.isSet {
        try session.write { writer in
          for _ in 0..<100 {
            let number = random.below(options.records)
            try writer.put(scratch.key(number), scratch.value(number, 2))
          }
        }
        count += 100
        let early = start + Double(count) / perSecond - Process.now
        if early > 0 { Process.sleep(seconds: early) }
      }
      return count
    }
  }

  private func read(_ engine: Engine, _ workload: String, until stop: StopFlag) throws -> UInt64 {
    try inSession(engine) { session, scratch in
      var random = SplitMix64(seed: 0x4444)
      var checksum = Checksum()
      var count: UInt64 = 0
      var misses: UInt64 = 0
      while !stop.isSet {
        if try !session.get(scratch.key(random.below(options.records)), into: &checksum) { misses += 1 }
        count += 1
      }
      report.wrongAnswers(workload, "MISSES", misses)
      return count
    }
  }
}

/// Tells threads to end.
private final class StopFlag: Sendable {
  private let flag = Atomic<Bool>(false)
  var isSet: Bool { flag.load(ordering: .relaxed) }
  func set() { flag.store(true, ordering: .relaxed) }
}
