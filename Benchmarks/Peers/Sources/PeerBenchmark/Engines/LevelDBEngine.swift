#if canImport(CLevelDB)
  import CLevelDB

  /// LevelDB through its C interface: a log-structured merge tree without compression, with a cache
  /// of 256 MiB, a Bloom filter of 10 bits to a key, and a write buffer of 64 MiB instead of 4.
  /// Unsynced and durable: `sync` of the write options.
  ///
  /// Its C interface copies each value that it gets into separate memory.
  ///
  /// It is `@unchecked Sendable`: threads may share a LevelDB, and it holds no other mutable state.
  struct LevelDBEngine: BenchmarkEngine, @unchecked Sendable {
    static let name = "leveldb"
    static let isPersistent = true
    static let answers = true

    fileprivate let database: OpaquePointer
    fileprivate let isDurable: Bool
    private let cache: OpaquePointer
    private let filter: OpaquePointer
    private let options: OpaquePointer

    static func open(in directory: Directory, isDurable: Bool) throws -> LevelDBEngine {
      guard let options = leveldb_options_create(), let cache = leveldb_cache_create_lru(256 << 20),
        let filter = leveldb_filterpolicy_create_bloom(10)
      else { throw BenchmarkFailure("LevelDB has no options") }
      leveldb_options_set_create_if_missing(options, 1)
      leveldb_options_set_compression(options, Int32(leveldb_no_compression))
      leveldb_options_set_cache(options, cache)
      leveldb_options_set_filter_policy(options, filter)
      leveldb_options_set_write_buffer_size(options, 64 << 20)
      let database = try checked("open") { leveldb_open(options, directory.path, &$0) }
      guard let database else { throw BenchmarkFailure("LevelDB has no database") }
      return LevelDBEngine(
        database: database, isDurable: isDurable, cache: cache, filter: filter, options: options)
    }

    func withSession<R>(_ body: (LevelDBSession) throws -> R) throws -> R {
      let session = try LevelDBSession(self)
      defer { session.close() }
      return try body(session)
    }

    /// A synced write makes the log before it durable, too.
    func flush() throws {
      let options = leveldb_writeoptions_create()
      let batch = leveldb_writebatch_create()
      defer {
        leveldb_writebatch_destroy(batch)
        leveldb_writeoptions_destroy(options)
      }
      leveldb_writeoptions_set_sync(options, 1)
      try Self.checked("flush") { leveldb_write(database, options, batch, &$0) }
    }

    /// Returns once the table of levels has not changed for half a second, because LevelDB does not
    /// report whether it is compacting.
    func settle() {
      var last = ""
      var calm = 0
      for _ in 0..<600 where calm < 6 {
        Process.sleep(seconds: 0.1)
        guard let text = leveldb_property_value(database, "leveldb.stats") else { return }
        let levels = String(cString: text)
        leveldb_free(text)
        calm = levels == last ? calm + 1 : 0
        last = levels
      }
    }

    func close() {
      leveldb_close(database)
      leveldb_options_destroy(options)
      leveldb_filterpolicy_destroy(filter)
      leveldb_cache_destroy(cache)
    }

    /// Runs a call that reports an error by a string.
    @discardableResult
    @inline(__always) fileprivate static func checked<R>(
      _ what: StaticString, _ call: (inout UnsafeMutablePointer<CChar>?) -> R
    ) throws -> R {
      var message: UnsafeMutablePointer<CChar>?
      let result = call(&message)
      if let message {
        defer { leveldb_free(message) }
        throw BenchmarkFailure("LevelDB, \(what): \(String(cString: message))")
      }
      return result
    }
  }

  /// The options and the batch of a thread.
  final class LevelDBSession: BenchmarkSession {
    private let database: OpaquePointer
    private let readOptions: OpaquePointer
    private let writeOptions: OpaquePointer
    private let batch: OpaquePointer

    fileprivate init(_ engine: LevelDBEngine) throws {
      guard let readOptions = leveldb_readoptions_create(), let writeOptions = leveldb_writeoptions_create(),
        let batch = leveldb_writebatch_create()
      else { throw BenchmarkFailure("LevelDB has no options") }
      leveldb_writeoptions_set_sync(writeOptions, engine.isDurable ? 1 : 0)
      database = engine.database
      self.readOptions = readOptions
      self.writeOptions = writeOptions
      self.batch = batch
    }

    fileprivate func close() {
      leveldb_writebatch_destroy(batch)
      leveldb_writeoptions_destroy(writeOptions)
      leveldb_readoptions_destroy(readOptions)
    }

    struct Writer: BenchmarkWriter {
      fileprivate let batch: OpaquePointer

      @inline(__always) func put(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
        leveldb_writebatch_put(batch, key.characters, key.count, value.characters, value.count)
      }

      @inline(__always) func delete(_ key: UnsafeRawBufferPointer) {
        leveldb_writebatch_delete(batch, key.characters, key.count)
      }
    }

    @inline(__always) func write(_ body: (inout Writer) throws -> Void) throws {
      leveldb_writebatch_clear(batch)
      var writer = Writer(batch: batch)
      try body(&writer)
      try LevelDBEngine.checked("write") { leveldb_write(database, writeOptions, batch, &$0) }
    }

    @inline(__always) func put(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws {
      try write { $0.put(key, value) }
    }

    func withSnapshot<R>(_ body: (LevelDBSession) throws -> R) throws -> R {
      let snapshot = leveldb_create_snapshot(database)
      leveldb_readoptions_set_snapshot(readOptions, snapshot)
      defer {
        leveldb_readoptions_set_snapshot(readOptions, nil)
        leveldb_release_snapshot(database, snapshot)
      }
      return try body(self)
    }

    @inline(__always) func get(_ key: UnsafeRawBufferPointer, into checksum: inout some ValueSink) throws
      -> Bool
    {
      var length = 0
      let value = try LevelDBEngine.checked("get") {
        leveldb_get(database, readOptions, key.characters, key.count, &length, &$0)
      }
      guard let value else { return false }
      checksum.add(value: UnsafeRawBufferPointer(start: value, count: length).bytes)
      leveldb_free(value)
      return true
    }

    @inline(__always) func scan(
      from start: UnsafeRawBufferPointer, limit: Int, into checksum: inout Checksum
    ) throws -> Int {
      let iterator = leveldb_create_iterator(database, readOptions)
      defer { leveldb_iter_destroy(iterator) }
      var count = 0
      leveldb_iter_seek(iterator, start.characters, start.count)
      while leveldb_iter_valid(iterator) != 0 {
        var keyLength = 0
        var valueLength = 0
        let key = leveldb_iter_key(iterator, &keyLength)
        let value = leveldb_iter_value(iterator, &valueLength)
        checksum.add(
          key: UnsafeRawBufferPointer(start: key, count: keyLength).bytes,
          value: UnsafeRawBufferPointer(start: value, count: valueLength).bytes)
        count += 1
        if count == limit { break }
        leveldb_iter_next(iterator)
      }
      try LevelDBEngine.checked("scan") { leveldb_iter_get_error(iterator, &$0) }
      return count
    }
  }
#endif
