import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice
import LatewoodTree

/// A consistent state of the entire database, with all keyspaces, kept for the lifetime of the
/// snapshot.
///
/// Taking a snapshot costs next to nothing, regardless of the size of the database. An open
/// snapshot keeps the space of its state and never blocks a writer. It may be used from any number
/// of threads.
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

  /// The basis of the methods that read a range or the catalog of keyspaces.
  public var readOrigin: ReadOrigin { ReadOrigin(self) }

  /// Looks up a key for ``get(_:in:)``, ``withValue(_:in:_:)`` and ``contains(_:in:)``, which also
  /// end the read: programs call those. O(log n).
  ///
  /// - Throws: ``StoreError`` like all reads.
  public func find(
    _ key: UnsafeRawBufferPointer, in keyspace: Keyspace
  ) throws(StoreError) -> ValueInPlace {
    do {
      try engine.checkOpen()
      return try engine.find(key, in: keyspace, of: { version.load($0) }, otherwise: { closedError })
    } catch {
      throw StoreError(error, path: engine.path)
    }
  }

  func held() throws(StorageError) -> Version {
    try engine.checkOpen()
    guard let version = version.held() else { throw closedError }
    return version
  }

  /// The error for a read of a closed snapshot. A closing store also closes its snapshots, perhaps
  /// after a read has already found the store open.
  private var closedError: StorageError {
    engine.isClosed
      ? Engine.closedError : StorageError(.snapshotClosed, "the snapshot has been closed")
  }

  func currentReader() throws(StorageError) -> Reader {
    let version = try held()
    return Reader(owner: version, gate: self, state: engine.state(of: version))
  }

  func beginRead() throws(StorageError) -> ShortRead {
    try engine.checkOpen()
    return try engine.beginRead({ version.load($0) }, otherwise: { closedError })
  }

  func checkOpen() throws(StorageError) {
    try engine.checkOpen()
    if version.isClear { throw closedError }
  }

  var path: String? { engine.path }

  var changeCount: Int { 0 }
}

/// A key whose value differs between two states.
public struct Change: Sendable, Equatable {
  /// The key whose value differs.
  public var key: [UInt8]
  /// The value in the older state; nil if that state does not contain the key.
  public var old: [UInt8]?
  /// The value in the newer state; nil if that state does not contain the key.
  public var new: [UInt8]?
}

extension Snapshot {
  /// Calls `body` with each key of a keyspace whose value differs between this snapshot and another
  /// one of the store, in key order, until `body` returns false.
  ///
  /// Parts of the tree that both states share are skipped unread. O(changes x log n).
  ///
  /// - Parameters:
  ///   - older: the state to compare with; it need not be the older one.
  ///   - keyspace: the keyspace to compare.
  ///   - body: receives a change, and returns whether to continue.
  /// - Throws: errors of `body`; ``StoreError`` `invalidRange` if the snapshots are of different
  ///   stores, `snapshotClosed`, `closed`, `noSuchKeyspace`, `damaged`.
  public func changes(
    since older: Snapshot, in keyspace: Keyspace, _ body: (Change) throws -> Bool
  ) throws {
    let new = try reader()
    let old = try older.reader()
    guard new.state.store == old.state.store else {
      throw StoreError(.invalidRange, "the two snapshots are of different stores")
    }
    do {
      try new.state.check(keyspace)
      let (low, high) = KeyRange.all.fullKeys(in: keyspace.id)
      // `body` may close the snapshots.
      try withExtendedLifetime((old, new)) {
        try ReadView.differences(from: old.state.view, to: new.state.view, low: low, high: high) {
          key, before, after in
          try body(
            Change(
              key: try FullKey.rest(of: key), old: before.map { Array($0) },
              new: after.map { Array($0) }))
        }
      }
    } catch let error as StorageError {
      throw StoreError(error, path: new.path)
    }
  }
}

/// The open snapshots of a store, for its statistics and for closing them with the store.
///
/// Thread safety: all methods may be called from any thread.
final class SnapshotRegistry: Sendable {
  private struct Entry {
    let transaction: UInt64
    weak var snapshot: Snapshot?
  }
  private let entries = Guarded<[ObjectIdentifier: Entry]>([:])

  func add(_ snapshot: Snapshot) {
    entries.withLock {
      $0[ObjectIdentifier(snapshot)] = Entry(transaction: snapshot.transaction, snapshot: snapshot)
    }
  }

  func remove(_ snapshot: Snapshot) { entries.withLock { $0[ObjectIdentifier(snapshot)] = nil } }

  /// Closes all open snapshots. Otherwise an unused snapshot would keep space of the file occupied
  /// although its store is closed.
  func closeAll() {
    // Outside the lock: each snapshot removes itself, and the last reference to one may be released
    // here.
    for snapshot in entries.withLock({ $0.values.compactMap(\.snapshot) }) { snapshot.close() }
  }

  /// The number of open snapshots, and the transaction of the oldest.
  var summary: (count: Int, oldest: UInt64?) {
    entries.withLock { ($0.count, $0.values.map(\.transaction).min()) }
  }
}
