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

  init(_ all: [CollectionIndex], change: UInt64) {
    self.change = change
    self.all = all
    ready = all.filter(\.isUsable)
  }
}
