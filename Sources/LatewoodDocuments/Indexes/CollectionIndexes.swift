import LatewoodStore

/// The indexes of a collection between two index changes.
///
/// All reads share one object until an index is created, completed or dropped, so anything derived
/// from it stays valid while the object is the same.
final class CollectionIndexes: Sendable {
  /// The number of earlier index changes.
  let change: UInt64
  /// All indexes, by name.
  let all: [CollectionIndex]
  /// The indexes that queries may use.
  let ready: [CollectionIndex]
  /// The full-text indexes, by name.
  let texts: [CollectionText]

  init(_ all: [CollectionIndex] = [], texts: [CollectionText] = [], change: UInt64) {
    self.change = change
    self.all = all
    self.texts = texts
    ready = all.filter(\.isUsable)
  }

  /// Loads all indexes of a collection in a state.
  convenience init(
    of collection: String, at change: UInt64, in database: Keyspace, _ source: some Readable
  ) throws(DatabaseError) {
    self.init(
      try CollectionIndex.load(of: collection, in: database, source),
      texts: try CollectionText.load(of: collection, in: database, source), change: change)
  }
}
