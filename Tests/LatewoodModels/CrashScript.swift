import LatewoodConcurrency
import LatewoodDevice
import LatewoodSimulation
import LatewoodStore
import Synchronization

/// A list of steps that a crash or fault test runs on a store.
package struct CrashScript: Sendable {
  package enum Step: Sendable {
    case transaction(Durability, [Operation])
    case sync
    case checkpoint
    /// Compacts, and commits one of these transactions at each report of progress.
    case compact([Step])
    /// Closes the store and opens it again.
    case reopen
    /// The process is killed, and another one opens the store.
    case kill
  }

  package enum Operation: Sendable {
    case put(String, key: [UInt8], value: [UInt8])
    case delete(String, key: [UInt8])
    case deleteRange(String, from: [UInt8], to: [UInt8])
    case drop(String)
  }

  package var name: String
  /// The share of images for this script, relative to other scripts.
  package var share: Double
  package var steps: [Step]

  package init(name: String, share: Double = 1, steps: [Step]) {
    self.name = name
    self.share = share
    self.steps = steps
  }

  /// A promise that was broken while the script ran.
  package struct BrokenPromise: Error, CustomStringConvertible {
    package let description: String
  }

  /// The progress of a run: the states that may be found after a crash.
  package struct Progress {
    /// The content after each transaction that was begun; the first is the initial content.
    package var states: [Content]
    /// The index of the newest state that was acknowledged as durable.
    package var durable = 0
    /// The index of the newest state that was acknowledged at all.
    package var acknowledged = 0
    /// Whether the first open has returned, so that the database exists.
    package var isOpened = false
    /// States with a transaction that failed for lack of space, which may reappear until a later
    /// one is durable.
    package var ghosts: [Content] = []

    package init(from start: Content = [:]) { states = [start] }

    package var newest: Content { states[acknowledged] }

    package mutating func makeDurable() {
      durable = acknowledged
      ghosts = []
    }

    /// Whether a power cut now may leave this content.
    package func allows(_ content: Content) -> Bool {
      states[durable...].contains(content) || ghosts.contains(content)
    }
  }

  package static func options() -> Store.Options {
    var options = Store.Options()
    options.checkpointsInBackground = false
    options.nodeSize = 1024
    options.inlineValueLimit = 64
    options.writeBufferBudget = 65536
    // Every checkpoint releases as much space as possible, in blocks of a sector.
    options.punchingThreshold = 1
    return options
  }

  package static let path = "db"

  package static func open(
    _ volume: any Volume, _ mode: Store.OpenMode = .openOrCreate, at path: String = path,
    wholeCheckpoints: Int = 1
  ) throws(StoreError) -> Store {
    var options = options()
    options.wholeCheckpoints = wholeCheckpoints
    return try Store.open(
      at: path, on: volume, mode: mode, options: options,
      environment: Environment(
        now: { 1_700_000_000_000_000 }, random: { fileIDs.add(1, ordering: .relaxed).newValue }))
  }

  private static let fileIDs = Atomic<UInt64>(0)

  /// Runs the steps until one fails, and updates `progress`.
  package func run(on volume: SimulatedVolume, _ progress: inout Progress) throws {
    var process = 1
    var store = try CrashScript.open(volume.process(process))
    progress.isOpened = true
    for step in steps {
      switch step {
      case .transaction(let durability, let operations):
        try CrashScript.commit(operations, durability, to: store, &progress)
      case .sync:
        try store.sync()
        progress.makeDurable()
      case .checkpoint:
        try store.checkpoint()
        progress.makeDurable()
      case .compact(let meanwhile):
        try CrashScript.compact(store, meanwhile, &progress)
      case .reopen:
        try store.close()
        progress.makeDurable()
        store = try CrashScript.open(volume.process(process))
      case .kill:
        volume.kill(process: process)
        process += 1
        store = try CrashScript.open(volume.process(process))
        // A relaxed commit survives the end of the process.
        guard try store.content() == progress.newest else {
          throw BrokenPromise(description: "a commit is missing after the process was killed")
        }
      }
    }
    try store.close()
    progress.makeDurable()
  }

  /// Compacts, and commits transactions during the compaction. An error of a commit does not end
  /// the compaction; it is thrown afterwards.
  private static func compact(_ store: Store, _ meanwhile: [Step], _ progress: inout Progress) throws {
    var rest = meanwhile[...]
    var failure: (any Error)?
    var current = progress
    let result = Result {
      try store.compact { _ in
        guard failure == nil, case .transaction(let durability, let operations)? = rest.popFirst() else {
          return
        }
        do { try commit(operations, durability, to: store, &current) } catch { failure = error }
      }
    }
    progress = current
    if let failure { throw failure }
    _ = try result.get()
    progress.makeDurable()
  }

  package static func commit(
    _ operations: [Operation], _ durability: Durability, to store: Store, _ progress: inout Progress
  ) throws {
    progress.states.append(operations.reduce(into: progress.newest) { $1.apply(to: &$0) })
    try store.write(durability: durability) { transaction in
      for operation in operations { try operation.apply(to: transaction) }
    }
    progress.acknowledged = progress.states.count - 1
    if durability == .synchronous { progress.makeDurable() }
  }
}

extension CrashScript.Operation {
  package func apply(to transaction: Transaction) throws {
    switch self {
    case .put(let name, let key, let value): try transaction.put(key, value, in: transaction.keyspace(name))
    case .delete(let name, let key): try transaction.delete(key, in: transaction.keyspace(name))
    case .deleteRange(let name, let from, let to):
      try transaction.deleteRange(.between(from, to), in: transaction.keyspace(name))
    case .drop(let name): try transaction.dropKeyspace(transaction.keyspace(name))
    }
  }

  package func apply(to content: inout Content) {
    switch self {
    case .put(let name, let key, let value): content[name, default: [:]][key] = value
    case .delete(let name, let key): content[name, default: [:]][key] = nil
    case .deleteRange(let name, let from, let to):
      content[name, default: [:]] = content[name, default: [:]].filter {
        $0.key.isBefore(from) || !$0.key.isBefore(to)
      }
    case .drop(let name): content[name] = nil
    }
  }
}
