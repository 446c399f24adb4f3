import Dispatch
import LatewoodConcurrency
import LatewoodStore

/// Parts `besidesync` and `queued`: the cost of transactions while others wait for the disk.
extension Run where Engine == LatewoodEngine {
  /// Measures relaxed transactions of one put, alone, and then next to a thread that commits
  /// synchronously without a pause.
  func besideSync() throws {
    let engine = try openEmpty()
    let operations = options.scaled(20_000)
    let alone = try measure("relaxed-alone", operations: operations) {
      try relaxedPuts(to: engine, from: 0, count: operations)
    }
    report.latencies("relaxed-alone", alone)
    let isOver = Guarded(false)
    var beside: [Double] = []
    try measure("relaxed-besidesync", operations: operations) {
      let times = Guarded<[Double]>([])
      _ = try Threads.run(2) { thread in
        if thread == 0 {
          defer { isOver.withLock { $0 = true } }
          let measured = try relaxedPuts(to: engine, from: operations, count: operations)
          times.withLock { $0 = measured }
          return
        }
        var number = 2 * operations
        while !isOver.withLock({ $0 }) {
          try engine.store.put("sync\(number)", "1", in: engine.keyspace, durability: .synchronous)
          number += 1
        }
      }
      beside = times.withLock { $0 }
    }
    report.latencies("relaxed-besidesync", beside)
    try close(engine, after: "relaxed-besidesync")
  }

  private func relaxedPuts(to engine: Engine, from first: UInt64, count: UInt64) throws -> [Double] {
    try Scratch.use(valueLength: options.valueLength) { scratch in
      var times: [Double] = []
      times.reserveCapacity(Int(count))
      for number in first..<(first + count) {
        let start = Process.now
        try engine.put(scratch.key(number), scratch.value(number, 0))
        times.append(Process.now - start)
      }
      return times
    }
  }

  /// Measures synchronous transactions of one put: by 64 threads, by 64 tasks each of which waits
  /// for one after the other, and by as many tasks as there are transactions.
  func queued() throws {
    let engine = try openEmpty(isDurable: true)
    let perThread = options.scaled(3008) / 64
    let operations = 64 * perThread
    try measure("threads-64", operations: operations) {
      _ = try Threads.run(64) { thread in
        for round in 0..<perThread {
          try engine.store.put("t\(thread).\(round)", "1", in: engine.keyspace)
        }
      }
    }
    try measure("tasks-64", operations: operations) {
      try inTasks(64, of: engine) { engine, task in
        for round in 0..<perThread {
          try await engine.store.write { try $0.put("a\(task).\(round)", "1", in: engine.keyspace) }
        }
      }
    }
    try measure("tasks-all", operations: operations) {
      try inTasks(Int(operations), of: engine) { engine, task in
        try await engine.store.write { try $0.put("b\(task)", "1", in: engine.keyspace) }
      }
    }
    try close(engine, after: "tasks-all")
  }

  private func inTasks(
    _ count: Int, of engine: Engine, _ body: @escaping @Sendable (Engine, Int) async throws -> Void
  ) throws {
    let done = DispatchSemaphore(value: 0)
    let failure = Guarded<(any Error)?>(nil)
    Task.detached {
      do {
        try await withThrowingTaskGroup(of: Void.self) { group in
          for task in 0..<count { group.addTask { try await body(engine, task) } }
          try await group.waitForAll()
        }
      } catch { failure.withLock { $0 = error } }
      done.signal()
    }
    done.wait()
    if let failure = failure.withLock({ $0 }) { throw failure }
  }
}
