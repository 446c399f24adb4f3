import LatewoodConcurrency
import LatewoodDevice
import LatewoodSimulation
import LatewoodStore

/// A store and the model of its expected content, driven by the same operations.
///
/// Clock and random numbers are deterministic, and nothing runs in the background, so the same
/// calls write the same bytes.
final class ModelledStore {
  static let path = "golden.latewood"

  let volume: any Volume
  let path: String
  let options: Store.Options
  private(set) var store: Store
  private(set) var model = KeyspaceModel()
  private let environment: Environment

  init(
    _ options: Store.Options = Store.Options(), seed: UInt64 = 1, on volume: any Volume = MemoryVolume(),
    path: String = ModelledStore.path
  ) throws {
    var options = options
    options.checkpointsInBackground = false
    self.options = options
    self.volume = volume
    self.path = path
    environment = ModelledStore.environment(seed: seed)
    store = try Store.open(
      at: path, on: volume, mode: .createNew, options: options, environment: environment)
  }

  /// An environment whose clock starts at 2024-01-01 and advances a second with each reading.
  static func environment(seed: UInt64) -> Environment {
    let seconds = Guarded<UInt64>(1_704_067_200)
    let random = Guarded(SeededRandom(seed: seed))
    return Environment(
      now: {
        seconds.withLock { seconds in
          seconds += 1
          return seconds * 1_000_000
        }
      },
      random: { random.withLock { $0.next() } })
  }

  /// Advances a clock by the three readings for each collection that opening a database took when
  /// the golden files were first written, so that their times stay the same.
  static func skipReadings(of environment: Environment, collections: Int) {
    for _ in 0..<3 * collections { _ = environment.now() }
  }

  /// The bytes of the file now.
  func bytes() throws -> [UInt8] { try Repository.read(volume, path) }

  /// Runs the operations as one transaction.
  func commit(_ operations: [Operation]) throws {
    try store.write { transaction in
      for operation in operations { try Self.run(operation, in: transaction) }
    }
    for operation in operations { model.apply(operation) }
  }

  func commit(_ operations: Operation...) throws { try commit(operations) }

  private struct Changed: Error {}

  /// Runs the operations as one transaction that is then aborted.
  func abort(_ operations: [Operation]) throws {
    do {
      try store.write { transaction in
        for operation in operations { try Self.run(operation, in: transaction) }
        throw Changed()
      }
    } catch is Changed {}
  }

  private static func run(_ operation: Operation, in transaction: Transaction) throws {
    switch operation {
    case .create(let name): _ = try transaction.keyspace(name)
    case .drop(let name): try transaction.dropKeyspace(transaction.keyspace(name))
    case .put(let name, let key, let value):
      try transaction.put(key, value, in: transaction.keyspace(name))
    case .delete(let name, let key): try transaction.delete(key, in: transaction.keyspace(name))
    case .deleteRange(let name, let low, let high):
      try transaction.deleteRange(.between(low, high), in: transaction.keyspace(name))
    }
  }

  func checkpoint() throws { try store.checkpoint() }
  func compact() throws { try store.compact() }
  func close() throws { try store.close() }

  /// Replaces the bytes of the file, as a power cut would, and opens it again.
  func reopen(after change: (inout [UInt8]) -> Void = { _ in }) throws {
    var left = try bytes()
    try store.close()
    change(&left)
    try Repository.write(left, to: path, on: volume)
    store = try Store.open(
      at: path, on: volume, mode: .openExisting, options: options, environment: environment)
  }
}

extension Store {
  /// The listing of the store, in the form of `KeyspaceModel.listing`.
  func listing() throws -> String {
    var lines = Listing()
    for keyspace in try keyspaces() {
      lines.add(keyspace: keyspace.name, number: keyspace.id, entries: try count(in: keyspace))
      try forEach(in: keyspace) { key, value in
        lines.add(key: key.withUnsafeBytes { Array($0) }, value: value.withUnsafeBytes { Array($0) })
        return true
      }
    }
    return lines.text
  }
}
