import LatewoodDevice
import LatewoodStore

/// A collection of an open database: a handle, got by name, kept and used from any thread.
///
/// Once the collection has been dropped every use throws `notFound`, also when there is another of
/// the same name; and so it is if the batch that made it failed.
package final class DocumentCollection: Sendable {
  package static let defaultName = "_default"

  package let name: String
  package let identity: CollectionIdentity
  /// Nil: the batch that made the collection has failed. The numbers of its keyspaces are given out
  /// again.
  private let current: Guarded<CollectionSpaces?>
  private let knownIndexes = Guarded<KnownIndexes?>(nil)

  init(_ name: String, _ identity: CollectionIdentity, _ spaces: CollectionSpaces) {
    self.name = name
    self.identity = identity
    current = Guarded(spaces)
  }

  var spaces: CollectionSpaces {
    get throws(DocumentError) {
      guard let spaces = current.withLock({ $0 }) else { throw gone }
      return spaces
    }
  }

  var gone: DocumentError { DocumentError(.notFound, "the collection \(name) has been dropped") }

  /// The indexes as of a change of theirs that has been committed, looked up once.
  func indexes(
    at change: UInt64, _ load: () throws(DocumentError) -> [CollectionIndex]
  ) throws(DocumentError) -> [CollectionIndex] {
    if let known = knownIndexes.withLock({ $0 }), known.change == change { return known.indexes }
    let indexes = try load()
    knownIndexes.withLock { $0 = KnownIndexes(change: change, indexes: indexes) }
    return indexes
  }

  /// The batch that made it has failed.
  func abandon() { current.withLock { $0 = nil } }

  /// After another collection was dropped handles of keyspaces are looked up on every use, as those
  /// of a transaction are; new ones are not.
  func refresh(from store: Store) {
    knownIndexes.withLock { $0 = nil }
    do {
      let old = try spaces
      let fresh = try CollectionSpaces(name, in: HeldState(try store._reader()))
      guard fresh.documents == old.documents else { return }
      current.withLock { $0 = fresh }
    } catch {
      // The old ones do as well, and the next read says what is wrong.
    }
  }
}

private struct KnownIndexes {
  var change: UInt64
  var indexes: [CollectionIndex]
}
