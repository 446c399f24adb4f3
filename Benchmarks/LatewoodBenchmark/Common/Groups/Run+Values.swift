/// Group `values`: bytes per second, written and read, of values of one length (`--vsize`).
///
/// The records amount to 256 MiB in total, but there are at most a million.
extension Run {
  func valuesGroup() throws {
    let length = UInt64(options.valueLength)
    let most = options.scaled(1_000_000)
    let records = max(4, min(most, UInt64(options.scale * 256 * Process.mebibyte) / length))
    let order = Permutation(count: records, seed: Permutation.fillSeed)
    var engine = try openEmpty()
    try inSession(engine, valueLength: options.valueLength) { session, scratch in
      _ = try measure("values-write", operations: records) {
        // Transactions of a mebibyte, or of one larger value.
        try writeBatches(records, of: max(1, min(1000, (1 << 20) / length)), to: session, of: engine) {
          writer, index in
          let number = order[index]
          try writer.put(scratch.key(number), scratch.value(number, 0))
        }
      }
    }
    report.figure("values-write", "records", Double(records))
    printMemory("values-write")
    engine = try reopen(engine, after: "values-write")
    // The first pass may have to verify the bytes that it reads.
    try readWholeValues(engine, records, "values-read-first")
    try readWholeValues(engine, records, "values-read")
    try engine.close()
    printMemory("values")
  }

  /// Gets all records in an order different from the fill, and adds up all bytes.
  private func readWholeValues(_ engine: Engine, _ records: UInt64, _ workload: String) throws {
    let order = Permutation(count: records, seed: Permutation.deleteSeed)
    var checksum = WholeChecksum()
    let hits = try inSession(engine) { session, scratch in
      try measure(workload, operations: records) {
        var hits: UInt64 = 0
        for index in 0..<records where try session.get(scratch.key(order[index]), into: &checksum) {
          hits += 1
        }
        return hits
      }
    }
    guard Engine.answers else { return }
    report.count(workload, "checksum", checksum.digest)
    report.wrongAnswers(workload, "MISSES", records - hits)
  }
}
