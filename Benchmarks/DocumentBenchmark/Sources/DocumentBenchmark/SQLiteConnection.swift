import CSQLite

/// A connection to SQLite as a careful user sets it up: a write-ahead log, a cache and a mapping
/// that hold the whole file, no mutex, and every statement prepared once.
final class SQLiteConnection {
  private var database: OpaquePointer?
  private var statements: [String: OpaquePointer] = [:]

  static var version: String { String(cString: sqlite3_libversion()) }

  /// - Parameter safety: `full` syncs each commit; `relaxed` syncs at checkpoints only, so that a
  ///   commit survives a crash of the process. Latewood's `.synchronous` and `.relaxed` promise the
  ///   same.
  init(at path: String, _ safety: Safety = .full) throws {
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
    try check(sqlite3_open_v2(path, &database, flags, nil))
    let synchronous = safety == .full ? "FULL" : "NORMAL"
    for setting in [
      "journal_mode=WAL", "synchronous=\(synchronous)", "mmap_size=4000000000", "cache_size=-500000",
    ] { try run("PRAGMA \(setting)") }
  }

  /// Closes the file. Closing the last connection checkpoints the write-ahead log.
  func close() throws {
    for statement in statements.values { try check(sqlite3_finalize(statement)) }
    try check(sqlite3_close(database))
  }

  /// Runs a statement once.
  func run(_ text: String) throws { try check(sqlite3_exec(database, text, nil, nil, nil)) }

  /// Returns a statement, which is prepared at its first use.
  func prepared(_ text: String) throws -> OpaquePointer? {
    if let known = statements[text] { return known }
    var made: OpaquePointer?
    try check(sqlite3_prepare_v3(database, text, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &made, nil))
    statements[text] = made
    return made
  }

  func bind(_ number: Int64, to place: Int32, of statement: OpaquePointer?) throws {
    try check(sqlite3_bind_int64(statement, place, number))
  }

  /// Binds a text without a copy while a closure runs.
  func bind<R>(
    _ text: String, to place: Int32, of statement: OpaquePointer?, _ body: () throws -> R
  ) throws -> R {
    var text = text
    return try text.withUTF8 { bytes in
      try bytes.withMemoryRebound(to: CChar.self) {
        try check(sqlite3_bind_text(statement, place, $0.baseAddress, Int32($0.count), nil))
      }
      return try body()
    }
  }

  /// Runs a prepared statement, and calls a closure for each of its rows.
  func step(_ statement: OpaquePointer?, _ row: () throws -> Void = {}) throws {
    var code = sqlite3_step(statement)
    while code == SQLITE_ROW {
      try row()
      code = sqlite3_step(statement)
    }
    try check(code, SQLITE_DONE)
    try check(sqlite3_reset(statement))
  }

  /// Returns a text of the current row as a string, as a program would.
  static func text(_ statement: OpaquePointer?, _ column: Int32) -> String {
    String(decoding: bytes(statement, column), as: UTF8.self)
  }

  /// Returns a copy of a text of the current row.
  static func copy(_ statement: OpaquePointer?, _ column: Int32) -> [UInt8] {
    Array(bytes(statement, column))
  }

  private static func bytes(_ statement: OpaquePointer?, _ column: Int32) -> UnsafeBufferPointer<UInt8> {
    let start = sqlite3_column_text(statement, column)
    return UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column)))
  }

  /// An error of SQLite, or an impossible row.
  struct Failure: Error {
    var code: Int32
    var message: String
  }

  static let noBody = Failure(code: SQLITE_CORRUPT, message: "a body is empty")

  private func check(_ code: Int32, _ expected: Int32 = SQLITE_OK) throws {
    guard code != expected else { return }
    throw Failure(code: code, message: sqlite3_errmsg(database).map { String(cString: $0) } ?? "")
  }
}
