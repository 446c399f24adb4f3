import LatewoodDevice
import LatewoodSimulation
import LatewoodStore

/// All that a store shows: keyspaces by name, their entries by key.
typealias Content = [String: [[UInt8]: [UInt8]]]

extension Store {
  /// Reads everything.
  func content() throws -> Content {
    var result: Content = [:]
    for keyspace in try keyspaces() {
      var entries: [[UInt8]: [UInt8]] = [:]
      try forEach(in: keyspace) { key, value in
        entries[key.withUnsafeBytes { Array($0) }] = value.withUnsafeBytes { Array($0) }
        return true
      }
      result[keyspace.name] = entries
    }
    return result
  }
}

/// A list of steps that a crash test runs on a store, and what the store shows after each.
struct CrashScript: Sendable {
  enum Step: Sendable {
    case transaction(Durability, [Operation])
    case sync
    case checkpoint
    case reopen
  }

  enum Operation: Sendable {
    case put(String, key: [UInt8], value: [UInt8])
    case delete(String, key: [UInt8])
    case deleteRange(String, from: [UInt8], to: [UInt8])
    case drop(String)
  }

  var name: String
  var steps: [Step]

  /// What a run has got to: which states may be found after a crash.
  struct Progress {
    /// Content after each transaction that was begun; the first is that of an empty store.
    var states: [Content] = [[:]]
    /// Index of the newest state that was acknowledged as durable.
    var durable = 0
    /// Index of the newest state that was acknowledged at all.
    var acknowledged = 0
  }

  static func options() -> Store.Options {
    var options = Store.Options()
    options.checkpointsInBackground = false
    options.nodeSize = 1024
    options.inlineValueLimit = 64
    options.writeBufferBudget = 65536
    return options
  }

  static func open(_ volume: any Volume, seed: UInt64) throws -> Store {
    return try Store.open(
      at: "db", on: volume, mode: .openOrCreate, options: options(),
      environment: Environment(now: { 1_700_000_000_000_000 }, random: { seed }))
  }

  /// Runs the steps until one fails; what was got to is in `progress`.
  func run(on volume: any Volume, _ progress: inout Progress) throws {
    var store = try CrashScript.open(volume, seed: 7)
    for step in steps {
      switch step {
      case .transaction(let durability, let operations):
        progress.states.append(CrashScript.apply(operations, to: progress.states[progress.states.count - 1]))
        try store.write(durability: durability) { transaction in
          for operation in operations { try CrashScript.apply(operation, transaction) }
        }
        progress.acknowledged = progress.states.count - 1
        if durability == .synchronous { progress.durable = progress.acknowledged }
      case .sync:
        try store.sync()
        progress.durable = progress.acknowledged
      case .checkpoint:
        try store.checkpoint()
        progress.durable = progress.acknowledged
      case .reopen:
        try store.close()
        progress.durable = progress.acknowledged
        store = try CrashScript.open(volume, seed: 7)
      }
    }
    try store.close()
    progress.durable = progress.acknowledged
  }

  private static func apply(_ operation: Operation, _ transaction: Transaction) throws {
    switch operation {
    case .put(let name, let key, let value): try transaction.put(key, value, in: transaction.keyspace(name))
    case .delete(let name, let key): try transaction.delete(key, in: transaction.keyspace(name))
    case .deleteRange(let name, let from, let to):
      try transaction.deleteRange(.between(from, to), in: transaction.keyspace(name))
    case .drop(let name): try transaction.dropKeyspace(transaction.keyspace(name))
    }
  }

  static func apply(_ operations: [Operation], to content: Content) -> Content {
    var content = content
    for operation in operations {
      switch operation {
      case .put(let name, let key, let value): content[name, default: [:]][key] = value
      case .delete(let name, let key): content[name, default: [:]][key] = nil
      case .deleteRange(let name, let from, let to):
        content[name, default: [:]] = content[name, default: [:]].filter {
          $0.key.lexicographicallyPrecedes(from) || !$0.key.lexicographicallyPrecedes(to)
        }
      case .drop(let name): content[name] = nil
      }
    }
    return content
  }
}
