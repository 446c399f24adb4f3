import Foundation

/// Queries about films, compared with SQLite by the processor time of the process: medians of
/// several rounds, printed as lines of a table.
extension Run {
  private struct Question {
    var name: String
    /// The number of times that the query runs in a round.
    var times: Int
    var ask: (any FilmEngine, _ time: Int) throws -> Int
  }

  /// - Parameter paths: files of films in JSON.
  func films(_ paths: [String]) throws -> Bool {
    let films = try Film.read(paths, count: count)
    guard !films.isEmpty else { throw NoFilms() }
    let path = try emptyPath()
    let engines: [any FilmEngine] = [try LatewoodFilms(at: path), try SQLiteFilms(at: path)]
    print("\(films.count) films, µs of CPU time, medians of \(rounds) rounds\n")
    print("| question | Latewood | SQLite \(SQLiteConnection.version) | ratio |")
    print("| --- | ---: | ---: | ---: |")
    for engine in engines {
      for start in stride(from: 0, to: films.count, by: 1000) {
        try engine.save(films[start..<min(films.count, start + 1000)])
      }
      try engine.createIndexes()
    }
    for question in questions(films) {
      var times: [[Double]] = [[], []]
      for round in 0..<rounds {
        var found = [0, 0]
        // The engines take turns at going first.
        for place in round % 2 == 0 ? [0, 1] : [1, 0] {
          let start = clock()
          for time in 0..<question.times { found[place] &+= try question.ask(engines[place], time) }
          times[place].append(Double(clock() - start) / Double(CLOCKS_PER_SEC) / Double(question.times))
        }
        guard found[0] == found[1] else { throw DifferentAnswers(question: question.name, found: found) }
      }
      let (latewood, sqlite) = (median(times[0]) * 1e6, median(times[1]) * 1e6)
      print("| \(question.name) | \(shown(latewood)) | \(shown(sqlite)) | \(shown(sqlite / latewood))x |")
    }
    for engine in engines { try engine.close() }
    return true
  }

  private func questions(_ films: [Film]) -> [Question] {
    let years = films.map(\.year)
    let (first, last) = (years.min() ?? 0, years.max() ?? 0)
    func year(_ time: Int) -> Int { first + time &* 7 % (last - first + 1) }
    let actors = films.compactMap(\.cast.first)
    func actor(_ time: Int) -> String { actors[time &* 7_919 % actors.count] }
    return [
      Question(name: "the films of a year, by title", times: 30) { try $0.films(of: year($1)) },
      Question(name: "the films with an actor", times: 2000) { try $0.films(with: actor($1)) },
      Question(name: "the ten newest with an actor, since a year", times: 2000) {
        try $0.films(with: actor($1), since: year($1))
      },
      Question(name: "how many since a year", times: 1000) { try $0.count(since: year($1)) },
      Question(name: "ten behind half of all, by year and title", times: 100) { engine, _ in
        try engine.page(behind: films.count / 2)
      },
      Question(name: "how many of each genre", times: 3) { engine, _ in try engine.genres() },
    ]
  }

  private struct NoFilms: Error {}

  private struct DifferentAnswers: Error {
    var question: String
    var found: [Int]
  }
}
