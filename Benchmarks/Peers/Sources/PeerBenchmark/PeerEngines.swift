#if canImport(CLMDB)
  import CLMDB
#endif
#if canImport(CLevelDB)
  import CLevelDB
#endif
#if canImport(CSQLite)
  import CSQLite
#endif
#if canImport(CWiredTiger)
  import CWiredTiger
#endif

/// An engine that this program was built with.
struct PeerEngine {
  let name: String
  /// The version of the library; RocksDB's C interface does not report it.
  let version: String
  let run: (BenchmarkOptions) throws -> Bool

  init<Engine: BenchmarkEngine>(_ type: Engine.Type, version: String) {
    name = Engine.name
    self.version = version
    run = { options in
      let run = Run<Engine>(options)
      run.report.figure(options.group, "load1", Process.load)
      guard try run.commonGroup(options.group) else {
        throw BenchmarkFailure("there is no group \(options.group)\n\(BenchmarkOptions.usage)")
      }
      options.directory.makeEmpty()
      return run.report.isSound
    }
  }
}

/// The engines whose libraries were installed when this program was built.
enum PeerEngines {
  static var built: [PeerEngine] {
    var engines: [PeerEngine] = []
    #if canImport(CSQLite)
      let sqlite = String(cString: sqlite3_libversion())
      engines.append(PeerEngine(SQLiteEngine<ClusteredTable>.self, version: sqlite))
      engines.append(PeerEngine(SQLiteEngine<RowTable>.self, version: sqlite))
      engines.append(PeerEngine(SQLiteEngine<ClusteredTableInLargePages>.self, version: sqlite))
    #endif
    #if canImport(CLMDB)
      let lmdb = "\(MDB_VERSION_MAJOR).\(MDB_VERSION_MINOR).\(MDB_VERSION_PATCH)"
      engines.append(PeerEngine(LMDBEngine.self, version: lmdb))
    #endif
    #if canImport(CLevelDB)
      let leveldb = "\(leveldb_major_version()).\(leveldb_minor_version())"
      engines.append(PeerEngine(LevelDBEngine.self, version: leveldb))
    #endif
    #if canImport(CRocksDB)
      engines.append(PeerEngine(RocksDBEngine.self, version: "unknown"))
    #endif
    #if canImport(CWiredTiger)
      let wiredTiger = "\(WIREDTIGER_VERSION_MAJOR).\(WIREDTIGER_VERSION_MINOR).\(WIREDTIGER_VERSION_PATCH)"
      engines.append(PeerEngine(WiredTigerEngine.self, version: wiredTiger))
    #endif
    return engines
  }

  static func run(_ options: BenchmarkOptions) throws -> Bool {
    guard let engine = built.first(where: { $0.name == options.engine }) else {
      throw BenchmarkFailure(
        """
        there is no engine \(options.engine) in this build
        An engine is left out if its library is not installed: Benchmarks/Peers/Package.swift names the packages.
        \(BenchmarkOptions.usage)
        """)
    }
    return try engine.run(options)
  }
}
