import Foundation

/// Runs one workload several times and prints medians, and how they stand against what is asked.
struct Run {
  let count: Int
  let rounds: Int
  let directory: String

  /// Single saves that survive a power cut, one after the other, beside SQLite.
  func saves() throws -> Bool {
    let texts = (0..<count).map { MovieText.json($0) }
    var rates: [String: [Double]] = [:]
    for round in 0..<rounds {
      var engines: [any DocumentEngine.Type] = [LatewoodDocuments.self, SQLiteDocuments.self]
      // A slow minute of the disk falls on both, and neither always comes first.
      if round % 2 == 1 { engines.reverse() }
      for engine in engines {
        let database = try engine.init(at: try emptyPath())
        let start = Date.now
        for (number, text) in texts.enumerated() { try database.save(id(number), text) }
        let rate = Double(count) / Date.now.timeIntervalSince(start)
        rates[engine.name, default: []].append(rate)
        try database.close()
        print("round \(round + 1), \(engine.name): \(Int(rate)) durable saves a second")
      }
    }
    let ours = median(rates[LatewoodDocuments.name] ?? [])
    let theirs = median(rates[SQLiteDocuments.name] ?? [])
    let ratio = ours / theirs
    print(
      "durable saves a second, median of \(rounds): Latewood \(Int(ours)), SQLite \(Int(theirs)); "
        + "ratio \(shown(ratio)), asked 1.2")
    return ratio >= 1.2
  }

  /// Documents by id, one member read of each.
  func gets() throws -> Bool {
    let path = try emptyPath()
    let database = try LatewoodDocuments(at: path)
    try database.fill((0..<count).map { (id($0), MovieText.json($0)) })
    try database.close()
    let again = try LatewoodDocuments(at: path)
    let ids = (0..<500_000).map { id($0 &* 7_368_787 % count) }
    var rates: [Double] = []
    for _ in 0..<rounds {
      var bytes = 0
      let start = Date.now
      let cpu = clock()
      for id in ids { bytes += try again.title(of: id).utf8.count }
      let seconds = Double(clock() - cpu) / Double(CLOCKS_PER_SEC)
      rates.append(Double(ids.count) / Date.now.timeIntervalSince(start))
      precondition(bytes > ids.count)
      print(
        "\(Int(rates.last ?? 0)) gets a second; \(shown(seconds / Double(ids.count) * 1e6)) µs of processor time each"
      )
    }
    print(
      "gets of a document and one member a second, median of \(rounds): \(Int(median(rates))), asked 500000")
    try again.close()
    return median(rates) >= 500_000
  }

  private func id(_ number: Int) -> String {
    let digits = String(number)
    return "movie-" + String(repeating: "0", count: 8 - digits.count) + digits
  }

  private func emptyPath() throws -> String {
    let files = FileManager.default
    if files.fileExists(atPath: directory) { try files.removeItem(atPath: directory) }
    try files.createDirectory(atPath: directory, withIntermediateDirectories: true)
    return directory + "/database"
  }

  private func median(_ values: [Double]) -> Double {
    values.isEmpty ? 0 : values.sorted()[values.count / 2]
  }

  private func shown(_ value: Double) -> String { String(format: "%.2f", value) }
}
