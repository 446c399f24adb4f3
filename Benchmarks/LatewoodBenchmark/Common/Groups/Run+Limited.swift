/// Group `limited`: random reads and overwrites, for a process with less memory than the length of
/// the file. The caller that starts the process sets the limit.
extension Run {
  func limitedGroup() throws {
    guard Engine.isPersistent else { return }
    var run = self
    run.options.directory.exceedsMemory = true
    try run.fillAndRead()
  }

  private func fillAndRead() throws {
    let filled = try openEmpty()
    try inSession(filled, valueLength: options.valueLength) { session, scratch in
      _ = try measure("limited-fill", operations: options.records) {
        try writeBatches(options.records, of: 1000, to: session, of: filled) { writer, number in
          try writer.put(scratch.key(number), scratch.value(number, 0))
        }
      }
    }
    var engine = try reopen(filled, after: "limited-fill")
    // Each operation may read from the disk, as much as the system reads ahead.
    let operations = options.scaled(2_000)
    try engine.withSession { try readRandomly($0, "limited-read", operations) }
    try inSession(engine, valueLength: options.valueLength) { session, scratch in
      var random = SplitMix64(seed: 0x0007)
      _ = try measure("limited-overwrite", operations: operations) {
        try writeBatches(operations, of: 100, to: session, of: engine) { writer, _ in
          let number = random.below(options.records)
          try writer.put(scratch.key(number), scratch.value(number, 1))
        }
      }
    }
    engine = try reopen(engine, after: "limited-overwrite")
    try engine.withSession { try readRandomly($0, "limited-read-aged", operations) }
    try engine.close()
    printMemory("limited")
  }
}
