import CSQLite

/// Documents in JSON, kept in SQLite:
///
/// - A table with row numbers, with the id as primary key in a separate index. `WITHOUT ROWID`
///   would keep the texts inside the index, where each takes an overflow page. SQLite's manual
///   advises against it for rows of more than a twentieth of a page.
/// - A sequence, with an index, determines the order of the feed. An index that includes the id
///   would make the feed cheaper and each save more expensive.
/// - `json_extract` reads the member, and `json_set` changes it, in one `UPDATE` that does not pass
///   the text to or from the program.
final class SQLiteMovies: MovieEngine {
  static let name = "SQLite"
  private let connection: SQLiteConnection
  private let inserting, reading, listing, editing: OpaquePointer?
  private var sequence: Int64 = 0

  init(at path: String, _ safety: Safety) throws {
    connection = try SQLiteConnection(at: path, safety)
    try connection.run(
      "CREATE TABLE IF NOT EXISTS documents "
        + "(id TEXT NOT NULL PRIMARY KEY, sequence INTEGER NOT NULL, body TEXT NOT NULL)")
    try connection.run("CREATE INDEX IF NOT EXISTS by_sequence ON documents (sequence)")
    inserting = try connection.prepared("INSERT INTO documents (id, sequence, body) VALUES (?, ?, ?)")
    reading = try connection.prepared("SELECT json_extract(body, '$.title') FROM documents WHERE id = ?")
    listing = try connection.prepared(
      "SELECT sequence, id FROM documents WHERE sequence > 0 ORDER BY sequence")
    editing = try connection.prepared(
      "UPDATE documents SET sequence = ?, "
        + "body = json_set(body, '$.year', json_extract(body, '$.year') + 1) WHERE id = ?")
    sequence = Int64(try number("SELECT max(sequence) FROM documents"))
  }

  func save(_ documents: ArraySlice<Movie>) throws {
    if documents.count > 1 { try connection.step(connection.prepared("BEGIN IMMEDIATE")) }
    for document in documents {
      sequence += 1
      try connection.bind(sequence, to: 2, of: inserting)
      try connection.bind(document.id, to: 1, of: inserting) {
        try connection.bind(document.json, to: 3, of: inserting) { try connection.step(inserting) }
      }
    }
    if documents.count > 1 { try connection.step(connection.prepared("COMMIT")) }
  }

  func title(of id: String) throws -> Int {
    var count = 0
    try connection.bind(id, to: 1, of: reading) {
      try connection.step(reading) { count = SQLiteConnection.text(reading, 0).utf8.count }
    }
    return count
  }

  func feed() throws -> Int {
    var sum = 0
    try connection.step(listing) { sum += 1 + SQLiteConnection.text(listing, 1).utf8.count }
    return sum
  }

  func edit(_ documents: ArraySlice<Movie>) throws {
    try connection.step(connection.prepared("BEGIN IMMEDIATE"))
    for document in documents {
      sequence += 1
      try connection.bind(sequence, to: 1, of: editing)
      try connection.bind(document.id, to: 2, of: editing) { try connection.step(editing) }
    }
    try connection.step(connection.prepared("COMMIT"))
  }

  func sumOfYears() throws -> Int {
    try number("SELECT sum(json_extract(body, '$.year')) FROM documents")
  }

  func compact() throws { try connection.run("VACUUM") }

  func close() throws { try connection.close() }

  private func number(_ text: String) throws -> Int {
    let select = try connection.prepared(text)
    var number = 0
    try connection.step(select) { number = Int(sqlite3_column_int64(select, 0)) }
    return number
  }
}
