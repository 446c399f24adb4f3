import LatewoodBytes
import LatewoodTree

/// A key whose value differs between two states.
public struct Change: Sendable, Equatable {
  /// The key whose value differs.
  public var key: [UInt8]
  /// The value in the older state; nil if it does not have the key.
  public var old: [UInt8]?
  /// The value in the newer state; nil if it does not have the key.
  public var new: [UInt8]?
}

extension Snapshot {
  /// Calls `body` with each key of a keyspace whose value differs from that in another snapshot of
  /// the store, in key order, until `body` returns false.
  ///
  /// Parts of the tree that both states share are skipped unread. O(changes x log n).
  ///
  /// - Parameters:
  ///   - older: the state to compare with; it need not be the older one.
  ///   - keyspace: the keyspace to compare.
  ///   - body: takes a change, and returns whether to continue.
  /// - Throws: errors of `body`; ``StoreError`` `invalidRange` if the snapshots are of different
  ///   stores, `snapshotClosed`, `closed`, `noSuchKeyspace`, `damaged`.
  public func changes(
    since older: Snapshot, in keyspace: Keyspace, _ body: (Change) throws -> Bool
  ) throws {
    let new = try _reader()
    let old = try older._reader()
    guard new.state.store == old.state.store else {
      throw StoreError(.invalidRange, "the two snapshots are of different stores")
    }
    do {
      try new.state.check(keyspace)
      let (low, high) = KeyRange.all.fullKeys(in: keyspace.id)
      // The body may close the snapshots.
      try withExtendedLifetime((old, new)) {
        try ReadView.differences(from: old.state.view, to: new.state.view, low: low, high: high) {
          key, before, after in
          try body(
            Change(
              key: try FullKey.rest(of: key), old: before.map { Array($0) },
              new: after.map { Array($0) }))
        }
      }
    } catch let fault as Fault {
      throw StoreError(fault, path: new.path)
    }
  }
}
