import Foundation

/// Runs one workload several times and prints the medians, compared with the targets.
struct Run {
  let count: Int
  let rounds: Int
  let directory: String
  /// A part of the names of the queries to measure; nil for all.
  let only: String?

  /// Measures single saves that survive a power failure, one after the other, compared with SQLite.
  ///
  /// Both databases are open at the same time and take turns after a few saves, so that a slow
  /// moment of a shared disk affects both.
  func saves() throws -> Bool {
    let turn = 10
    let movies = (0..<count).map { Movie(id: id($0), json: MovieText.json($0)) }
    var ratios: [Double] = []
    var all: [[Double]] = [[], []]
    for round in 1...rounds {
      let path = try emptyPath()
      let engines: [any MovieEngine] = [
        try LatewoodMovies(at: path + ".latewood", .full), try SQLiteMovies(at: path + ".sqlite", .full),
      ]
      var seconds: [[Double]] = [[], []]
      for start in stride(from: 0, to: count, by: turn) {
        // The engines take turns at going first.
        for place in start / turn % 2 == 0 ? [0, 1] : [1, 0] {
          for number in start..<min(count, start + turn) {
            let began = Date.now
            try engines[place].save(movies[number...number])
            seconds[place].append(Date.now.timeIntervalSince(began))
          }
        }
      }
      for engine in engines { try engine.close() }
      let rates = seconds.map { Double(count) / $0.reduce(0, +) }
      ratios.append(rates[0] / rates[1])
      print(
        "round \(round), durable saves a second: Latewood \(Int(rates[0])), SQLite \(Int(rates[1])); "
          + "ratio \(shown(rates[0] / rates[1]))")
      for place in [0, 1] { all[place] += seconds[place] }
    }
    let middle = all.map { median($0) }
    print(
      "half of all saves took less than: Latewood \(shown(middle[0] * 1e3)) ms, SQLite \(shown(middle[1] * 1e3)) ms; "
        + "ratio \(shown(middle[1] / middle[0]))")
    print("ratio of durable saves a second, median of \(rounds) rounds: \(shown(median(ratios))), asked 1.2")
    return median(ratios) >= 1.2
  }

  /// Measures reads of documents by id, with one member of each.
  func gets() throws -> Bool {
    let path = try emptyPath()
    let database = try LatewoodMovies(at: path, .relaxed)
    try inBatches((0..<count).map { Movie(id: id($0), json: MovieText.json($0)) }, database.save)
    try database.close()
    let again = try LatewoodMovies(at: path, .full)
    let ids = (0..<500_000).map { id($0 &* 7_368_787 % count) }
    var rates: [Double] = []
    for _ in 0..<rounds {
      var bytes = 0
      let start = Date.now
      let cpu = clock()
      for id in ids { bytes += try again.title(of: id) }
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

  func id(_ number: Int) -> String {
    let digits = String(number)
    return "movie-" + String(repeating: "0", count: 8 - digits.count) + digits
  }

  func emptyPath() throws -> String {
    let files = FileManager.default
    if files.fileExists(atPath: directory) { try files.removeItem(atPath: directory) }
    try files.createDirectory(atPath: directory, withIntermediateDirectories: true)
    return directory + "/database"
  }

  func median(_ values: [Double]) -> Double {
    values.isEmpty ? 0 : values.sorted()[values.count / 2]
  }

  func shown(_ value: Double) -> String { String(format: value < 1 ? "%.3f" : "%.2f", value) }
}
