import LatewoodStore

/// Part `count`: the number of keys in a range, the rank of a key, and the key at a rank, without
/// reading the keys in between. Measures once with all keys in the tree, and once with a tenth of
/// them overwritten and not yet merged; the first count then looks up each of these, and is
/// reported separately.
extension Run where Engine == LatewoodEngine {
  func counting() throws {
    let engine = try filled(options.records) { $0.checkpointsInBackground = false }
    try count(engine, operations: options.scaled(200_000), "")
    var random = SplitMix64(seed: 0xC0)
    try Scratch.use(valueLength: options.valueLength) { scratch in
      _ = try writeBatches(options.records / 10, of: 1000, to: engine) { writer, _ in
        let number = random.below(options.records)
        try writer.put(scratch.key(number), scratch.value(number, 1))
      }
    }
    let start = Process.now
    let all = try engine.store.count(in: engine.keyspace)
    report.figure("count-pending", "first_ms", (Process.now - start) * 1e3)
    report.wrongAnswers("count-pending", "WRONG", options.records - UInt64(all))
    try count(engine, operations: options.scaled(200_000), "-pending")
    printMemory("count")
    try close(engine, after: "count")
  }

  private func count(_ engine: LatewoodEngine, operations: UInt64, _ suffix: String) throws {
    let store = engine.store
    let keyspace = engine.keyspace
    try each("count" + suffix, operations) { a, b, scratch in
      let low = min(a, b)
      let high = max(a, b)
      let range = KeyRange.between(Array(scratch.key(low)), Array(scratch.key(high)))
      return try UInt64(store.count(in: keyspace, range)) == high - low
    }
    try each("rank" + suffix, operations) { a, _, scratch in
      try UInt64(store.rank(of: scratch.key(a), in: keyspace)) == a
    }
    try each("nth" + suffix, operations) { a, _, scratch in
      guard let key = try store.key(at: Int(a), in: keyspace) else { return false }
      return key.elementsEqual(scratch.key(a))
    }
  }

  /// Runs a step with two random numbers below the number of records; the step returns whether the
  /// answer was right.
  private func each(
    _ workload: String, _ operations: UInt64, _ step: (UInt64, UInt64, Scratch) throws -> Bool
  ) throws {
    var random = SplitMix64(seed: 0xC1)
    var wrong: UInt64 = 0
    let start = Process.now
    try Scratch.use(valueLength: 0) { scratch in
      for _ in 0..<operations {
        let a = random.below(options.records)
        let b = random.below(options.records)
        if try !step(a, b, scratch) { wrong += 1 }
      }
    }
    report.figure(workload, "ns_op", (Process.now - start) / Double(operations) * 1e9)
    report.wrongAnswers(workload, "WRONG", wrong)
  }
}
