#if canImport(CSQLite)
  import CSQLite
  import Synchronization

  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #else
    import Darwin
  #endif

  /// A way to keep records in SQLite.
  protocol SQLiteLayout: Sendable {
    static var name: String { get }
    static var pageSize: Int { get }
    /// The options behind the columns in `CREATE TABLE`.
    static var tableOptions: String { get }
    /// The statement that inserts or replaces a record.
    static var put: String { get }
  }

  /// Records in the order of their keys, without row numbers.
  enum ClusteredTable: SQLiteLayout {
    static let name = "sqlite"
    static let pageSize = 4096
    static let tableOptions = " WITHOUT ROWID"
    static let put = "INSERT OR REPLACE INTO records(key, value) VALUES(?, ?)"
  }

  /// Like `ClusteredTable`, with pages of 16 KiB. With 4 KiB, a record of 1,000 bytes takes an
  /// additional page.
  enum ClusteredTableInLargePages: SQLiteLayout {
    static let name = "sqlite-16k"
    static let pageSize = 16384
    static let tableOptions = ClusteredTable.tableOptions
    static let put = ClusteredTable.put
  }

  /// An ordinary table, and an index on its key: the better choice for large values.
  enum RowTable: SQLiteLayout {
    static let name = "sqlite-rowid"
    static let pageSize = 4096
    static let tableOptions = ""
    static let put =
      "INSERT INTO records(key, value) VALUES(?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value"
  }

  /// SQLite with a write-ahead log, a mapping of at most 1 GiB, a cache of 256 MiB and a connection
  /// for each thread, all of whose statements are prepared. Unsynced: `synchronous=OFF`; durable:
  /// `FULL`.
  ///
  /// Writers wait on a lock instead of polling SQLite's.
  ///
  /// It is `@unchecked Sendable`: the workloads open, flush and close it on one thread, which is
  /// the only one that uses `connection`; sessions have separate connections. Everything else is
  /// constant.
  final class SQLiteEngine<Layout: SQLiteLayout>: BenchmarkEngine, @unchecked Sendable {
    static var name: String { Layout.name }
    static var isPersistent: Bool { true }
    static var answers: Bool { true }

    private let path: String
    private let synchronous: String
    private let connection: SQLiteConnection
    private let file: SyncedFile
    private let writers = Mutex<Void>(())

    private init(_ path: String, isDurable: Bool) throws {
      self.path = path
      synchronous = isDurable ? "FULL" : "OFF"
      connection = try SQLiteConnection(path, pageSize: Layout.pageSize, synchronous: synchronous)
      try connection.run(
        "CREATE TABLE IF NOT EXISTS records(key BLOB PRIMARY KEY, value BLOB NOT NULL)\(Layout.tableOptions)")
      file = try SyncedFile(path)
    }

    static func open(in directory: Directory, isDurable: Bool) throws -> SQLiteEngine {
      try SQLiteEngine(directory.path + "/db.sqlite", isDurable: isDurable)
    }

    func withSession<R>(_ body: (SQLiteSession<Layout>) throws -> R) throws -> R {
      let session = try SQLiteSession<Layout>(path, synchronous: synchronous, engine: self)
      defer { session.close() }
      return try body(session)
    }

    @inline(__always) fileprivate func oneWriter(_ body: () throws -> Void) throws {
      try writers.withLock { _ in try body() }
    }

    func flush() throws {
      try connection.run("PRAGMA synchronous=FULL")
      try connection.run("PRAGMA wal_checkpoint(TRUNCATE)")
      try connection.run("PRAGMA synchronous=\(synchronous)")
      // Syncs parts of the log that were copied to the file earlier, with synchronous=OFF.
      try file.sync()
    }

    func close() {
      connection.close()
      file.end()
    }
  }

  /// The database file, opened for `fsync` alone. It must stay open until the connections are
  /// closed: closing it would release the locks that they hold on it.
  private struct SyncedFile {
    private let path: String
    private let descriptor: Int32

    init(_ path: String) throws {
      self.path = path
      descriptor = open(path, O_RDWR)
      if descriptor < 0 { throw BenchmarkFailure("\(path) cannot be opened") }
    }

    func sync() throws {
      if fsync(descriptor) != 0 { throw BenchmarkFailure("\(path) cannot be synced") }
    }

    func end() { close(descriptor) }
  }

  /// A connection, for one thread.
  final class SQLiteConnection {
    private let database: OpaquePointer

    init(_ path: String, pageSize: Int, synchronous: String) throws {
      var opened: OpaquePointer?
      let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
      let code = sqlite3_open_v2(path, &opened, flags, nil)
      guard code == SQLITE_OK, let opened else { throw BenchmarkFailure("\(path) cannot be opened") }
      database = opened
      sqlite3_busy_timeout(database, 60_000)
      try run("PRAGMA page_size=\(pageSize)")
      try run("PRAGMA journal_mode=WAL")
      try run("PRAGMA synchronous=\(synchronous)")
      try run("PRAGMA mmap_size=1073741824")
      try run("PRAGMA cache_size=-262144")
    }

    func run(_ statement: String) throws {
      if sqlite3_exec(database, statement, nil, nil, nil) != SQLITE_OK { throw failure(statement) }
    }

    func prepare(_ text: String) throws -> OpaquePointer {
      var statement: OpaquePointer?
      let code = sqlite3_prepare_v3(database, text, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
      guard code == SQLITE_OK, let statement else { throw failure(text) }
      return statement
    }

    func failure(_ what: String) -> BenchmarkFailure {
      BenchmarkFailure("\(what): \(String(cString: sqlite3_errmsg(database)))")
    }

    /// Runs a statement that returns no rows.
    @inline(__always) func finish(_ statement: OpaquePointer) throws {
      let code = sqlite3_step(statement)
      if code != SQLITE_DONE { throw failure("a statement") }
      sqlite3_reset(statement)
    }

    func close() { sqlite3_close(database) }
  }

  /// The connection of a thread, with its prepared statements.
  ///
  /// Keys and values are bound without a copy: each is used before the next one overwrites it.
  final class SQLiteSession<Layout: SQLiteLayout>: BenchmarkSession {
    private let engine: SQLiteEngine<Layout>
    private let connection: SQLiteConnection
    private let putStatement: OpaquePointer
    private let deleteStatement: OpaquePointer
    private let getStatement: OpaquePointer
    private let scanStatement: OpaquePointer
    private let begin: OpaquePointer
    private let beginWriting: OpaquePointer
    private let commit: OpaquePointer

    fileprivate init(_ path: String, synchronous: String, engine: SQLiteEngine<Layout>) throws {
      self.engine = engine
      connection = try SQLiteConnection(path, pageSize: Layout.pageSize, synchronous: synchronous)
      putStatement = try connection.prepare(Layout.put)
      deleteStatement = try connection.prepare("DELETE FROM records WHERE key = ?")
      getStatement = try connection.prepare("SELECT value FROM records WHERE key = ?")
      scanStatement = try connection.prepare(
        "SELECT key, value FROM records WHERE key >= ? ORDER BY key LIMIT ?")
      begin = try connection.prepare("BEGIN")
      beginWriting = try connection.prepare("BEGIN IMMEDIATE")
      commit = try connection.prepare("COMMIT")
    }

    fileprivate func close() {
      let statements = [
        putStatement, deleteStatement, getStatement, scanStatement, begin, beginWriting, commit,
      ]
      for statement in statements { sqlite3_finalize(statement) }
      connection.close()
    }

    struct Writer: BenchmarkWriter {
      fileprivate let session: SQLiteSession

      @inline(__always) func put(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws {
        sqlite3_bind_blob(session.putStatement, 1, key.baseAddress, Int32(key.count), nil)
        sqlite3_bind_blob(session.putStatement, 2, value.baseAddress, Int32(value.count), nil)
        try session.connection.finish(session.putStatement)
      }

      @inline(__always) func delete(_ key: UnsafeRawBufferPointer) throws {
        sqlite3_bind_blob(session.deleteStatement, 1, key.baseAddress, Int32(key.count), nil)
        try session.connection.finish(session.deleteStatement)
      }
    }

    @inline(__always) func write(_ body: (inout Writer) throws -> Void) throws {
      try engine.oneWriter {
        try connection.finish(beginWriting)
        var writer = Writer(session: self)
        try body(&writer)
        try connection.finish(commit)
      }
    }

    /// Leaves the transaction to SQLite, which needs no statements for that.
    @inline(__always) func put(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws {
      try engine.oneWriter { try Writer(session: self).put(key, value) }
    }

    func withSnapshot<R>(_ body: (SQLiteSession) throws -> R) throws -> R {
      try connection.finish(begin)
      let result = try body(self)
      try connection.finish(commit)
      return result
    }

    @inline(__always) func get(_ key: UnsafeRawBufferPointer, into checksum: inout some ValueSink) throws
      -> Bool
    {
      sqlite3_bind_blob(getStatement, 1, key.baseAddress, Int32(key.count), nil)
      let code = sqlite3_step(getStatement)
      if code == SQLITE_ROW {
        checksum.add(value: column(0, of: getStatement).bytes)
      } else if code != SQLITE_DONE {
        throw connection.failure("a get")
      }
      sqlite3_reset(getStatement)
      return code == SQLITE_ROW
    }

    @inline(__always) func scan(
      from start: UnsafeRawBufferPointer, limit: Int, into checksum: inout Checksum
    ) throws -> Int {
      sqlite3_bind_blob(scanStatement, 1, start.baseAddress, Int32(start.count), nil)
      sqlite3_bind_int64(scanStatement, 2, Int64(limit))
      var count = 0
      var code = sqlite3_step(scanStatement)
      while code == SQLITE_ROW {
        checksum.add(key: column(0, of: scanStatement).bytes, value: column(1, of: scanStatement).bytes)
        count += 1
        code = sqlite3_step(scanStatement)
      }
      if code != SQLITE_DONE { throw connection.failure("a scan") }
      sqlite3_reset(scanStatement)
      return count
    }

    @inline(__always) private func column(
      _ index: Int32, of statement: OpaquePointer
    ) -> UnsafeRawBufferPointer {
      let start = sqlite3_column_blob(statement, index)
      return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, index)))
    }
  }
#endif
