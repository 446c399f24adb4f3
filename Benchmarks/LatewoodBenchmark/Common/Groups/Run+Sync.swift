/// Group `sync`: transactions that are on the disk when they return.
extension Run {
  func syncGroup() throws {
    guard Engine.isPersistent else { return }
    let order = Permutation(count: 200_000, seed: Permutation.fillSeed)
    try prepare(order)
    let engine = try open(isDurable: true)
    try fillOneByOne(engine, order)
    try fillOnEightThreads(engine, order)
    try close(engine, after: "fillsync-mt")
    let second = try openEmpty(isDurable: true)
    try fillRandom(second, options.scaled(200_000), batch: 100, workload: "fillbatchsync")
    try close(second, after: "fillbatchsync")
    printMemory("sync")
  }

  /// Fills the database that the workloads then extend.
  private func prepare(_ order: Permutation) throws {
    let engine = try openEmpty()
    try inSession(engine, valueLength: options.valueLength) { session, scratch in
      _ = try writeBatches(100_000, of: 1000, to: session, of: engine) { writer, index in
        let number = order[index]
        try writer.put(scratch.key(number), scratch.value(number, 0))
      }
    }
    try engine.close()
  }

  private func fillOneByOne(_ engine: Engine, _ order: Permutation) throws {
    let operations = options.scaled(2000)
    let times = try inSession(engine, valueLength: options.valueLength) { session, scratch in
      try measure("fillsync", operations: operations) {
        try puts(to: session, scratch, order, first: 100_000, count: operations)
      }
    }
    report.latencies("fillsync", times)
  }

  private func fillOnEightThreads(_ engine: Engine, _ order: Permutation) throws {
    let perThread = options.scaled(500)
    let first = 100_000 + options.scaled(2000)
    let times = try measure("fillsync-mt", operations: 8 * perThread) {
      try Threads.run(8) { thread in
        try inSession(engine, valueLength: options.valueLength) { session, scratch in
          try puts(to: session, scratch, order, first: first + UInt64(thread) * perThread, count: perThread)
        }
      }
    }
    report.latencies("fillsync-mt", times.flatMap { $0 })
  }

  /// Runs transactions of one put. Returns the seconds of each.
  private func puts(
    to session: Engine.Session, _ scratch: Scratch, _ order: Permutation, first: UInt64, count: UInt64
  ) throws -> [Double] {
    var times: [Double] = []
    times.reserveCapacity(Int(count))
    for index in first..<(first + count) {
      let start = Process.now
      let number = order[index]
      try session.put(scratch.key(number), scratch.value(number, 0))
      times.append(Process.now - start)
    }
    return times
  }
}
