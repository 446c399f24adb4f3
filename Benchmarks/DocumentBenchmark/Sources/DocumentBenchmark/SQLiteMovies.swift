import CSQLite

/// SQLite as a careful user sets it up for documents in JSON:
///
/// - A write-ahead log. `synchronous=NORMAL` syncs at checkpoints only, so that a commit survives a
///   crash of the process; `FULL` syncs each commit. Latewood's `.relaxed` and `.synchronous` give
///   the same.
/// - A table with row numbers, and the id as primary key in an index beside it. `WITHOUT ROWID`
///   would keep the texts inside of the index, where each takes an overflow page: SQLite's manual
///   advises against it for rows of more than a twentieth of a page.
/// - A sequence, with an index, gives the order of the feed. An index with the id in it would make
///   the feed cheaper and each save dearer.
/// - `json_extract` reads the member, and `json_set` changes it, in one `UPDATE` that neither hands
///   the text out nor takes it in.
/// - Every statement is prepared once and bound, with lengths and without copies. One connection,
///   without its mutex. The cache and the mapping hold the whole file.
final class SQLiteMovies: MovieEngine {
  static let name = "SQLite"
  private var database: OpaquePointer?
  private var statements: [OpaquePointer?] = []
  private var sequence: Int64 = 0

  private enum Statement: Int, CaseIterable {
    case begin, commit, insert, title, feed, edit, sum

    var text: String {
      switch self {
      case .begin: "BEGIN IMMEDIATE"
      case .commit: "COMMIT"
      case .insert: "INSERT INTO documents (id, sequence, body) VALUES (?, ?, ?)"
      case .title: "SELECT json_extract(body, '$.title') FROM documents WHERE id = ?"
      case .feed: "SELECT sequence, id FROM documents WHERE sequence > ? ORDER BY sequence"
      case .edit:
        "UPDATE documents SET sequence = ?, body = json_set(body, '$.year', json_extract(body, '$.year') + 1) "
          + "WHERE id = ?"
      case .sum: "SELECT sum(json_extract(body, '$.year')) FROM documents"
      }
    }
  }

  struct Failure: Error {
    var code: Int32
    var message: String
  }

  init(at path: String, _ safety: Safety) throws {
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
    try check(sqlite3_open_v2(path, &database, flags, nil))
    let synchronous = safety == .full ? "FULL" : "NORMAL"
    for setting in [
      "journal_mode=WAL", "synchronous=\(synchronous)", "mmap_size=1073741824", "cache_size=-262144",
    ] { try run("PRAGMA \(setting)") }
    try run(
      "CREATE TABLE IF NOT EXISTS documents "
        + "(id TEXT NOT NULL PRIMARY KEY, sequence INTEGER NOT NULL, body TEXT NOT NULL)")
    try run("CREATE INDEX IF NOT EXISTS by_sequence ON documents (sequence)")
    for statement in Statement.allCases {
      var made: OpaquePointer?
      try check(
        sqlite3_prepare_v3(database, statement.text, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &made, nil))
      statements.append(made)
    }
    sequence = try lastSequence()
  }

  func save(_ documents: ArraySlice<Movie>) throws {
    if documents.count > 1 { try step(.begin) }
    let insert = statements[Statement.insert.rawValue]
    for document in documents {
      sequence += 1
      try check(sqlite3_bind_int64(insert, 2, sequence))
      try bind(document.id, insert, 1) { try bind(document.json, insert, 3) { try step(.insert) } }
    }
    if documents.count > 1 { try step(.commit) }
  }

  func title(of id: String) throws -> Int {
    let select = statements[Statement.title.rawValue]
    return try bind(id, select, 1) {
      try check(sqlite3_step(select), SQLITE_ROW)
      let count = Self.text(select, 0).utf8.count
      try check(sqlite3_reset(select))
      return count
    }
  }

  func feed() throws -> Int {
    let select = statements[Statement.feed.rawValue]
    try check(sqlite3_bind_int64(select, 1, 0))
    var sum = 0
    var code = sqlite3_step(select)
    while code == SQLITE_ROW {
      sum += 1 + Self.text(select, 1).utf8.count
      code = sqlite3_step(select)
    }
    try check(code, SQLITE_DONE)
    try check(sqlite3_reset(select))
    return sum
  }

  func edit(_ documents: ArraySlice<Movie>) throws {
    try step(.begin)
    let update = statements[Statement.edit.rawValue]
    for document in documents {
      sequence += 1
      try check(sqlite3_bind_int64(update, 1, sequence))
      try bind(document.id, update, 2) { try step(.edit) }
    }
    try step(.commit)
  }

  func sumOfYears() throws -> Int {
    let select = statements[Statement.sum.rawValue]
    try check(sqlite3_step(select), SQLITE_ROW)
    defer { sqlite3_reset(select) }
    return Int(sqlite3_column_int64(select, 0))
  }

  /// Closing the last connection checkpoints the write-ahead log.
  func close() throws {
    for statement in statements { try check(sqlite3_finalize(statement)) }
    try check(sqlite3_close(database))
  }

  // MARK: Calls

  private func lastSequence() throws -> Int64 {
    var select: OpaquePointer?
    try check(sqlite3_prepare_v2(database, "SELECT max(sequence) FROM documents", -1, &select, nil))
    defer { sqlite3_finalize(select) }
    try check(sqlite3_step(select), SQLITE_ROW)
    return sqlite3_column_int64(select, 0)
  }

  /// Binds a text, which stays where it is, for as long as a closure runs.
  private func bind<R>(
    _ text: String, _ statement: OpaquePointer?, _ place: Int32, _ body: () throws -> R
  ) throws -> R {
    var text = text
    return try text.withUTF8 { bytes in
      try bytes.withMemoryRebound(to: CChar.self) {
        try check(sqlite3_bind_text(statement, place, $0.baseAddress, Int32($0.count), nil))
      }
      return try body()
    }
  }

  /// Returns a text of the current row as a string, as a program would.
  private static func text(_ statement: OpaquePointer?, _ column: Int32) -> String {
    let start = sqlite3_column_text(statement, column)
    let bytes = UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column)))
    return String(decoding: bytes, as: UTF8.self)
  }

  private func step(_ statement: Statement) throws {
    try check(sqlite3_step(statements[statement.rawValue]), SQLITE_DONE)
    try check(sqlite3_reset(statements[statement.rawValue]))
  }

  private func run(_ text: String) throws { try check(sqlite3_exec(database, text, nil, nil, nil)) }

  private func check(_ code: Int32, _ expected: Int32 = SQLITE_OK) throws {
    guard code != expected else { return }
    throw Failure(code: code, message: sqlite3_errmsg(database).map { String(cString: $0) } ?? "")
  }
}
