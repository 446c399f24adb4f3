import Foundation

/// Queries about films, compared with SQLite by the processor time of the process: medians of
/// several rounds, printed as lines of a table.
extension Run {
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
      let (latewood, sqlite) = try medians(question, engines, rounds: rounds)
      print("| \(question.name) | \(shown(latewood)) | \(shown(sqlite)) | \(shown(sqlite / latewood))x |")
    }
    for engine in engines { try engine.close() }
    return true
  }

  private func questions(_ films: [Film]) -> [ComparedWork<any FilmEngine>] {
    let years = films.map(\.year)
    let (first, last) = (years.min() ?? 0, years.max() ?? 0)
    func year(_ time: Int) -> Int { first + time &* 7 % (last - first + 1) }
    let actors = films.compactMap(\.cast.first)
    func actor(_ time: Int) -> String { actors[time &* 7_919 % actors.count] }
    return [
      ComparedWork(name: "the films of a year, by title", operations: 30) { try $0.films(of: year($1)) },
      ComparedWork(name: "the films with an actor", operations: 2000) { try $0.films(with: actor($1)) },
      ComparedWork(name: "the ten newest with an actor, since a year", operations: 2000) {
        try $0.films(with: actor($1), since: year($1))
      },
      ComparedWork(name: "how many since a year", operations: 1000) { try $0.count(since: year($1)) },
      ComparedWork(name: "ten behind half of all, by year and title", operations: 100) { engine, _ in
        try engine.page(behind: films.count / 2)
      },
      ComparedWork(name: "how many of each genre", operations: 3) { engine, _ in try engine.genres() },
    ]
  }

  private struct NoFilms: Error {}
}
