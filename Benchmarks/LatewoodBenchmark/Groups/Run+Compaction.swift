import LatewoodStore
import Synchronization

/// Part `compaction`: its cost, and the resulting file.
extension Run where Engine == LatewoodEngine {
  /// The length of all keys and values in bytes.
  private var rawBytes: Double { Double(options.records) * Double(16 + options.valueLength) }

  /// Overwrites random keys in transactions of 1,000.
  private func overwrite(_ engine: LatewoodEngine, _ count: UInt64, seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    try Scratch.use(valueLength: options.valueLength) { scratch in
      _ = try writeBatches(count, of: 1000, to: engine) { writer, _ in
        let number = random.below(options.records)
        try writer.put(scratch.key(number), scratch.value(number, 1))
      }
    }
  }

  func compaction() throws {
    let engine = try filled(options.records) { $0.compaction = .manual }
    var ratios: [Double] = []
    for round in 0..<5 { ratios.append(try compactOverwritten(engine, round: round)) }
    ratios.sort()
    report.figure("compaction", "rate_of_plain_copy", ratios[ratios.count / 2])
    report.figure("compaction", "rate_of_plain_copy_least", ratios[0])
    report.figure("compaction", "rate_of_plain_copy_most", ratios[ratios.count - 1])
    let after = try engine.store.statistics()
    report.figure("compaction", "size_of_raw", Double(after.fileSize) / rawBytes)
    report.require("compaction", "a file that is not sound", "one that is", try engine.store.verify().isSound)
    try readSequentially(engine, workload: "readseq-compacted")
    try commitsBeside(engine)
    try close(engine, after: "compaction")
  }

  /// Overwrites as many entries as the database has, and compacts.
  ///
  /// - Returns: the rate relative to a plain copy. The rate is relative to the mean of a copy
  ///   before and a copy after, because the load of the disk changes from one second to the next.
  private func compactOverwritten(_ engine: LatewoodEngine, round: Int) throws -> Double {
    try overwrite(engine, options.records, seed: 0xC0 + UInt64(round))
    try engine.store.checkpoint()
    try engine.flush()
    let before = try engine.store.statistics()
    let plain = try PlainCopy.write(before.liveBytes, in: options.directory)
    let (start, processor) = (Process.now, Process.processorSeconds)
    let result = try engine.store.compact(progress: nil)
    let seconds = Process.now - start
    report.figure("compaction", "processor_seconds", Process.processorSeconds - processor)
    let again = try PlainCopy.write(before.liveBytes, in: options.directory)
    report.figure("compaction", "plain_seconds", (plain + again) / 2)
    report.figure("compaction", "seconds", seconds)
    report.figure("compaction", "bytes_before", Double(result.bytesBefore))
    report.figure("compaction", "bytes_after", Double(result.bytesAfter))
    return (plain + again) / 2 / seconds
  }

  /// Measures transactions of one put, without and with a concurrent compaction.
  private func commitsBeside(_ engine: LatewoodEngine) throws {
    let alone = try times(of: engine) { $0 < 20_000 }
    let isDone = Atomic<Bool>(false)
    let pause = Atomic<UInt64>(0)
    let results = try Threads.run(2) { number -> [Double] in
      if number == 0 {
        defer { isDone.store(true, ordering: .relaxed) }
        pause.store(try engine.store.compact(progress: nil).longestPause, ordering: .relaxed)
        return []
      }
      return try self.times(of: engine) { _ in !isDone.load(ordering: .relaxed) }
    }
    report.latencies("commits-alone", alone)
    report.latencies("commits-compacting", results[1])
    report.figure("compaction", "longest_pause_ms", Double(pause.load(ordering: .relaxed)) / 1e3)
  }

  /// Returns the seconds of each of a number of transactions, which are started at a steady pace.
  private func times(of engine: LatewoodEngine, while goesOn: (Int) -> Bool) throws -> [Double] {
    var random = SplitMix64(seed: 0xC1)
    var times: [Double] = []
    try Scratch.use(valueLength: options.valueLength) { scratch in
      while goesOn(times.count) {
        let number = random.below(options.records)
        let start = Process.now
        try engine.put(scratch.key(number), scratch.value(number, 2))
        let end = Process.now
        times.append(end - start)
        while Process.now - end < 20e-6 {}
      }
    }
    return times
  }
}
