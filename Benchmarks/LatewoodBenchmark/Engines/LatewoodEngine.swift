import LatewoodStore

/// Latewood, through its public interface only.
struct LatewoodEngine: BenchmarkEngine, BenchmarkSession {
  typealias Session = LatewoodEngine

  static let name = "latewood"
  static let isPersistent = true
  static let answers = true

  let store: Store
  let keyspace: Keyspace

  static func open(in directory: Directory, isDurable: Bool) throws -> LatewoodEngine {
    var options = Store.Options()
    options.durability = isDurable ? .synchronous : .relaxed
    return try open(in: directory, options)
  }

  static func open(in directory: Directory, _ options: Store.Options) throws -> LatewoodEngine {
    let store = try Store.open(at: directory.path + "/db.latewood", options: options)
    return LatewoodEngine(store: store, keyspace: try store.keyspace("bench"))
  }

  struct Writer: BenchmarkWriter {
    let transaction: Transaction
    let keyspace: Keyspace

    @inline(__always) func put(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws {
      try transaction.put(key, value, in: keyspace)
    }

    @inline(__always) func delete(_ key: UnsafeRawBufferPointer) throws {
      try transaction.delete(key, in: keyspace)
    }
  }

  struct State: BenchmarkReads, Sendable {
    let snapshot: Snapshot
    let keyspace: Keyspace

    @inline(__always) func get(_ key: UnsafeRawBufferPointer, into checksum: inout some ValueSink) throws
      -> Bool
    {
      try snapshot.withValue(key, in: keyspace) { checksum.add(value: $0) } != nil
    }

    @inline(__always) func scan(
      from start: UnsafeRawBufferPointer, limit: Int, into checksum: inout Checksum
    ) throws -> Int {
      try snapshot.scan(from: start, limit: limit, in: keyspace, into: &checksum)
    }
  }

  @inline(__always) func write(_ body: (inout Writer) throws -> Void) throws {
    let keyspace = keyspace
    try store.write { transaction in
      var writer = Writer(transaction: transaction, keyspace: keyspace)
      try body(&writer)
    }
  }

  @inline(__always) func put(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws {
    try store.put(key, value, in: keyspace)
  }

  @inline(__always) func get(_ key: UnsafeRawBufferPointer, into checksum: inout some ValueSink) throws
    -> Bool
  {
    try store.withValue(key, in: keyspace) { checksum.add(value: $0) } != nil
  }

  @inline(__always) func scan(
    from start: UnsafeRawBufferPointer, limit: Int, into checksum: inout Checksum
  ) throws -> Int {
    try store.scan(from: start, limit: limit, in: keyspace, into: &checksum)
  }

  func withSnapshot<R>(_ body: (State) throws -> R) throws -> R {
    let snapshot = try store.snapshot()
    defer { snapshot.close() }
    return try body(State(snapshot: snapshot, keyspace: keyspace))
  }

  func withSharedSnapshot(_ body: (State) throws -> Void) throws { try withSnapshot(body) }

  func flush() throws { try store.sync() }

  func close() throws { try store.close() }
}

extension Readable {
  @inline(__always) fileprivate func scan(
    from start: UnsafeRawBufferPointer, limit: Int, in keyspace: Keyspace, into checksum: inout Checksum
  ) throws -> Int {
    var count = 0
    try forEach(in: keyspace, .from(start)) { key, value in
      checksum.add(key: key, value: value)
      count += 1
      return count < limit
    }
    return count
  }
}
