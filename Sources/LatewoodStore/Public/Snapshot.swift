import LatewoodBytes
import LatewoodDevice
import LatewoodTree

/// One state of the whole database, over all keyspaces, for as long as it is held.
///
/// Taking one costs next to nothing whatever the size of the database; holding one keeps what it can see, and never blocks a
/// writer. It may be used from any number of threads.
public final class Snapshot: Readable, ReadGate, Sendable {
  private let engine: Engine
  private let version: Guarded<Version?>
  /// The newest transaction that it shows.
  public let transaction: UInt64

  init(_ engine: Engine, _ version: Version) {
    self.engine = engine
    transaction = version.transaction
    self.version = Guarded(version)
    engine.snapshots.add(version.transaction)
  }

  deinit { close() }

  /// Lets go of the state. Idempotent; happens by itself when the last reference goes.
  public func close() {
    let old = version.withLock { version in
      defer { version = nil }
      return version
    }
    if let old { engine.snapshots.remove(old.transaction) }
  }

  public func _reader() throws(StoreError) -> Reader {
    do { return try currentReader() } catch { throw StoreError(error, path: engine.path) }
  }

  func held() throws(Fault) -> Version {
    if engine.closed.load(ordering: .relaxed) { throw Engine.closedFault }
    guard let version = version.withLock({ $0 }) else {
      throw Fault(.snapshotClosed, "the snapshot has been closed")
    }
    return version
  }

  func currentReader() throws(Fault) -> Reader {
    let version = try held()
    return Reader(
      owner: version, gate: self, view: version.reads, store: engine.identity, dropCount: version.dropCount)
  }

  func checkOpen() throws(Fault) { _ = try held() }

  var path: String? { engine.path }

  var changeCount: Int { 0 }
}

extension Store: Readable {
  /// Holds the newest commit.
  public func snapshot() throws(StoreError) -> Snapshot {
    do { return Snapshot(engine, try engine.current()) } catch { throw StoreError(error, path: engine.path) }
  }

  public func _reader() throws(StoreError) -> Reader {
    do { return try engine.currentReader() } catch { throw StoreError(error, path: engine.path) }
  }
}

extension Engine: ReadGate {
  func checkOpen() throws(Fault) {
    if closed.load(ordering: .relaxed) { throw Engine.closedFault }
  }

  var changeCount: Int { 0 }

  func currentReader() throws(Fault) -> Reader {
    let version = try current()
    return Reader(
      owner: version, gate: self, view: version.reads, store: identity, dropCount: version.dropCount)
  }
}
