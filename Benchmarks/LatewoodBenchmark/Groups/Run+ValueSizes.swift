import LatewoodStore

/// Part `valuesizes`: overwrites values of each size from 1 byte to 64 MiB in commits of one put;
/// then the process is killed.
///
/// The log that no checkpoint contains, the file and the time to open it stay limited for every
/// size: a writer that outruns checkpoints waits for them.
extension Run where Engine == LatewoodEngine {
  private static var lengths: [Int] {
    [1, 100, 4096, 65536, 1_048_575, 1_048_576, 4 << 20, 16 << 20, 64 << 20]
  }

  /// Four large values, or as many small ones as add up to 8 MiB.
  private var liveRecords: UInt64 { UInt64(min(50_000, max(4, (8 << 20) / options.valueLength))) }

  private var valueOverwrites: UInt64 {
    let bytes = options.scale * 512 * Process.mebibyte
    return min(max(12, UInt64(bytes) / UInt64(options.valueLength)), UInt64(options.scale * 400_000))
  }

  func valueSizes() throws {
    for length in Self.lengths {
      let run = Run(options.with(valueLength: length))
      try run.oneValueSize()
    }
  }

  private func oneValueSize() throws {
    options.directory.makeEmpty()
    let outcome = ChildProcess.run(options.arguments(group: ExtraPart.valueSizesVictim.rawValue))
    report.require("valuesizes", "\(outcome)", "killed(9)", outcome == .killed(9))
    let start = Process.now
    let engine = try open()
    report.figure("valuesizes", "open_ms", (Process.now - start) * 1e3)
    let recovery = engine.store.recovery
    report.figure("valuesizes", "replayed_MiB", Double(recovery.replayedBytes) / Process.mebibyte)
    let count = try engine.store.count(in: engine.keyspace)
    report.require("valuesizes", "\(count) entries", "\(liveRecords)", count == Int(liveRecords))
    let verified = try engine.store.verify()
    report.require(
      "valuesizes", "\(verified.faults.count) faults", "none", verified.faults.isEmpty)
    try engine.close()
  }

  /// Overwrites values and dies. Runs in the other process.
  func overwriteAndDie() throws {
    let sampler = SizeSampler.start(options.directory)
    let engine = try LatewoodEngine.open(in: options.directory, isDurable: false)
    var random = SplitMix64(seed: 0x0517)
    try Scratch.use(valueLength: options.valueLength) { scratch in
      for number in 0..<liveRecords { try engine.put(scratch.key(number), scratch.value(number, 0)) }
      let live = Double(liveRecords) * Double(Scratch.keyLength + options.valueLength)
      let handed = Process.bytesHandedToWrites
      let bytes = Double(valueOverwrites) * Double(Scratch.keyLength + options.valueLength)
      let start = Process.now
      var longest = 0.0
      var log: UInt64 = 0
      _ = sampler.take()
      for index in 0..<valueOverwrites {
        let before = Process.now
        let number = random.below(liveRecords)
        try engine.put(scratch.key(number), scratch.value(number, index))
        longest = max(longest, Process.now - before)
        if index % 64 == 0 || options.valueLength >= 65536 {
          log = max(log, try engine.store.statistics().logBytes)
        }
      }
      report.figure("valuesizes", "MiB_per_s", bytes / (Process.now - start) / Process.mebibyte)
      report.figure("valuesizes", "longest_put_ms", longest * 1e3)
      report.figure("valuesizes", "written_to_put", Double(Process.bytesHandedToWrites - handed) / bytes)
      report.figure("valuesizes", "longest_log_MiB", Double(log) / Process.mebibyte)
      let size = sampler.take()
      report.figure("valuesizes", "live_MiB", live / Process.mebibyte)
      report.figure("valuesizes", "max_alloc_MiB", Double(size.allocated) / Process.mebibyte)
      report.figure("valuesizes", "max_size_MiB", Double(size.apparent) / Process.mebibyte)
    }
    Process.killSelf()
  }
}
