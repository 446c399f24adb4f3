/// Group `ycsb`: the workloads of the Yahoo! Cloud Serving Benchmark (Cooper et al., SoCC 2010),
/// values of 1,000 bytes.
extension Run {
  func cloudGroup() throws {
    var engine = try openEmpty()
    try loadCloud(engine)
    printMemory("ycsb-load")
    engine = try reopen(engine, after: "ycsb-load")
    try readAllUnmeasured(engine)
    var records = options.records
    let latest = Zipfian(items: Double(records), zeta: Zipfian.zeta(records))
    for mix in CloudMix.all {
      try run(mix, engine, latest, &records)
    }
    printMemory("ycsb")
    try close(engine, after: "ycsb-end")
  }

  private func loadCloud(_ engine: Engine) throws {
    let times = try inSession(engine, valueLength: CloudMix.valueLength) { session, scratch in
      try measure("ycsb-load", operations: options.records) {
        try writeBatches(options.records, of: 1000, to: session, of: engine) { writer, record in
          try writer.put(scratch.cloudKey(record), scratch.value(record, 0))
        }
      }
    }
    report.figure("ycsb-load", "max_commit_ms", times.longest * 1e3)
  }

  private func readAllUnmeasured(_ engine: Engine) throws {
    guard Engine.answers else { return }
    var checksum = Checksum()
    _ = try inSession(engine) { session, scratch in
      try session.scan(from: scratch.key(0), limit: .max, into: &checksum)
    }
  }

  private func run(
    _ mix: CloudMix, _ engine: Engine, _ latest: Zipfian, _ records: inout UInt64
  ) throws {
    let operations = options.scaled(200_000)
    var state = CloudState(records: records, initialRecords: options.records, seed: mix.seed)
    try inSession(engine, valueLength: CloudMix.valueLength) { session, scratch in
      try measure(mix.name, operations: operations) {
        for index in 0..<operations {
          try step(mix, session, scratch, latest, index, &state)
        }
      }
    }
    records = state.records
    report.count(mix.name, "checksum", state.checksum.sum)
    report.wrongAnswers(mix.name, "MISSES", state.misses)
    if state.scanned > 0 { report.count(mix.name, "scanned", state.scanned) }
  }

  /// Runs one operation. The order in which random numbers are drawn is part of the definition.
  @inline(__always) private func step(
    _ mix: CloudMix, _ session: Engine.Session, _ scratch: Scratch, _ latest: Zipfian, _ index: UInt64,
    _ state: inout CloudState
  ) throws {
    let operation = mix.operation(state.random.below(100))
    if operation == .insert {
      try session.put(scratch.cloudKey(state.records), scratch.value(state.records, 0))
      state.records += 1
      return
    }
    let record = mix.readsLatest ? state.latestRecord(latest) : state.anyRecord()
    let key = scratch.cloudKey(record)
    switch operation {
    case .read:
      if try !session.get(key, into: &state.checksum) { state.misses += 1 }
    case .update:
      try session.put(key, scratch.value(record, 3 + index))
    case .scan:
      let length = 1 + Int(state.random.below(100))
      state.scanned += UInt64(try session.scan(from: key, limit: length, into: &state.checksum))
    case .insert, .readModifyWrite:
      if try !session.get(key, into: &state.checksum) { state.misses += 1 }
      try session.put(key, scratch.value(record, 3 + index))
    }
  }
}

/// The mix of operations in one workload. Shares are in per cent; the rest is read-modify-write.
private struct CloudMix {
  enum Operation { case read, update, scan, insert, readModifyWrite }

  static let valueLength = 1000

  /// The workloads in the order in which they run on the one database.
  static let all = [
    CloudMix(name: "ycsb-A", seed: 0xA, read: 50, update: 50),
    CloudMix(name: "ycsb-B", seed: 0xB, read: 95, update: 5),
    CloudMix(name: "ycsb-C", seed: 0xC, read: 100),
    CloudMix(name: "ycsb-F", seed: 0xF, read: 50),
    CloudMix(name: "ycsb-D", seed: 0xD, read: 95, insert: 5, readsLatest: true),
    CloudMix(name: "ycsb-E", seed: 0xE, scan: 95, insert: 5),
  ]

  var name: String
  var seed: UInt64
  var read: UInt64 = 0
  var update: UInt64 = 0
  var scan: UInt64 = 0
  var insert: UInt64 = 0
  var readsLatest = false

  @inline(__always) func operation(_ choice: UInt64) -> Operation {
    if choice < read { return .read }
    if choice < read + update { return .update }
    if choice < read + update + scan { return .scan }
    if choice < read + update + scan + insert { return .insert }
    return .readModifyWrite
  }
}

/// The state that changes from one operation to the next.
private struct CloudState {
  var records: UInt64
  let initialRecords: UInt64
  var random: SplitMix64
  var checksum = Checksum()
  var misses: UInt64 = 0
  var scanned: UInt64 = 0

  init(records: UInt64, initialRecords: UInt64, seed: UInt64) {
    self.records = records
    self.initialRecords = initialRecords
    random = SplitMix64(seed: seed)
  }

  mutating func anyRecord() -> UInt64 { fnv64(Zipfian.scrambled.next(&random)) % initialRecords }

  /// Returns a record, the newest most often.
  mutating func latestRecord(_ latest: Zipfian) -> UInt64 {
    var age: UInt64
    repeat { age = latest.next(&random) } while age >= records
    return records - 1 - age
  }
}
