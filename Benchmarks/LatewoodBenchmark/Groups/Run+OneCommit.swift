/// Part `onecommit`: the cost of a transaction of one put that does not wait for the disk.
extension Run where Engine == LatewoodEngine {
  func oneCommit() throws {
    let engine = try filled(options.records)
    let operations = options.scaled(1_000_000)
    var random = SplitMix64(seed: 0x1C)
    try Scratch.use(valueLength: options.valueLength) { scratch in
      try measure("onecommit", operations: operations) {
        for _ in 0..<operations {
          let number = random.below(options.records)
          try engine.put(scratch.key(number), scratch.value(number, 1))
        }
      }
    }
    printMemory("onecommit")
    try close(engine, after: "onecommit")
  }
}
