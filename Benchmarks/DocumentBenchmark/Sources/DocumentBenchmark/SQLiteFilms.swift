import CSQLite

/// SQLite with an index on expressions over JSON, and a separate table of actors, because an index
/// has no entries for the elements of an array.
final class SQLiteFilms: FilmEngine {
  private let connection: SQLiteConnection

  init(at path: String) throws {
    connection = try SQLiteConnection(at: path + ".sqlite")
    try connection.run(
      "CREATE TABLE films (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, body TEXT NOT NULL)")
  }

  func save(_ films: ArraySlice<Film>) throws {
    try connection.run("BEGIN IMMEDIATE")
    let insert = try connection.prepared("INSERT INTO films (id, body) VALUES (?, ?)")
    for film in films {
      try connection.bind(film.id, to: 1, of: insert) {
        try connection.bind(film.json, to: 2, of: insert) { try connection.step(insert) }
      }
    }
    try connection.run("COMMIT")
  }

  private static let year = "json_extract(body, '$.year')"
  private static let title = "json_extract(body, '$.title')"

  func createIndexes() throws {
    try connection.run("CREATE INDEX by_year ON films (\(Self.year), \(Self.title))")
    try connection.run(
      "CREATE TABLE actors (actor TEXT, number INTEGER, PRIMARY KEY (actor, number)) WITHOUT ROWID")
    try connection.run(
      "INSERT OR IGNORE INTO actors SELECT value, number FROM films, json_each(films.body, '$.cast')")
    try connection.run("ANALYZE")
  }

  func films(of year: Int) throws -> Int {
    try sum(
      "SELECT length(CAST(\(Self.title) AS BLOB)), body FROM films WHERE \(Self.year) = ? ORDER BY \(Self.title)",
      [year])
  }

  func films(with actor: String) throws -> Int {
    try sum(
      "SELECT length(CAST(\(Self.title) AS BLOB)), body FROM actors JOIN films USING (number) WHERE actor = ?",
      [], actor: actor)
  }

  func films(with actor: String, since year: Int) throws -> Int {
    try sum(
      "SELECT length(CAST(\(Self.title) AS BLOB)), body FROM actors JOIN films USING (number) "
        + "WHERE actor = ? AND \(Self.year) >= ? ORDER BY \(Self.year) DESC, \(Self.title) DESC LIMIT 10",
      [year], actor: actor)
  }

  func count(since year: Int) throws -> Int {
    try sum("SELECT count(*) FROM films WHERE \(Self.year) >= ?", [year])
  }

  func page(behind offset: Int) throws -> Int {
    try sum(
      "SELECT \(Self.year) FROM films ORDER BY \(Self.year), \(Self.title) LIMIT 10 OFFSET ?",
      [offset])
  }

  func genres() throws -> Int {
    try sum("SELECT count(*) + 1 FROM films, json_each(films.body, '$.genres') GROUP BY value", [])
  }

  func close() throws { try connection.close() }

  /// Runs a statement; returns the sum of its first column. The second one, if there is one, is
  /// copied.
  ///
  /// - Parameters:
  ///   - numbers: the last parameters of the statement.
  ///   - actor: the first parameter, if it is a text.
  private func sum(_ text: String, _ numbers: [Int], actor: String? = nil) throws -> Int {
    let statement = try connection.prepared(text)
    let first = actor == nil ? 1 : 2
    for (place, number) in numbers.enumerated() {
      try connection.bind(Int64(number), to: Int32(place + first), of: statement)
    }
    guard let actor else { return try sum(of: statement) }
    return try connection.bind(actor, to: 1, of: statement) { try sum(of: statement) }
  }

  private func sum(of statement: OpaquePointer?) throws -> Int {
    let hasBodies = sqlite3_column_count(statement) > 1
    var sum = 0
    try connection.step(statement) {
      sum += Int(sqlite3_column_int64(statement, 0))
      if hasBodies, SQLiteConnection.copy(statement, 1).isEmpty { throw SQLiteConnection.noBody }
    }
    return sum
  }
}
