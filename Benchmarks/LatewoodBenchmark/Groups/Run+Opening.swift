import LatewoodStore

/// Part `opening`: opening after a clean close, many times in one process.
///
/// At the first opening the checkpoint may not be durable yet, so that one is reported separately.
extension Run where Engine == LatewoodEngine {
  func opening() throws {
    let engine = try openEmpty()
    try fillRandom(engine, options.records, batch: 1000, workload: "opening-fill")
    try engine.close()
    try measureOpening(.openExisting, "opening")
    try measureOpening(.readOnly, "opening-readonly")
    try openingOfKeyspaces()
  }

  private func measureOpening(_ mode: Store.OpenMode, _ workload: String) throws {
    let path = options.directory.path + "/db.latewood"
    let rounds = Int(options.scaled(200))
    var opens: [Double] = []
    var gets: [Double] = []
    var closes: [Double] = []
    for _ in 0..<max(rounds, 2) {
      let start = Process.now
      let store = try Store.open(at: path, mode: mode)
      let opened = Process.now
      let engine = LatewoodEngine(store: store, keyspace: try store.keyspace("bench"))
      var checksum = Checksum()
      _ = try Scratch.use(valueLength: 0) { scratch in
        try engine.get(scratch.key(options.records / 2), into: &checksum)
      }
      let read = Process.now
      try store.close()
      opens.append(opened - start)
      gets.append(read - start)
      closes.append(Process.now - read)
    }
    report.figure(workload, "first_open_ms", opens[0] * 1e3)
    report.figure(workload, "open_ms", opens.sorted()[opens.count / 2] * 1e3)
    report.figure(workload, "open_get_ms", gets.sorted()[gets.count / 2] * 1e3)
    report.figure(workload, "close_ms", closes.sorted()[closes.count / 2] * 1e3)
  }

  /// A store with as many keyspaces as an application with a collection for each user may have.
  private func openingOfKeyspaces() throws {
    let store = try openEmpty().store
    let count = options.scaled(20_000)
    try store.write { transaction in
      for number in 0..<count {
        let keyspace = try transaction.keyspace("keyspace \(number)")
        try transaction.put("a", "b", in: keyspace)
      }
    }
    try store.close()
    try measureOpening(.openExisting, "opening-keyspaces")
  }
}
