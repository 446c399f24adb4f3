import CSQLite

/// SQLite with indexes on expressions over JSON.
final class SQLiteQueries: QueryEngine {
  private let connection: SQLiteConnection

  init(at path: String) throws {
    connection = try SQLiteConnection(at: path + ".sqlite")
    try connection.run("CREATE TABLE documents (id TEXT PRIMARY KEY, body TEXT NOT NULL)")
  }

  func save(_ documents: [(id: String, json: String)]) throws {
    try connection.run("BEGIN IMMEDIATE")
    let insert = try connection.prepared(
      "INSERT INTO documents VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET body = excluded.body")
    for document in documents {
      try connection.bind(document.id, to: 1, of: insert) {
        try connection.bind(document.json, to: 2, of: insert) { try connection.step(insert) }
      }
    }
    try connection.run("COMMIT")
  }

  func createIndex(_ field: String) throws {
    try connection.run("CREATE INDEX by_\(field) ON documents (json_extract(body, '$.\(field)'))")
    try connection.run("ANALYZE")
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

  func close() throws { try connection.close() }

  // MARK: Statements

  private enum Rows { case numbers, documents }

  /// Runs a statement and returns a sum: of its numbers, or of the lengths of the ids of its
  /// documents, each of which is copied.
  private func sum(_ text: String, _ values: [Int], _ rows: Rows) throws -> Int {
    let statement = try connection.prepared(text)
    for (place, value) in values.enumerated() {
      try connection.bind(Int64(value), to: Int32(place + 1), of: statement)
    }
    var sum = 0
    try connection.step(statement) {
      switch rows {
      case .numbers: sum += Int(sqlite3_column_int64(statement, 0))
      case .documents:
        sum += SQLiteConnection.copy(statement, 0).count
        guard !SQLiteConnection.copy(statement, 1).isEmpty else { throw SQLiteConnection.noBody }
      }
    }
    return sum
  }
}

extension Range<Int> {
  fileprivate var bounds: [Int] { [lowerBound, upperBound] }
}
