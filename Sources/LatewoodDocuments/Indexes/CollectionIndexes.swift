/// The indexes of a collection between two changes of them.
///
/// All reads share one object until an index is created, made ready or dropped. So what was derived
/// from it holds as long as the object is the same.
final class CollectionIndexes: Sendable {
  /// The number of changes of indexes before.
  let change: UInt64
  /// All indexes, by name.
  let all: [CollectionIndex]
  /// The indexes that queries may use.
  let ready: [CollectionIndex]

  init(_ all: [CollectionIndex], change: UInt64) {
    self.change = change
    self.all = all
    ready = all.filter(\.isReady)
  }
}
