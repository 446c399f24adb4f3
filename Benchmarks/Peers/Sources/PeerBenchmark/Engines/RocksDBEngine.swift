#if canImport(CRocksDB)
  import CRocksDB

  /// RocksDB through its C interface: a log-structured merge tree without compression, with a cache
  /// of 256 MiB and a Bloom filter of 10 bits to a key. Its write buffer has 64 MiB by default.
  /// Unsynced and durable: `sync` of the write options.
  ///
  /// It is `@unchecked Sendable`: threads may share a RocksDB, and it holds no other mutable state.
  struct RocksDBEngine: BenchmarkEngine, @unchecked Sendable {
    static let name = "rocksdb"
    static let isPersistent = true
    static let answers = true

    fileprivate let database: OpaquePointer
    fileprivate let isDurable: Bool
    private let cache: OpaquePointer
    private let options: OpaquePointer

    static func open(in directory: Directory, isDurable: Bool) throws -> RocksDBEngine {
      guard let options = rocksdb_options_create(), let cache = rocksdb_cache_create_lru(256 << 20),
        let table = rocksdb_block_based_options_create(),
        let filter = rocksdb_filterpolicy_create_bloom_full(10)
      else { throw BenchmarkFailure("RocksDB has no options") }
      rocksdb_options_set_create_if_missing(options, 1)
      rocksdb_options_set_compression(options, Int32(rocksdb_no_compression))
      rocksdb_block_based_options_set_block_cache(table, cache)
      // The table's options own the filter now.
      rocksdb_block_based_options_set_filter_policy(table, filter)
      rocksdb_options_set_block_based_table_factory(options, table)
      rocksdb_block_based_options_destroy(table)
      let database = try checked("open") { rocksdb_open(options, directory.path, &$0) }
      guard let database else { throw BenchmarkFailure("RocksDB has no database") }
      return RocksDBEngine(
        database: database, isDurable: isDurable, cache: cache, options: options)
    }

    func withSession<R>(_ body: (RocksDBSession) throws -> R) throws -> R {
      let session = try RocksDBSession(self)
      defer { session.close() }
      return try body(session)
    }

    func flush() throws { try Self.checked("flush") { rocksdb_flush_wal(database, 1, &$0) } }

    func settle() {
      let figures = [
        "rocksdb.num-running-compactions", "rocksdb.compaction-pending", "rocksdb.num-running-flushes",
        "rocksdb.mem-table-flush-pending",
      ]
      for _ in 0..<1200 {
        var busy: UInt64 = 0
        for figure in figures {
          var value: UInt64 = 0
          rocksdb_property_int(database, figure, &value)
          busy += value
        }
        if busy == 0 { return }
        Process.sleep(seconds: 0.05)
      }
    }

    func close() {
      rocksdb_close(database)
      rocksdb_options_destroy(options)
      rocksdb_cache_destroy(cache)
    }

    /// Runs a call that reports an error by a string.
    @discardableResult
    @inline(__always) fileprivate static func checked<R>(
      _ what: StaticString, _ call: (inout UnsafeMutablePointer<CChar>?) -> R
    ) throws -> R {
      var message: UnsafeMutablePointer<CChar>?
      let result = call(&message)
      if let message {
        defer { rocksdb_free(message) }
        throw BenchmarkFailure("RocksDB, \(what): \(String(cString: message))")
      }
      return result
    }
  }

  /// The options and the batch of a thread.
  final class RocksDBSession: BenchmarkSession {
    private let database: OpaquePointer
    private let readOptions: OpaquePointer
    private let writeOptions: OpaquePointer
    private let batch: OpaquePointer

    fileprivate init(_ engine: RocksDBEngine) throws {
      guard let readOptions = rocksdb_readoptions_create(), let writeOptions = rocksdb_writeoptions_create(),
        let batch = rocksdb_writebatch_create()
      else { throw BenchmarkFailure("RocksDB has no options") }
      rocksdb_writeoptions_set_sync(writeOptions, engine.isDurable ? 1 : 0)
      database = engine.database
      self.readOptions = readOptions
      self.writeOptions = writeOptions
      self.batch = batch
    }

    fileprivate func close() {
      rocksdb_writebatch_destroy(batch)
      rocksdb_writeoptions_destroy(writeOptions)
      rocksdb_readoptions_destroy(readOptions)
    }

    struct Writer: BenchmarkWriter {
      fileprivate let batch: OpaquePointer

      @inline(__always) func put(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
        rocksdb_writebatch_put(batch, key.characters, key.count, value.characters, value.count)
      }

      @inline(__always) func delete(_ key: UnsafeRawBufferPointer) {
        rocksdb_writebatch_delete(batch, key.characters, key.count)
      }
    }

    @inline(__always) func write(_ body: (inout Writer) throws -> Void) throws {
      rocksdb_writebatch_clear(batch)
      var writer = Writer(batch: batch)
      try body(&writer)
      try RocksDBEngine.checked("write") { rocksdb_write(database, writeOptions, batch, &$0) }
    }

    @inline(__always) func put(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws {
      try write { $0.put(key, value) }
    }

    func withSnapshot<R>(_ body: (RocksDBSession) throws -> R) throws -> R {
      let snapshot = rocksdb_create_snapshot(database)
      rocksdb_readoptions_set_snapshot(readOptions, snapshot)
      defer {
        rocksdb_readoptions_set_snapshot(readOptions, nil)
        rocksdb_release_snapshot(database, snapshot)
      }
      return try body(self)
    }

    @inline(__always) func get(_ key: UnsafeRawBufferPointer, into checksum: inout some ValueSink) throws
      -> Bool
    {
      let value = try RocksDBEngine.checked("get") {
        rocksdb_get_pinned(database, readOptions, key.characters, key.count, &$0)
      }
      guard let value else { return false }
      var length = 0
      let start = rocksdb_pinnableslice_value(value, &length)
      checksum.add(value: UnsafeRawBufferPointer(start: start, count: length).bytes)
      rocksdb_pinnableslice_destroy(value)
      return true
    }

    @inline(__always) func scan(
      from start: UnsafeRawBufferPointer, limit: Int, into checksum: inout Checksum
    ) throws -> Int {
      let iterator = rocksdb_create_iterator(database, readOptions)
      defer { rocksdb_iter_destroy(iterator) }
      var count = 0
      rocksdb_iter_seek(iterator, start.characters, start.count)
      while rocksdb_iter_valid(iterator) != 0 {
        var keyLength = 0
        var valueLength = 0
        let key = rocksdb_iter_key(iterator, &keyLength)
        let value = rocksdb_iter_value(iterator, &valueLength)
        checksum.add(
          key: UnsafeRawBufferPointer(start: key, count: keyLength).bytes,
          value: UnsafeRawBufferPointer(start: value, count: valueLength).bytes)
        count += 1
        if count == limit { break }
        rocksdb_iter_next(iterator)
      }
      try RocksDBEngine.checked("scan") { rocksdb_iter_get_error(iterator, &$0) }
      return count
    }
  }
#endif
