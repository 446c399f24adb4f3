import Foundation
import Latewood

/// Documents compared with SQLite, by the processor time of the process for each operation: medians
/// of several rounds.
extension Run {
  /// The rows of the table.
  private enum Row: Int, CaseIterable {
    case save, get, feed, edit, durable

    var name: String {
      switch self {
      case .save: "save in batches of 1,000"
      case .get: "get by id, and one member"
      case .feed: "feed from the start, an entry"
      case .edit: "read, change and save in batches of 1,000"
      case .durable: "durable save"
      }
    }

    /// The smallest ratio that passes.
    var goal: Double {
      switch self {
      case .save: 2.5
      case .get: 6
      case .feed: 8
      case .edit: 5
      case .durable: 2
      }
    }
  }

  private static let batch = 1000
  /// The number of times that the feed is read in a round.
  private static let feeds = 5
  /// The greatest number of durable saves in a round.
  private static let durableSaves = 500

  /// The times of one engine in one round, in seconds for each operation, and the sums of its
  /// results.
  private struct Round {
    var seconds: [Double] = []
    var found: [Int] = []
  }

  func documents() throws -> Bool {
    let movies = (0..<count).map { Movie(id: id($0), json: MovieText.json($0)) }
    print("\(count) documents; Latewood beside SQLite \(SQLiteConnection.version), CPU time of an operation")
    var times = Row.allCases.map { _ in (latewood: [Double](), sqlite: [Double]()) }
    for round in 1...rounds {
      let path = try emptyPath()
      // The engines take turns at going first.
      var latewood = Round()
      if round % 2 == 1 { latewood = try documents(LatewoodMovies.self, at: path + ".latewood", movies) }
      if only == LatewoodMovies.name { continue }
      let sqlite = try documents(SQLiteMovies.self, at: path + ".sqlite", movies)
      if round % 2 == 0 { latewood = try documents(LatewoodMovies.self, at: path + ".latewood", movies) }
      guard latewood.found == sqlite.found else {
        throw DifferentAnswers(latewood: latewood.found, sqlite: sqlite.found)
      }
      var ratios: [String] = []
      for row in Row.allCases {
        let pair = (latewood.seconds[row.rawValue], sqlite.seconds[row.rawValue])
        times[row.rawValue].latewood.append(pair.0)
        times[row.rawValue].sqlite.append(pair.1)
        ratios.append("\(row) \(shown(pair.0 * 1e6)) / \(shown(pair.1 * 1e6)) µs")
      }
      print("round \(round): \(ratios.joined(separator: ", "))")
    }
    var isEnough = true
    for row in Row.allCases {
      let (latewood, sqlite) = times[row.rawValue]
      isEnough = report(row.name, median(latewood), "SQLite", median(sqlite), goal: row.goal) && isEnough
    }
    isEnough = try codable(movies) && isEnough
    return try blob() && isEnough
  }

  private func documents<Engine: MovieEngine>(
    _ type: Engine.Type, at path: String, _ movies: [Movie]
  ) throws -> Round {
    var round = Round()
    // A file is closed within the measured time: work that an engine has deferred until then is
    // part of its saves.
    let saving = try seconds {
      let engine = try Engine(at: path, .relaxed)
      try inBatches(movies, engine.save)
      try engine.close()
    }
    round.seconds.append(saving / Double(movies.count))
    let engine = try Engine(at: path, .relaxed)
    // The first reads find the file on the disk, and verify it.
    _ = try engine.feed()
    let ids = movies.indices.map { movies[$0 &* 7_368_787 % movies.count].id }
    round.found.append(try ids.reduce(0) { try $0 + engine.title(of: $1) })
    let getting = try seconds {
      round.found.append(try ids.reduce(0) { try $0 + engine.title(of: $1) })
    }
    round.seconds.append(getting / Double(ids.count))
    let reading = try seconds {
      for _ in 0..<Self.feeds { round.found.append(try engine.feed()) }
    }
    round.seconds.append(reading / Double(movies.count * Self.feeds))
    // In scattered order.
    let scattered = movies.indices.map { movies[$0 &* 7_919 % movies.count] }
    let editing = try seconds {
      try inBatches(scattered, engine.edit)
      try engine.close()
    }
    round.seconds.append(editing / Double(movies.count))
    let again = try Engine(at: path, .full)
    round.found.append(try again.sumOfYears())
    round.found.append(try again.feed())
    let more = (0..<min(movies.count, Self.durableSaves)).map {
      Movie(id: "more-\($0)", json: movies[$0].json)
    }
    let syncing = try seconds {
      for place in more.indices { try again.save(more[place...place]) }
    }
    round.seconds.append(syncing / Double(more.count))
    round.found.append(try again.sumOfYears())
    try again.close()
    return round
  }

  func inBatches(_ movies: [Movie], _ body: (ArraySlice<Movie>) throws -> Void) throws {
    for start in stride(from: 0, to: movies.count, by: Self.batch) {
      try body(movies[start..<min(movies.count, start + Self.batch)])
    }
  }

  /// Returns the processor time of a closure, on all threads.
  func seconds(_ body: () throws -> Void) throws -> Double {
    let start = clock()
    try body()
    return Double(clock() - start) / Double(CLOCKS_PER_SEC)
  }

  /// Prints a line of the table, and returns whether the ratio reaches its goal.
  func report(_ name: String, _ latewood: Double, _ peer: String, _ seconds: Double, goal: Double) -> Bool {
    let ratio = seconds / latewood
    print(
      "\(name): \(shown(latewood * 1e6)) µs, \(peer) \(shown(seconds * 1e6)) µs, "
        + "ratio \(shown(ratio)) (\(shown(goal)))")
    return ratio >= goal
  }

  private struct DifferentAnswers: Error {
    var latewood: [Int]
    var sqlite: [Int]
  }
}
