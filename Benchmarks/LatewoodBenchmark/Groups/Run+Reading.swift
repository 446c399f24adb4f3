import LatewoodStore

/// Part `reading`: a mapped file, compared with the same file read through a cache of an eighth of
/// its size and through a cache that holds all of it. The three take turns, and the medians count.
/// Ratios are rates relative to the mapped file.
extension Run where Engine == LatewoodEngine {
  func reading() throws {
    try filled(options.records).close()
    let size = try Store.open(at: options.directory.path + "/db.latewood", mode: .readOnly)
    let length = Int(try size.statistics().fileSize)
    try size.close()
    let ways: [(name: String, reading: Store.Reading)] = [
      ("mapped", .mapped), ("eighth", .buffered(cacheBytes: length / 8)),
      ("all", .buffered(cacheBytes: 2 * length)),
    ]
    var scans: [[Double]] = [[], [], []]
    var gets: [[Double]] = [[], [], []]
    var growth = 0.0
    for _ in 0..<5 {
      for (index, way) in ways.enumerated() {
        let before = memory.restart()
        let times = try readBoth(way.reading)
        scans[index].append(times.scan)
        gets[index].append(times.gets)
        if way.name == "eighth" { growth = max(growth, memory.peakMiB - before) }
      }
    }
    func median(_ figures: [Double]) -> Double { figures.sorted()[figures.count / 2] }
    for (index, way) in ways.enumerated() {
      report.figure("reading-\(way.name)", "scan_ops_s", Double(options.records) / median(scans[index]))
      report.figure("reading-\(way.name)", "get_ops_s", Double(readCount) / median(gets[index]))
      report.figure("reading-\(way.name)", "scan_ratio", median(scans[0]) / median(scans[index]))
      report.figure("reading-\(way.name)", "get_ratio", median(gets[0]) / median(gets[index]))
    }
    report.figure("reading-eighth", "cache_MiB", Double(length / 8) / 1_048_576)
    report.figure("reading-eighth", "anon_growth_MiB", growth)
    report.figure("reading-eighth", "file_MiB", Double(length) / 1_048_576)
  }

  private var readCount: UInt64 { options.scaled(200_000) }

  /// Returns the seconds that a scan and random reads take on a store that was read once before.
  private func readBoth(_ reading: Store.Reading) throws -> (scan: Double, gets: Double) {
    var chosen = Store.Options()
    chosen.reading = reading
    let engine = try LatewoodEngine.open(in: options.directory, chosen)
    var checksum = Checksum()
    func scan() throws {
      let count = try Scratch.use(valueLength: 0) { scratch in
        try engine.scan(from: scratch.key(0), limit: .max, into: &checksum)
      }
      report.wrongAnswers("reading", "SHORT", options.records - UInt64(count))
    }
    try scan()
    let start = Process.now
    try scan()
    let scanned = Process.now
    let hits = try gets(from: engine, seed: 0xBEAD, readCount, into: &checksum)
    let end = Process.now
    report.wrongAnswers("reading", "MISSES", readCount - hits)
    try engine.close()
    return (scanned - start, end - scanned)
  }
}
