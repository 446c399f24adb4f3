#if canImport(CWiredTiger)
  import CWiredTiger

  /// WiredTiger, as a B+tree of rows: a cache of 256 MiB, its log, and a checkpoint every minute.
  ///
  /// Unsynced: a commit is not synced, and the record of the log may still be in the process.
  /// Durable: `sync=on` at each commit.
  ///
  /// It is `@unchecked Sendable`: threads may share a connection, and it holds no other mutable
  /// state.
  struct WiredTigerEngine: BenchmarkEngine, @unchecked Sendable {
    static let name = "wiredtiger"
    static let isPersistent = true
    static let answers = true

    private static let configuration =
      "create,cache_size=256M,session_max=64,log=(enabled=true),"
      + "transaction_sync=(enabled=false,method=fsync),checkpoint=(wait=60)"

    private let connection: UnsafeMutablePointer<WT_CONNECTION>
    fileprivate let isDurable: Bool

    static func open(in directory: Directory, isDurable: Bool) throws -> WiredTigerEngine {
      var connection: UnsafeMutablePointer<WT_CONNECTION>?
      try check(wiredtiger_open(directory.path, nil, configuration, &connection), "wiredtiger_open")
      guard let connection else { throw BenchmarkFailure("WiredTiger has no connection") }
      let engine = WiredTigerEngine(connection: connection, isDurable: isDurable)
      try engine.withWiredTigerSession { session in
        try check(
          session.pointee.create(session, "table:records", "key_format=u,value_format=u"), "WT_SESSION.create"
        )
      }
      return engine
    }

    func withSession<R>(_ body: (WiredTigerSession) throws -> R) throws -> R {
      try withWiredTigerSession { handle in
        var cursor: UnsafeMutablePointer<WT_CURSOR>?
        try Self.check(
          handle.pointee.open_cursor(handle, "table:records", nil, "overwrite=true", &cursor),
          "WT_SESSION.open_cursor")
        guard let cursor else { throw BenchmarkFailure("WiredTiger has no cursor") }
        defer { _ = cursor.pointee.close(cursor) }
        return try body(WiredTigerSession(handle, cursor, isDurable: isDurable))
      }
    }

    private func withWiredTigerSession<R>(
      _ body: (UnsafeMutablePointer<WT_SESSION>) throws -> R
    ) throws -> R {
      var session: UnsafeMutablePointer<WT_SESSION>?
      try Self.check(
        connection.pointee.open_session(connection, nil, nil, &session), "WT_CONNECTION.open_session")
      guard let session else { throw BenchmarkFailure("WiredTiger has no session") }
      defer { _ = session.pointee.close(session, nil) }
      return try body(session)
    }

    func flush() throws {
      try withWiredTigerSession { session in
        try Self.check(session.pointee.log_flush(session, "sync=on"), "WT_SESSION.log_flush")
      }
    }

    func close() throws { try Self.check(connection.pointee.close(connection, nil), "WT_CONNECTION.close") }

    @inline(__always) fileprivate static func check(_ code: Int32, _ call: StaticString) throws {
      if code != 0 { throw BenchmarkFailure("\(call): \(String(cString: wiredtiger_strerror(code)))") }
    }
  }

  /// The session of a thread, with its cursor. Outside of a transaction each read sees the newest
  /// commit.
  final class WiredTigerSession: BenchmarkSession {
    private let session: UnsafeMutablePointer<WT_SESSION>
    private let cursor: UnsafeMutablePointer<WT_CURSOR>
    private let isDurable: Bool

    fileprivate init(
      _ session: UnsafeMutablePointer<WT_SESSION>, _ cursor: UnsafeMutablePointer<WT_CURSOR>, isDurable: Bool
    ) {
      self.session = session
      self.cursor = cursor
      self.isDurable = isDurable
    }

    struct Writer: BenchmarkWriter {
      fileprivate let cursor: UnsafeMutablePointer<WT_CURSOR>

      @inline(__always) func put(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws {
        wiredtiger_set_key(cursor, key.baseAddress, key.count)
        wiredtiger_set_value(cursor, value.baseAddress, value.count)
        try WiredTigerEngine.check(cursor.pointee.insert(cursor), "WT_CURSOR.insert")
      }

      @inline(__always) func delete(_ key: UnsafeRawBufferPointer) throws {
        wiredtiger_set_key(cursor, key.baseAddress, key.count)
        try WiredTigerEngine.check(cursor.pointee.remove(cursor), "WT_CURSOR.remove")
      }
    }

    @inline(__always) func write(_ body: (inout Writer) throws -> Void) throws {
      try WiredTigerEngine.check(
        session.pointee.begin_transaction(session, nil), "WT_SESSION.begin_transaction")
      var writer = Writer(cursor: cursor)
      try body(&writer)
      try WiredTigerEngine.check(
        session.pointee.commit_transaction(session, isDurable ? "sync=on" : nil),
        "WT_SESSION.commit_transaction")
    }

    @inline(__always) func put(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws {
      try write { try $0.put(key, value) }
    }

    func withSnapshot<R>(_ body: (WiredTigerSession) throws -> R) throws -> R {
      try WiredTigerEngine.check(
        session.pointee.begin_transaction(session, "isolation=snapshot"), "WT_SESSION.begin_transaction")
      defer { _ = session.pointee.rollback_transaction(session, nil) }
      return try body(self)
    }

    @inline(__always) func get(_ key: UnsafeRawBufferPointer, into checksum: inout some ValueSink) throws
      -> Bool
    {
      wiredtiger_set_key(cursor, key.baseAddress, key.count)
      let code = cursor.pointee.search(cursor)
      if code == WT_NOTFOUND { return false }
      try WiredTigerEngine.check(code, "WT_CURSOR.search")
      var value = WT_ITEM()
      try WiredTigerEngine.check(wiredtiger_get_value(cursor, &value), "WT_CURSOR.get_value")
      checksum.add(value: value.buffer.bytes)
      _ = cursor.pointee.reset(cursor)
      return true
    }

    @inline(__always) func scan(
      from start: UnsafeRawBufferPointer, limit: Int, into checksum: inout Checksum
    ) throws -> Int {
      wiredtiger_set_key(cursor, start.baseAddress, start.count)
      var order: Int32 = 0
      var code = cursor.pointee.search_near(cursor, &order)
      // The cursor may stand on the key before the requested one.
      if code == 0, order < 0 { code = cursor.pointee.next(cursor) }
      var key = WT_ITEM()
      var value = WT_ITEM()
      var count = 0
      while code == 0 {
        try WiredTigerEngine.check(wiredtiger_get_key(cursor, &key), "WT_CURSOR.get_key")
        try WiredTigerEngine.check(wiredtiger_get_value(cursor, &value), "WT_CURSOR.get_value")
        checksum.add(key: key.buffer.bytes, value: value.buffer.bytes)
        count += 1
        if count == limit { break }
        code = cursor.pointee.next(cursor)
      }
      if code != WT_NOTFOUND { try WiredTigerEngine.check(code, "WT_CURSOR.next") }
      _ = cursor.pointee.reset(cursor)
      return count
    }
  }

  extension WT_ITEM {
    @inline(__always) fileprivate var buffer: UnsafeRawBufferPointer {
      UnsafeRawBufferPointer(start: data, count: size)
    }
  }
#endif
