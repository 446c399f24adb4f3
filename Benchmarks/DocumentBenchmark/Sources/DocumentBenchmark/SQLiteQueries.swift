import CSQLite

/// SQLite at its best: indexes on expressions over JSON, every statement prepared once and bound,
/// and the whole file in memory.
final class SQLiteQueries: QueryEngine {
  private var database: OpaquePointer?
  private var statements: [String: OpaquePointer] = [:]

  static var version: String { String(cString: sqlite3_libversion()) }

  init(at path: String) throws {
    try check(sqlite3_open(path + ".sqlite", &database))
    for pragma in ["journal_mode=WAL", "synchronous=FULL", "mmap_size=4000000000", "cache_size=-500000"] {
      try check(sqlite3_exec(database, "PRAGMA \(pragma)", nil, nil, nil))
    }
    try run("CREATE TABLE documents (id TEXT PRIMARY KEY, body TEXT NOT NULL)")
  }

  func save(_ documents: [(id: String, json: String)]) throws {
    try run("BEGIN IMMEDIATE")
    let insert = try statement(
      "INSERT INTO documents VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET body = excluded.body")
    for document in documents {
      try document.id.withCString { id in
        try document.json.withCString { json in
          try check(sqlite3_bind_text(insert, 1, id, -1, nil))
          try check(sqlite3_bind_text(insert, 2, json, -1, nil))
          try check(sqlite3_step(insert), SQLITE_DONE)
          try check(sqlite3_reset(insert))
        }
      }
    }
    try run("COMMIT")
  }

  func createIndex(_ field: String) throws {
    try run("CREATE INDEX by_\(field) ON documents (json_extract(body, '$.\(field)'))")
    try run("ANALYZE")
  }

  private static let n = "json_extract(body, '$.n')"
  private static let inRange = "FROM documents WHERE \(n) >= ? AND \(n) < ?"

  func point(_ number: Int) throws -> Int {
    try sum("SELECT id, body FROM documents WHERE \(Self.n) = ?", [number], .documents)
  }

  func covered(_ range: Range<Int>) throws -> Int {
    try sum("SELECT \(Self.n) \(Self.inRange) ORDER BY \(Self.n)", range.bounds, .numbers)
  }

  func bodies(_ range: Range<Int>) throws -> Int {
    try sum("SELECT id, body \(Self.inRange) ORDER BY \(Self.n)", range.bounds, .documents)
  }

  func count(_ range: Range<Int>) throws -> Int {
    try sum("SELECT count(*) \(Self.inRange)", range.bounds, .numbers)
  }

  func sum(_ range: Range<Int>) throws -> Int {
    try sum("SELECT sum(\(Self.n)) \(Self.inRange)", range.bounds, .numbers)
  }

  func page(behind offset: Int) throws -> Int {
    try sum("SELECT \(Self.n) FROM documents ORDER BY \(Self.n) LIMIT 10 OFFSET ?", [offset], .numbers)
  }

  func top() throws -> Int {
    try sum("SELECT \(Self.n) FROM documents ORDER BY \(Self.n) DESC LIMIT 10", [], .numbers)
  }

  func topBodies() throws -> Int {
    try sum("SELECT id, body FROM documents ORDER BY \(Self.n) DESC LIMIT 10", [], .documents)
  }

  func scan(_ text: String) throws -> Int {
    let query = "SELECT count(*) FROM documents WHERE json_extract(body, '$.text') = '\(text)'"
    return try sum(query, [], .numbers)
  }

  func close() throws {
    for statement in statements.values { try check(sqlite3_finalize(statement)) }
    try check(sqlite3_close(database))
  }

  // MARK: Statements

  private enum Rows { case numbers, documents }

  /// Runs a statement and returns a sum: of its numbers, or of the lengths of the ids of its
  /// documents, each of which is copied.
  private func sum(_ text: String, _ values: [Int], _ rows: Rows) throws -> Int {
    let statement = try statement(text)
    for (place, value) in values.enumerated() {
      try check(sqlite3_bind_int64(statement, Int32(place + 1), Int64(value)))
    }
    var sum = 0
    var code = sqlite3_step(statement)
    while code == SQLITE_ROW {
      switch rows {
      case .numbers: sum += Int(sqlite3_column_int64(statement, 0))
      case .documents:
        sum += bytes(statement, 0).count
        guard !bytes(statement, 1).isEmpty else { throw Failure(code: code, message: "a body is empty") }
      }
      code = sqlite3_step(statement)
    }
    try check(code, SQLITE_DONE)
    try check(sqlite3_reset(statement))
    return sum
  }

  private func bytes(_ statement: OpaquePointer?, _ column: Int32) -> [UInt8] {
    let start = sqlite3_column_text(statement, column)
    return Array(UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column))))
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

extension Range<Int> {
  fileprivate var bounds: [Int] { [lowerBound, upperBound] }
}
