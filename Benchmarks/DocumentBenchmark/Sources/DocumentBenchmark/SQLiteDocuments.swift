import CSQLite

/// SQLite with its write-ahead log and full synchronization: a table with the id as primary key,
/// and an index on a sequence. Each save is a transaction of its own.
final class SQLiteDocuments: DocumentEngine {
  private var database: OpaquePointer?
  private var insert: OpaquePointer?
  private var sequence: Int64 = 0

  struct Failure: Error {
    var code: Int32
    var message: String
  }

  init(at path: String) throws {
    try check(sqlite3_open(path, &database))
    try run("PRAGMA journal_mode=WAL")
    try run("PRAGMA synchronous=FULL")
    try run("CREATE TABLE documents (id TEXT PRIMARY KEY, sequence INTEGER NOT NULL, body TEXT NOT NULL)")
    try run("CREATE INDEX by_sequence ON documents (sequence)")
    let text = "INSERT OR REPLACE INTO documents (id, sequence, body) VALUES (?, ?, ?)"
    try check(sqlite3_prepare_v3(database, text, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &insert, nil))
  }

  func save(_ id: String, _ json: String) throws {
    sequence += 1
    try id.withCString { id in
      try json.withCString { json in
        try check(sqlite3_bind_text(insert, 1, id, -1, nil))
        try check(sqlite3_bind_int64(insert, 2, sequence))
        try check(sqlite3_bind_text(insert, 3, json, -1, nil))
        try check(sqlite3_step(insert), SQLITE_DONE)
        try check(sqlite3_reset(insert))
      }
    }
  }

  func close() throws {
    try check(sqlite3_finalize(insert))
    try check(sqlite3_close(database))
  }

  private func run(_ statement: String) throws {
    try check(sqlite3_exec(database, statement, nil, nil, nil))
  }

  private func check(_ code: Int32, _ expected: Int32 = SQLITE_OK) throws {
    guard code != expected else { return }
    throw Failure(code: code, message: sqlite3_errmsg(database).map { String(cString: $0) } ?? "")
  }
}
