/// Parts `snapshot-held-…`: the memory that a snapshot keeps while others commit.
///
/// The longer a snapshot is held, the more states are committed after it. These states have no
/// readers, so memory must follow the number of distinct keys, not the number of commits.
extension Run where Engine == LatewoodEngine {
  func snapshotHeld(distinct: UInt64, _ workload: String) throws {
    let engine = try filled(distinct)
    let operations = options.scaled(1_000_000)
    let before = memory.restart()
    let after = try engine.withSnapshot { snapshot in
      let expected = try readAll(snapshot)
      try commitOneByOne(engine, operations, distinct: distinct, workload)
      let after = Process.anonymousMiB
      let found = try readAll(snapshot)
      report.require(
        workload, "the snapshot reads \(found.count) entries with checksum \(found.sum)",
        "\(expected.count) with \(expected.sum)", found == expected)
      return after
    }
    report.figure(workload, "anon_MiB", memory.peakMiB)
    report.figure(workload, "anon_growth_MiB", memory.peakMiB - before)
    report.figure(workload, "anon_growth_at_end_MiB", after - before)
    report.figure(workload, "rss_MiB", Process.peakResidentMiB)
    report.figure(workload, "checkpoints", Double(try engine.store.history().count))
    try close(engine, after: workload)
  }

  private func commitOneByOne(
    _ engine: LatewoodEngine, _ operations: UInt64, distinct: UInt64, _ workload: String
  ) throws {
    var random = SplitMix64(seed: 0x54AB)
    try Scratch.use(valueLength: options.valueLength) { scratch in
      try measure(workload, operations: operations) {
        for _ in 0..<operations {
          let number = random.below(distinct)
          try engine.put(scratch.key(number), scratch.value(number, 1))
        }
      }
    }
  }

  func readAll(_ reads: some BenchmarkReads) throws -> (count: Int, sum: UInt64) {
    var checksum = Checksum()
    let count = try Scratch.use(valueLength: 0) { scratch in
      try reads.scan(from: scratch.key(0), limit: .max, into: &checksum)
    }
    return (count, checksum.sum)
  }
}
