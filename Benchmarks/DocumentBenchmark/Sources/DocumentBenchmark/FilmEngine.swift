import Latewood

/// The queries about films that both engines answer. Each call returns a sum of its results, which
/// must be the same for both engines.
protocol FilmEngine {
  init(at path: String) throws
  func save(_ films: ArraySlice<Film>) throws
  /// Creates indexes by year and title, and by each actor.
  func createIndexes() throws
  /// Reads the films of a year in the order of their titles; returns the total length of the titles
  /// in the bodies.
  func films(of year: Int) throws -> Int
  /// Like the function above, for the films with an actor.
  func films(with actor: String) throws -> Int
  /// Like the function above, for the first ten films with an actor since a year, newest first.
  func films(with actor: String, since year: Int) throws -> Int
  /// Returns the number of films since a year.
  func count(since year: Int) throws -> Int
  /// Returns the sum of the years of the ten films that follow the first `offset` ones in the order
  /// of year and title.
  func page(behind offset: Int) throws -> Int
  /// Returns the number of genres plus the numbers of films in each of them.
  func genres() throws -> Int
  func close() throws
}

/// Latewood through its public product.
struct LatewoodFilms: FilmEngine {
  private let database: Database
  private let films: DocumentCollection

  init(at path: String) throws {
    database = try Database.open(at: path + ".latewood")
    films = try database.createCollection("films")
  }

  func save(_ films: ArraySlice<Film>) throws {
    try database.inBatch {
      for film in films { try self.films.save(MutableDocument(id: film.id, json: film.json)) }
    }
  }

  func createIndexes() throws {
    try films.createIndex("by year", on: ["year", "title"])
    try films.createIndex("by actor", on: [.each("cast")])
  }

  func films(of year: Int) throws -> Int {
    try size(films.query().where { $0["year"] == year }.sorted { $0["title"] })
  }

  func films(with actor: String) throws -> Int {
    try size(films.query().where { $0["cast"].contains(actor) })
  }

  func films(with actor: String, since year: Int) throws -> Int {
    let query = films.query().where { $0["year"] >= year && $0["cast"].contains(actor) }
    return try size(query.sorted { ($0["year"].descending, $0["title"].descending) }.limit(10))
  }

  func count(since year: Int) throws -> Int { try films.query().where { $0["year"] >= year }.count() }

  func page(behind offset: Int) throws -> Int {
    try films.query().sorted { ($0["year"], $0["title"]) }.limit(10, offset: offset)
      .select { $0["year"].as(Int.self) }.rows().reduce(0, +)
  }

  func genres() throws -> Int {
    struct Row: Decodable, Sendable { var films: Int }
    let query = try database.query(
      "SELECT genre, COUNT(*) AS films FROM films UNNEST films.genres AS genre GROUP BY genre")
    return try query.rows(as: Row.self).reduce(0) { $0 + 1 + $1.films }
  }

  func close() throws { try database.close() }

  private func size(_ query: Query<Document>) throws -> Int {
    var size = 0
    // swift-format-ignore: ReplaceForEachWithForLoop
    try query.forEach { film in
      size += (film.string("title") ?? "").utf8.count
      return true
    }
    return size
  }
}
