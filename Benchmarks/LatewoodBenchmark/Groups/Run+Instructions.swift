import LatewoodStore

/// Group `instructions`: one operation after its set-up, so that its instructions can be counted.
/// Prints the number of counted operations.
///
/// Seeds are fixed, and only a compaction uses other threads.
extension Run where Engine == LatewoodEngine {
  func instructionsGroup() throws {
    options.directory.makeEmpty()
    guard !options.operation.isEmpty else {
      for operation in CountedOperation.allCases {
        Process.printLine(operation.rawValue + (operation.usesThreads ? " threads" : ""))
      }
      return
    }
    guard let operation = CountedOperation(rawValue: options.operation) else {
      throw BenchmarkFailure("there is no operation \(options.operation)")
    }
    Process.printLine("operations \(try count(operation))")
  }

  /// - Returns: the number of operations.
  private func count(_ operation: CountedOperation) throws -> UInt64 {
    switch operation {
    case .getFromBuffer: try countGets(openToCount(buffer: 1))
    case .getFromBase: try countGets(openToCount(base: true))
    case .getFromBoth: try countGets(openToCount(base: true, buffer: 0.1))
    case .getMissing: try countGets(openToCount(base: true, buffer: 0.1), missing: true)
    case .putInBatches: try countPuts()
    case .putDurably: try countDurablePuts()
    case .delete: try countDeletes()
    case .scanMerged: try countScan(openToCount(base: true, buffer: 0.1), isFirst: false)
    case .scanBase: try countScan(openToCount(base: true), isFirst: false)
    case .firstScan: try countScan(reopened(openToCount(base: true)), isFirst: true)
    case .shortScan: try countShortScans()
    case .checkpointOfNewEntries: try countCheckpoint(openToCount(buffer: 1), of: 1)
    case .checkpointOfChanges: try countCheckpoint(openToCount(base: true, buffer: 0.1), of: 0.1)
    case .compaction: try countCompaction()
    case .open: try countOpening(openToCount(base: true), withLog: false)
    case .openWithLog: try countOpening(openToCount(base: true, buffer: 0.1), withLog: true)
    case .saveDocument, .updateDocument, .getMember, .feedFromBuffer, .feedAfterOpening, .pointQuery,
      .rangeQuery, .indexBuild, .indexUpdate:
      try countDocuments(operation)
    case .typedPointQuery, .topQuery, .topQueryOfDocuments, .rangeQueryOfDocuments, .coveringQuery,
      .coveringQueryOfBuffer, .countQuery, .sumQuery, .scanQuery:
      try countTypedQueries(operation)
    case .parseJSON, .writeJSON: try countJSON(operation)
    }
  }

  // MARK: Set-up

  /// The options of a store without any background work.
  var optionsToCount: Store.Options {
    var chosen = Store.Options()
    chosen.durability = .relaxed
    chosen.checkpointsInBackground = false
    chosen.compaction = .manual
    // Verified nodes stay verified, however slowly the program runs.
    chosen.checksumLifetime = 0
    return chosen
  }

  /// - Parameters:
  ///   - base: whether the tree has all records.
  ///   - buffer: the share of the records that is in the write buffer, evenly scattered.
  private func openToCount(base: Bool = false, buffer share: Double = 0) throws -> LatewoodEngine {
    let engine = try LatewoodEngine.open(in: options.directory, optionsToCount)
    if base {
      try put(options.records, version: 0, to: engine)
      try engine.store.checkpoint()
    }
    try put(part(share), version: 1, to: engine)
    return engine
  }

  private func part(_ share: Double) -> UInt64 { UInt64(Double(options.records) * share) }

  private func reopened(_ engine: LatewoodEngine) throws -> LatewoodEngine {
    try engine.close()
    return try LatewoodEngine.open(in: options.directory, optionsToCount)
  }

  private func put(_ count: UInt64, version: UInt64, to engine: LatewoodEngine) throws {
    let order = Permutation(count: options.records, seed: Permutation.fillSeed)
    try Scratch.use(valueLength: options.valueLength) { scratch in
      _ = try writeBatches(count, of: 1000, to: engine) { writer, index in
        let number = order[index]
        try writer.put(scratch.key(number), scratch.value(number, version))
      }
    }
  }

  private func require(_ found: UInt64, _ expected: UInt64) throws {
    if found != expected { throw BenchmarkFailure("\(options.operation): \(found) instead of \(expected)") }
  }

  // MARK: Reads

  private func countGets(_ engine: LatewoodEngine, missing: Bool = false) throws -> UInt64 {
    let operations = options.records / 2
    var checksum = Checksum()
    // Everything that is read for the first time is verified.
    _ = try gets(from: engine, seed: 0xBEAD, 2 * operations, missing: missing, into: &checksum)
    var hits: UInt64 = 0
    try countInstructions {
      hits = try gets(from: engine, seed: 0xBEAD, operations, missing: missing, into: &checksum)
    }
    try require(hits, missing ? 0 : operations)
    return operations
  }

  private func countScan(_ engine: LatewoodEngine, isFirst: Bool) throws -> UInt64 {
    var checksum = Checksum()
    var entries = 0
    try Scratch.use(valueLength: 0) { scratch in
      if !isFirst { _ = try engine.scan(from: scratch.key(0), limit: .max, into: &checksum) }
      try countInstructions {
        entries = try engine.scan(from: scratch.key(0), limit: .max, into: &checksum)
      }
    }
    try require(UInt64(entries), options.records)
    return options.records
  }

  private func countShortScans() throws -> UInt64 {
    let engine = try openToCount(base: true, buffer: 0.1)
    let operations = options.records / 50
    var checksum = Checksum()
    var entries = 0
    try Scratch.use(valueLength: 0) { scratch in
      _ = try engine.scan(from: scratch.key(0), limit: .max, into: &checksum)
      try countInstructions {
        var random = SplitMix64(seed: 0x5CA9)
        for _ in 0..<operations {
          let start = scratch.key(random.below(options.records - 100))
          entries += try engine.scan(from: start, limit: 100, into: &checksum)
        }
      }
    }
    try require(UInt64(entries), 100 * operations)
    return operations
  }

  // MARK: Writes

  private func countPuts() throws -> UInt64 {
    let engine = try openToCount()
    try countInstructions { try put(options.records, version: 0, to: engine) }
    return options.records
  }

  private func countDurablePuts() throws -> UInt64 {
    let operations = options.records / 100
    let order = Permutation(count: options.records, seed: Permutation.deleteSeed)
    var chosen = optionsToCount
    chosen.durability = .synchronous
    let engine = try LatewoodEngine.open(in: options.directory, chosen)
    try put(options.records, version: 0, to: engine)
    try Scratch.use(valueLength: options.valueLength) { scratch in
      try countInstructions {
        for index in 0..<operations {
          let number = order[index]
          try engine.put(scratch.key(number), scratch.value(number, 1))
        }
      }
    }
    return operations
  }

  private func countDeletes() throws -> UInt64 {
    let operations = options.records / 2
    let order = Permutation(count: options.records, seed: Permutation.deleteSeed)
    let engine = try openToCount(base: true)
    try Scratch.use(valueLength: 0) { scratch in
      try countInstructions {
        _ = try writeBatches(operations, of: 1000, to: engine) { writer, index in
          try writer.delete(scratch.key(order[index]))
        }
      }
    }
    return operations
  }

  // MARK: Upkeep

  /// Counts instructions per entry that the checkpoint merges.
  private func countCheckpoint(_ engine: LatewoodEngine, of share: Double) throws -> UInt64 {
    try countInstructions { try engine.store.checkpoint() }
    return part(share)
  }

  /// Counts instructions per entry of a store that is half dead.
  private func countCompaction() throws -> UInt64 {
    let engine = try openToCount(base: true)
    try put(options.records, version: 1, to: engine)
    try engine.store.checkpoint()
    if !options.omitsOperation { try countInstructions { _ = try engine.store.compact() } }
    return options.records
  }

  /// - Parameter withLog: whether the engine has commits that no checkpoint contains. Each opening
  ///   has to read these, as after a crash. The engine then stays open, next to readers.
  private func countOpening(_ engine: LatewoodEngine, withLog: Bool) throws -> UInt64 {
    let operations: UInt64 = 20
    try engine.flush()
    if !withLog { try engine.close() }
    let path = options.directory.path + "/db.latewood"
    let mode = withLog ? Store.OpenMode.readOnly : .openExisting
    for _ in 0..<operations {
      var store: Store?
      try countInstructions {
        store = try Store.open(at: path, mode: mode, options: optionsToCount)
      }
      try store?.close()
    }
    return operations
  }
}
