import CSQLite

/// SQLite as a careful user sets it up for films in JSON: indexes on expressions, a table of actors
/// beside the films, as an index has no entries for elements of an array, and every statement
/// prepared once.
final class SQLiteFilms: FilmEngine {
  private var database: OpaquePointer?
  private var statements: [String: OpaquePointer] = [:]

  init(at path: String) throws {
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
    try check(sqlite3_open_v2(path + ".sqlite", &database, flags, nil))
    for pragma in ["journal_mode=WAL", "synchronous=FULL", "mmap_size=1073741824", "cache_size=-262144"] {
      try run("PRAGMA \(pragma)")
    }
    try run("CREATE TABLE films (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, body TEXT NOT NULL)")
  }

  func save(_ films: ArraySlice<Film>) throws {
    try run("BEGIN IMMEDIATE")
    for film in films {
      _ = try sum("INSERT INTO films (id, body) VALUES (?, ?)", [.text(film.id), .text(film.json)])
    }
    try run("COMMIT")
  }

  private static let year = "json_extract(body, '$.year')"
  private static let title = "json_extract(body, '$.title')"

  func createIndexes() throws {
    try run("CREATE INDEX by_year ON films (\(Self.year), \(Self.title))")
    try run(
      "CREATE TABLE actors (actor TEXT, number INTEGER, PRIMARY KEY (actor, number)) WITHOUT ROWID")
    try run(
      "INSERT OR IGNORE INTO actors SELECT value, number FROM films, json_each(films.body, '$.cast')")
    try run("ANALYZE")
  }

  func films(of year: Int) throws -> Int {
    try sum(
      "SELECT length(CAST(\(Self.title) AS BLOB)), body FROM films WHERE \(Self.year) = ? ORDER BY \(Self.title)",
      [.number(year)])
  }

  func films(with actor: String) throws -> Int {
    try sum(
      "SELECT length(CAST(\(Self.title) AS BLOB)), body FROM actors JOIN films USING (number) WHERE actor = ?",
      [.text(actor)])
  }

  func films(with actor: String, since year: Int) throws -> Int {
    try sum(
      "SELECT length(CAST(\(Self.title) AS BLOB)), body FROM actors JOIN films USING (number) "
        + "WHERE actor = ? AND \(Self.year) >= ? ORDER BY \(Self.year) DESC, \(Self.title) DESC LIMIT 10",
      [.text(actor), .number(year)])
  }

  func count(since year: Int) throws -> Int {
    try sum("SELECT count(*) FROM films WHERE \(Self.year) >= ?", [.number(year)])
  }

  func page(behind offset: Int) throws -> Int {
    try sum(
      "SELECT \(Self.year) FROM films ORDER BY \(Self.year), \(Self.title) LIMIT 10 OFFSET ?",
      [.number(offset)])
  }

  func genres() throws -> Int {
    try sum("SELECT count(*) + 1 FROM films, json_each(films.body, '$.genres') GROUP BY value", [])
  }

  func close() throws {
    for statement in statements.values { try check(sqlite3_finalize(statement)) }
    try check(sqlite3_close(database))
  }

  // MARK: Statements

  private enum Value {
    case number(Int)
    case text(String)
  }

  /// Runs a statement; returns the sum of its first column. The second one, if there is one, is
  /// copied.
  private func sum(_ text: String, _ values: [Value]) throws -> Int {
    let statement = try statement(text)
    let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    for (place, value) in values.enumerated() {
      switch value {
      case .number(let number): try check(sqlite3_bind_int64(statement, Int32(place + 1), Int64(number)))
      case .text(let text): try check(sqlite3_bind_text(statement, Int32(place + 1), text, -1, copied))
      }
    }
    let hasBodies = sqlite3_column_count(statement) > 1
    var sum = 0
    var code = sqlite3_step(statement)
    while code == SQLITE_ROW {
      sum += Int(sqlite3_column_int64(statement, 0))
      if hasBodies {
        let start = sqlite3_column_text(statement, 1)
        let body = Array(UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, 1))))
        guard !body.isEmpty else { throw Failure(code: code, message: "a body is empty") }
      }
      code = sqlite3_step(statement)
    }
    try check(code, SQLITE_DONE)
    try check(sqlite3_reset(statement))
    return sum
  }

  private func statement(_ text: String) throws -> OpaquePointer? {
    if let known = statements[text] { return known }
    var made: OpaquePointer?
    try check(sqlite3_prepare_v3(database, text, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &made, nil))
    statements[text] = made
    return made
  }

  struct Failure: Error {
    var code: Int32
    var message: String
  }

  private func run(_ text: String) throws { try check(sqlite3_exec(database, text, nil, nil, nil)) }

  private func check(_ code: Int32, _ expected: Int32 = SQLITE_OK) throws {
    guard code != expected else { return }
    throw Failure(code: code, message: sqlite3_errmsg(database).map { String(cString: $0) } ?? "")
  }
}
