import LatewoodBytes
import LatewoodDevice
import LatewoodTree

/// A consistent state of the entire database, with all keyspaces, kept for the lifetime of the
/// snapshot.
///
/// Taking a snapshot costs next to nothing, regardless of the size of the database. An open one
/// keeps the space of its state and never blocks a writer. It may be used from any number of
/// threads.
public final class Snapshot: Readable, ReadGate, Sendable {
  private let engine: Engine
  private let version: VersionReference
  /// The newest transaction in the snapshot.
  public let transaction: UInt64

  init(_ engine: Engine, _ version: Version) {
    self.engine = engine
    transaction = version.transaction
    self.version = VersionReference(version, readers: engine.readers)
    engine.snapshots.add(self)
  }

  deinit { close() }

  /// Releases the state. Idempotent; also happens when the snapshot is deallocated.
  public func close() {
    if version.clear() { engine.snapshots.remove(self) }
  }

  public func _reader() throws(StoreError) -> Reader {
    do { return try currentReader() } catch { throw StoreError(error, path: engine.path) }
  }

  public func _begin() throws(StoreError) -> ShortRead {
    do {
      try engine.checkOpen()
      return try engine.begin({ version.load($0) }, otherwise: { closedFault })
    } catch {
      throw StoreError(error, path: engine.path)
    }
  }

  public func _find(
    _ key: UnsafeRawBufferPointer, in keyspace: Keyspace
  ) throws(StoreError) -> FoundValue {
    do {
      try engine.checkOpen()
      return try engine.find(key, in: keyspace, of: { version.load($0) }, otherwise: { closedFault })
    } catch {
      throw StoreError(error, path: engine.path)
    }
  }

  public func _end(_ ticket: ReadTicket) { ticket.registered.leave() }
  public var _path: String? { engine.path }

  func held() throws(Fault) -> Version {
    try engine.checkOpen()
    guard let version = version.held() else { throw closedFault }
    return version
  }

  /// The error for a read of a closed snapshot. A closing store also closes its snapshots, perhaps
  /// after a read has found the store open.
  private var closedFault: Fault {
    engine.isClosed
      ? Engine.closedFault : Fault(.snapshotClosed, "the snapshot has been closed")
  }

  func currentReader() throws(Fault) -> Reader {
    let version = try held()
    return Reader(owner: version, gate: self, state: engine.state(of: version))
  }

  func checkOpen() throws(Fault) {
    try engine.checkOpen()
    if version.isClear { throw closedFault }
  }

  var path: String? { engine.path }

  var changeCount: Int { 0 }
}

extension Store: Readable {
  /// Returns a snapshot of the newest commit.
  ///
  /// - Throws: ``StoreError`` `closed`.
  public func snapshot() throws -> Snapshot {
    do { return Snapshot(engine, try engine.versions.current()) } catch {
      throw StoreError(error, path: engine.path)
    }
  }

  public func _reader() throws(StoreError) -> Reader {
    do { return try engine.currentReader() } catch { throw StoreError(error, path: engine.path) }
  }

  public func _begin() throws(StoreError) -> ShortRead {
    do {
      return try engine.begin({ engine.loadVersion($0) }, otherwise: { Engine.closedFault })
    } catch {
      throw StoreError(error, path: engine.path)
    }
  }

  public func _find(
    _ key: UnsafeRawBufferPointer, in keyspace: Keyspace
  ) throws(StoreError) -> FoundValue {
    do {
      return try engine.find(
        key, in: keyspace, of: { engine.loadVersion($0) }, otherwise: { Engine.closedFault })
    } catch {
      throw StoreError(error, path: engine.path)
    }
  }

  public func _end(_ ticket: ReadTicket) { ticket.registered.leave() }
  public var _path: String? { engine.path }
}
