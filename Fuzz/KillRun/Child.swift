import Dispatch
import LatewoodDevice
import LatewoodStore

/// The process that is killed: it commits and compacts without end, and prints the number of each transaction once that is durable.
enum Child {
  static func run(_ path: String) throws {
    let store = try Store.open(at: path, options: options)
    let keyspace = try store.keyspace(Workload.keyspaceName)
    var workload = Workload()
    let newest = try store.get(Workload.counter, in: keyspace).map { String(decoding: $0, as: UTF8.self) }
    for _ in 0..<(newest.flatMap { Int($0) } ?? 0) { workload.advance() }
    // A failure of a compaction ends the process, and the parent sees that it was not killed.
    DispatchQueue(label: "compaction").async {
      while true {
        do {
          try store.compact()
        } catch {
          Main.fail("the compaction failed: \(error)")
        }
      }
    }
    let output = StandardStreams().output
    while true {
      try workload.commit(to: store, keyspace)
      output.write("\(workload.last)\n")
      output.flush()
    }
  }

  static var options: Store.Options {
    var options = Store.Options()
    options.compaction = .manual
    options.writeBufferBudget = 128 << 10
    return options
  }

  /// The database as the first child finds it.
  static func prepare(_ path: String) throws {
    let store = try Store.open(at: path, mode: .createNew, options: options)
    try store.write { transaction in
      let still = try transaction.keyspace(Workload.stillName)
      for number in 0..<Workload.stillEntries {
        try transaction.put(Workload.stillKey(number), Workload.value(1, number), in: still)
      }
      try transaction.put(Workload.counter, "0", in: transaction.keyspace(Workload.keyspaceName))
    }
    try store.close()
  }
}
