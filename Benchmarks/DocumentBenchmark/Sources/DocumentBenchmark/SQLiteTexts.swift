import CSQLite

/// SQLite with an FTS5 table that reads its texts from the table of documents, and triggers that
/// keep it up to date, as SQLite's manual recommends.
final class SQLiteTexts: TextEngine {
  private let connection: SQLiteConnection

  init(at path: String) throws {
    connection = try SQLiteConnection(at: path + ".sqlite", .relaxed)
    try connection.run(
      "CREATE TABLE documents (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, text TEXT NOT NULL)")
  }

  func save(_ documents: ArraySlice<(number: Int, text: String)>) throws {
    try connection.run("BEGIN IMMEDIATE")
    let insert = try connection.prepared(
      "INSERT INTO documents (id, text) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET text = excluded.text")
    for document in documents {
      try connection.bind("text-\(document.number)", to: 1, of: insert) {
        try connection.bind(document.text, to: 2, of: insert) { try connection.step(insert) }
      }
    }
    try connection.run("COMMIT")
  }

  func createIndex() throws {
    try connection.run(
      "CREATE VIRTUAL TABLE words USING fts5(text, content='documents', content_rowid='number', "
        + "tokenize='unicode61 remove_diacritics 2')")
    try connection.run("INSERT INTO words (words) VALUES ('rebuild')")
    let delete = "INSERT INTO words (words, rowid, text) VALUES ('delete', old.number, old.text)"
    let insert = "INSERT INTO words (rowid, text) VALUES (new.number, new.text)"
    for (event, statements) in [
      ("INSERT", insert), ("DELETE", delete), ("UPDATE", "\(delete); \(insert)"),
    ] {
      try connection.run(
        "CREATE TRIGGER after_\(event) AFTER \(event) ON documents BEGIN \(statements); END")
    }
  }

  func top(_ query: String) throws -> Int {
    let statement = try connection.prepared(
      "SELECT id FROM words JOIN documents ON number = words.rowid WHERE words MATCH ? ORDER BY rank LIMIT 10"
    )
    var count = 0
    try connection.bind(query, to: 1, of: statement) {
      try connection.step(statement) {
        if !SQLiteConnection.copy(statement, 0).isEmpty { count += 1 }
      }
    }
    return count
  }

  func count(_ query: String) throws -> Int {
    let statement = try connection.prepared("SELECT count(*) FROM words WHERE words MATCH ?")
    return try connection.bind(query, to: 1, of: statement) { try number(statement) }
  }

  private func number(_ statement: OpaquePointer?) throws -> Int {
    var number = 0
    try connection.step(statement) { number = Int(sqlite3_column_int64(statement, 0)) }
    return number
  }

  func compact() throws {
    let hasIndex = try number(
      connection.prepared("SELECT count(*) FROM sqlite_master WHERE name = 'words'"))
    if hasIndex > 0 { try connection.run("INSERT INTO words (words) VALUES ('optimize')") }
    try connection.run("VACUUM")
    try connection.run("PRAGMA wal_checkpoint(TRUNCATE)")
  }

  func close() throws { try connection.close() }
}
