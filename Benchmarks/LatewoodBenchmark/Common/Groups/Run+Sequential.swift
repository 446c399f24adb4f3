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
    try readWhileWriting()
    printMemory("readwhilewriting")
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

  private func readWhileWriting() throws {
    let engine = try open()
    try readSequentially(engine, workload: "warmup")
    let stop = StopFlag()
    let start = Process.now
    let counts = try Threads.run(3) { role in
      // A thread that fails stops the others, too, instead of letting them run for ever.
      defer { stop.set() }
      switch role {
      case 0: return try write(engine, until: stop)
      case 1: return try read(engine, until: stop)
      default:
        Process.sleep(seconds: options.readWriteSeconds)
        return 0
      }
    }
    let seconds = Process.now - start
    report.figure("readwhilewriting", "write_ops_s", Double(counts[0]) / seconds)
    report.figure("readwhilewriting", "read_ops_s", Double(counts[1]) / seconds)
    try close(engine, after: "readwhilewriting")
  }

  private func write(_ engine: Engine, until stop: StopFlag) throws -> UInt64 {
    try inSession(engine, valueLength: options.valueLength) { session, scratch in
      var random = SplitMix64(seed: 0x3333)
      var count: UInt64 = 0
      while !stop.isSet {
        try session.write { writer in
          for _ in 0..<100 {
            let number = random.below(options.records)
            try writer.put(scratch.key(number), scratch.value(number, 2))
          }
        }
        count += 100
      }
      return count
    }
  }

  private func read(_ engine: Engine, until stop: StopFlag) throws -> UInt64 {
    try inSession(engine) { session, scratch in
      var random = SplitMix64(seed: 0x4444)
      var checksum = Checksum()
      var count: UInt64 = 0
      var misses: UInt64 = 0
      while !stop.isSet {
        if try !session.get(scratch.key(random.below(options.records)), into: &checksum) { misses += 1 }
        count += 1
      }
      report.wrongAnswers("readwhilewriting", "MISSES", misses)
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
