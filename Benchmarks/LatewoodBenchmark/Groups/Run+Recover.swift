import LatewoodStore

/// Part `recover`: the time to open after a crash, with 64 MiB of log that no checkpoint contains.
///
/// A separate process writes the log and then kills itself, so that nothing is closed or cleaned
/// up.
extension Run where Engine == LatewoodEngine {
  private var logLength: UInt64 { UInt64(options.scale * 64 * Process.mebibyte) }

  private var overwrites: UInt64 { max(1, logLength / UInt64(Scratch.keyLength + options.valueLength)) }

  func recover() throws {
    let engine = try filled(options.records)
    try engine.close()
    let outcome = ChildProcess.run(options.arguments(group: ExtraPart.recoverVictim.rawValue))
    report.require("recover", "\(outcome)", "killed(9)", outcome == .killed(9))

    let start = Process.now
    let reopened = try open()
    let opened = Process.now
    var checksum = Checksum()
    _ = try Scratch.use(valueLength: 0) { scratch in
      try reopened.get(scratch.key(options.records / 2), into: &checksum)
    }
    report.figure("recover", "seconds", opened - start)
    report.figure("recover", "open_get_ms", (Process.now - start) * 1e3)
    let recovery = reopened.store.recovery
    report.figure("recover", "replayed_MiB", Double(recovery.replayedBytes) / Process.mebibyte)
    report.figure("recover", "replayed_transactions", Double(recovery.replayedTransactions))
    try requireEverything(reopened)
    printMemory("recover")
    try close(reopened, after: "recover")
  }

  /// Writes the log and dies. Runs in the other process.
  func writeAndDie() throws {
    var storeOptions = Store.Options()
    storeOptions.durability = .relaxed
    storeOptions.checkpointsInBackground = false
    storeOptions.writeBufferBudget = 1 << 30
    let engine = try LatewoodEngine.open(in: options.directory, storeOptions)
    var random = SplitMix64(seed: 0x0007)
    try Scratch.use(valueLength: options.valueLength) { scratch in
      _ = try writeBatches(overwrites, of: 1000, to: engine) { writer, _ in
        let number = random.below(options.records)
        try writer.put(scratch.key(number), scratch.value(number, 1))
      }
    }
    Process.killSelf()
  }

  /// Checks that the database contains every acknowledged write, and nothing else.
  private func requireEverything(_ engine: LatewoodEngine) throws {
    var versions = [UInt64](repeating: 0, count: Int(options.records))
    var random = SplitMix64(seed: 0x0007)
    for _ in 0..<overwrites { versions[Int(random.below(options.records))] = 1 }
    var expected = Checksum()
    var found = Checksum()
    let count = try Scratch.use(valueLength: options.valueLength) { scratch in
      for (number, version) in versions.enumerated() {
        let number = UInt64(number)
        expected.add(key: scratch.key(number).bytes, value: scratch.value(number, version).bytes)
      }
      return try engine.scan(from: scratch.key(0), limit: .max, into: &found)
    }
    report.require("recover", "\(count) keys", "\(options.records)", count == Int(options.records))
    report.require("recover", "checksum \(found.sum)", "\(expected.sum)", found.sum == expected.sum)
  }
}
