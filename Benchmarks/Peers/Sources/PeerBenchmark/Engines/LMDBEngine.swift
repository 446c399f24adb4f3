#if canImport(CLMDB)
  import CLMDB

  /// LMDB: a B+tree that is copied on write in a mapped file of at most 64 GiB.
  ///
  /// Read transactions are kept and renewed for each read, together with their cursors, as its
  /// documentation advises. Unsynced: `MDB_NOSYNC`. Not `MDB_WRITEMAP`, with which a stray write of
  /// the program destroys the file. `MDB_NORDAHEAD` where the file is larger than the memory.
  ///
  /// It is `@unchecked Sendable`: threads may share an environment, and it holds no other mutable
  /// state.
  struct LMDBEngine: BenchmarkEngine, @unchecked Sendable {
    static let name = "lmdb"
    static let isPersistent = true
    static let answers = true

    fileprivate let environment: OpaquePointer
    fileprivate let table: MDB_dbi

    static func open(in directory: Directory, isDurable: Bool) throws -> LMDBEngine {
      var environment: OpaquePointer?
      try check(mdb_env_create(&environment), "mdb_env_create")
      guard let environment else { throw BenchmarkFailure("LMDB has no environment") }
      try check(mdb_env_set_mapsize(environment, 64 << 30), "mdb_env_set_mapsize")
      var flags = UInt32(MDB_NOTLS) | (isDurable ? 0 : UInt32(MDB_NOSYNC))
      if directory.exceedsMemory { flags |= UInt32(MDB_NORDAHEAD) }
      try check(mdb_env_open(environment, directory.path, flags, 0o644), "mdb_env_open")
      var table = MDB_dbi()
      let transaction = try begin(environment)
      try check(mdb_dbi_open(transaction, nil, 0, &table), "mdb_dbi_open")
      try check(mdb_txn_commit(transaction), "mdb_txn_commit")
      return LMDBEngine(environment: environment, table: table)
    }

    func withSession<R>(_ body: (LMDBSession) throws -> R) throws -> R {
      let session = try LMDBSession(self)
      defer { session.close() }
      return try body(session)
    }

    func flush() throws { try Self.check(mdb_env_sync(environment, 1), "mdb_env_sync") }

    func close() { mdb_env_close(environment) }

    @inline(__always) fileprivate static func begin(
      _ environment: OpaquePointer, readOnly: Bool = false
    ) throws -> OpaquePointer {
      var transaction: OpaquePointer?
      try check(
        mdb_txn_begin(environment, nil, readOnly ? UInt32(MDB_RDONLY) : 0, &transaction), "mdb_txn_begin")
      guard let transaction else { throw BenchmarkFailure("LMDB has no transaction") }
      return transaction
    }

    @inline(__always) fileprivate static func check(_ code: Int32, _ call: StaticString) throws {
      if code != 0 { throw BenchmarkFailure("\(call): \(String(cString: mdb_strerror(code)))") }
    }
  }

  /// A thread's read transaction and cursor. Between reads the transaction is reset.
  final class LMDBSession: BenchmarkSession {
    private let engine: LMDBEngine
    private let state: State

    fileprivate init(_ engine: LMDBEngine) throws {
      let transaction = try LMDBEngine.begin(engine.environment, readOnly: true)
      var cursor: OpaquePointer?
      try LMDBEngine.check(mdb_cursor_open(transaction, engine.table, &cursor), "mdb_cursor_open")
      guard let cursor else { throw BenchmarkFailure("LMDB has no cursor") }
      mdb_txn_reset(transaction)
      self.engine = engine
      state = State(transaction: transaction, cursor: cursor, table: engine.table)
    }

    fileprivate func close() {
      mdb_cursor_close(state.cursor)
      mdb_txn_abort(state.transaction)
    }

    struct Writer: BenchmarkWriter {
      fileprivate let transaction: OpaquePointer
      fileprivate let table: MDB_dbi

      @inline(__always) func put(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws {
        var key = MDB_val(key)
        var value = MDB_val(value)
        try LMDBEngine.check(mdb_put(transaction, table, &key, &value, 0), "mdb_put")
      }

      @inline(__always) func delete(_ key: UnsafeRawBufferPointer) throws {
        var key = MDB_val(key)
        try LMDBEngine.check(mdb_del(transaction, table, &key, nil), "mdb_del")
      }
    }

    /// A renewed read transaction.
    struct State: BenchmarkReads {
      fileprivate let transaction: OpaquePointer
      fileprivate let cursor: OpaquePointer
      fileprivate let table: MDB_dbi

      @inline(__always) func get(_ key: UnsafeRawBufferPointer, into checksum: inout some ValueSink) throws
        -> Bool
      {
        var key = MDB_val(key)
        var value = MDB_val()
        let code = mdb_get(transaction, table, &key, &value)
        if code == MDB_NOTFOUND { return false }
        try LMDBEngine.check(code, "mdb_get")
        checksum.add(value: value.buffer.bytes)
        return true
      }

      @inline(__always) func scan(
        from start: UnsafeRawBufferPointer, limit: Int, into checksum: inout Checksum
      ) throws -> Int {
        try LMDBEngine.check(mdb_cursor_renew(transaction, cursor), "mdb_cursor_renew")
        var key = MDB_val(start)
        var value = MDB_val()
        var count = 0
        var code = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE)
        while code == 0 {
          checksum.add(key: key.buffer.bytes, value: value.buffer.bytes)
          count += 1
          if count == limit { return count }
          code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)
        }
        if code != MDB_NOTFOUND { try LMDBEngine.check(code, "mdb_cursor_get") }
        return count
      }
    }

    @inline(__always) func write(_ body: (inout Writer) throws -> Void) throws {
      let transaction = try LMDBEngine.begin(engine.environment)
      var writer = Writer(transaction: transaction, table: engine.table)
      do {
        try body(&writer)
      } catch {
        mdb_txn_abort(transaction)
        throw error
      }
      try LMDBEngine.check(mdb_txn_commit(transaction), "mdb_txn_commit")
    }

    @inline(__always) func put(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws {
      try write { try $0.put(key, value) }
    }

    @inline(__always) func withSnapshot<R>(_ body: (State) throws -> R) throws -> R {
      try LMDBEngine.check(mdb_txn_renew(state.transaction), "mdb_txn_renew")
      defer { mdb_txn_reset(state.transaction) }
      return try body(state)
    }

    @inline(__always) func get(_ key: UnsafeRawBufferPointer, into checksum: inout some ValueSink) throws
      -> Bool
    {
      try withSnapshot { try $0.get(key, into: &checksum) }
    }

    @inline(__always) func scan(
      from start: UnsafeRawBufferPointer, limit: Int, into checksum: inout Checksum
    ) throws -> Int {
      try withSnapshot { try $0.scan(from: start, limit: limit, into: &checksum) }
    }
  }

  extension MDB_val {
    @inline(__always) fileprivate init(_ bytes: UnsafeRawBufferPointer) {
      self.init(mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
    }

    @inline(__always) fileprivate var buffer: UnsafeRawBufferPointer {
      UnsafeRawBufferPointer(start: mv_data, count: mv_size)
    }
  }
#endif
