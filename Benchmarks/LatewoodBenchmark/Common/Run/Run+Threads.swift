/// The work of threads that run until they are stopped.
extension Run {
  /// Overwrites random records in unsynced batches of 100.
  ///
  /// - Parameter perSecond: the greatest rate of puts.
  /// - Returns: the number of puts.
  func writeBatches(to engine: Engine, perSecond: Double, until stop: StopFlag) throws -> UInt64 {
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

  /// Gets random records, all of which must exist.
  ///
  /// - Returns: the number of gets.
  func gets(from engine: Engine, _ workload: String, seed: UInt64, until stop: StopFlag) throws -> UInt64 {
    try inSession(engine) { session, scratch in
      var random = SplitMix64(seed: seed)
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
