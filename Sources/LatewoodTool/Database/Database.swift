import LatewoodConcurrency
import LatewoodDevice
import LatewoodStore

/// A database that a command has opened, and its keyspaces by name.
struct Database {
  static let defaultKeyspace = "default"

  let store: Store
  let path: String

  /// Opens a database read-only, which is possible while another process writes.
  static func reading(_ arguments: Arguments) throws -> Database {
    try open(arguments, .readOnly)
  }

  static func reading(_ path: String) throws -> Database { try open(path: path, .readOnly) }

  /// Opens a database read-only, without a mapping, so that a block that the disk cannot read
  /// causes an error and does not end the process.
  static func inspecting(
    _ path: String, on volume: any Volume = FileVolume(), expecting expected: StateAnchor? = nil
  ) throws -> Database {
    var options = Store.Options()
    options.expectedAnchor = expected
    options.compaction = .manual
    options.reading = .buffered(cacheBytes: 64 << 20)
    options.setKey()
    let store = try Store.open(
      at: path, on: volume, mode: .readOnly, options: options, environment: .system)
    return Database(store: store, path: path)
  }

  static func open(_ arguments: Arguments, _ mode: Store.OpenMode) throws -> Database {
    try open(path: try arguments.text(0), mode, waiting: try arguments.lockTimeout())
  }

  static func open(
    path: String, _ mode: Store.OpenMode, waiting timeout: Duration = .zero, suite: CipherSuite = .aes256,
    expecting expected: StateAnchor? = nil
  ) throws -> Database {
    var options = Store.Options()
    options.expectedAnchor = expected
    options.lockTimeout = timeout
    options.setKey()
    options.cipherSuite = suite
    // Commands are short, and leave compactions to `latewood compact`, unless the file gets too
    // large.
    options.compaction = .manual
    options.keepsBoundsWhenClosed = true
    return Database(store: try Store.open(at: path, mode: mode, options: options), path: path)
  }

  /// Runs `body` and closes the database. An error of `body` takes precedence over an error of
  /// closing.
  func closing<R>(_ body: (Database) throws -> R) throws -> R {
    let result: R
    do { result = try body(self) } catch {
      do { try store.close() } catch {}
      throw error
    }
    try store.close()
    return result
  }

  static func keyspaceName(_ arguments: Arguments) throws -> String {
    try arguments.text(of: .keyspace) ?? defaultKeyspace
  }

  /// Returns the keyspace named by the arguments, which must exist.
  func keyspace(_ arguments: Arguments) throws -> Keyspace {
    let name = try Self.keyspaceName(arguments)
    if let keyspace = try store.existingKeyspace(name) { return keyspace }
    let names = try store.keyspaces().map(\.name).filter { $0 != ImportRecord.keyspaceName }
    let advice =
      try holdsDocuments()
      ? "The file holds documents: `latewood doc list` lists them, `latewood doc get` prints one, "
        + "`latewood doc delete` deletes one, and `latewood export --documents` writes them all out."
      : names.isEmpty
        ? "The database has no keyspaces yet; `latewood put` and `latewood import` make them."
        : "There are: \(Self.shownList(names)). Choose one with --keyspace."
    throw Failure(
      .no, code: "noSuchKeyspace", "no keyspace is named \(KeyText.shown(name.utf8))", advice: advice,
      path: path)
  }

  /// Returns the state selected by the arguments: the newest, or the state of `--as-of`.
  func snapshot(_ arguments: Arguments) throws -> Snapshot {
    guard let transaction = try arguments.number(of: .asOf) else { return try newest() }
    return try snapshot(after: transaction)
  }

  /// Returns a snapshot of the newest commit.
  func newest() throws -> Snapshot {
    try store.snapshot()
  }

  /// Returns the state of a checkpoint.
  func snapshot(after transaction: UInt64) throws -> Snapshot {
    guard let checkpoint = try store.history().first(where: { $0.transaction == transaction }) else {
      throw Failure(
        .no, code: "noSuchCheckpoint", "no checkpoint holds the state after transaction \(transaction)",
        advice: "`latewood history` lists those that the file has.", path: path)
    }
    return try store.snapshot(asOf: checkpoint)
  }

  private static func shownList(_ names: [String]) -> String {
    let shown = names.prefix(8).map { KeyText.shown($0.utf8) }.joined(separator: ", ")
    return names.count > 8 ? "\(shown) and \(names.count - 8) more" : shown
  }
}
