import LatewoodConcurrency
import LatewoodStore

/// A collection of an open database: a handle, looked up by name, that can be kept and used from
/// any thread.
///
/// Every use throws `notFound` once the collection has been dropped, even if another one with the
/// same name exists, and also if the batch that created it failed.
package final class CollectionHandle: Sendable {
  package static let defaultName = "_default"

  package let name: String
  package let identity: CollectionIdentity
  /// Nil if the batch that created the collection failed: the numbers of its keyspaces may then be
  /// reused.
  private let current: Guarded<CollectionSpaces?>
  private let known = Guarded(Known())

  private struct Known {
    /// The indexes after the latest change that was noticed.
    var indexes: CollectionIndexes?
    /// The number of a version of the store that has these indexes; nil if no such version is
    /// known.
    var version: UInt64?
    /// The time at which the first document expires in that version, in seconds since 1970; nil if
    /// unknown, `.max` if no document expires.
    var firstExpiry: UInt64?
    /// The running totals of fields of indexes in that version.
    var totals: [IndexTotals.Field: IndexTotals.Knowledge] = [:]
  }

  /// The key of the collection's state.
  let stateKey: [UInt8]

  init(_ name: String, _ identity: CollectionIdentity, _ spaces: CollectionSpaces) {
    self.name = name
    self.identity = identity
    stateKey = Array(CollectionState.key(name).utf8)
    current = Guarded(spaces)
  }

  var spaces: CollectionSpaces {
    get throws(DatabaseError) {
      guard let spaces = current.withLock({ $0 }) else { throw gone }
      return spaces
    }
  }

  var gone: DatabaseError { DatabaseError(.notFound, "the collection \(name) has been dropped") }

  /// Returns the indexes as of a committed change to them; loads them once per change.
  func indexes(
    at change: UInt64, _ load: () throws(DatabaseError) -> CollectionIndexes
  ) throws(DatabaseError) -> CollectionIndexes {
    if let known = known.withLock({ $0.indexes }), known.change == change { return known }
    let indexes = try load()
    known.withLock { $0 = Known(indexes: indexes) }
    return indexes
  }

  /// Returns the indexes in a version of the store; nil if they have to be loaded.
  func indexes(inVersion version: UInt64) -> CollectionIndexes? {
    known.withLock { $0.version == version ? $0.indexes : nil }
  }

  /// Keeps the indexes of a version for later reads.
  func keep(_ indexes: CollectionIndexes, ofVersion version: UInt64) {
    known.withLock { $0 = Known(indexes: indexes, version: version) }
  }

  /// Returns the time at which the first document expires in a version of the store, in seconds
  /// since 1970, `.max` if no document expires; nil if it has to be read.
  func firstExpiry(inVersion version: UInt64) -> UInt64? {
    known.withLock { $0.version == version ? $0.firstExpiry : nil }
  }

  /// Keeps the time at which the first document expires in a version, if its indexes are kept.
  func keep(firstExpiry: UInt64, ofVersion version: UInt64) {
    known.withLock { if $0.version == version { $0.firstExpiry = firstExpiry } }
  }

  /// Returns the knowledge about the totals of a field of an index in a version; nil if no facts
  /// are kept for that version.
  func totals(of field: IndexTotals.Field, inVersion version: UInt64) -> IndexTotals.Knowledge? {
    known.withLock { $0.version == version ? $0.totals[field] ?? .read(entries: 0) : nil }
  }

  /// Keeps the knowledge about the totals of a field of an index in a version, if the indexes of
  /// that version are kept.
  func keep(
    _ totals: IndexTotals.Knowledge, of field: IndexTotals.Field, inVersion version: UInt64
  ) {
    known.withLock { if $0.version == version { $0.totals[field] = totals } }
  }

  /// Invalidates the handle: the batch that created the collection has failed.
  func abandon() { current.withLock { $0 = nil } }
}
