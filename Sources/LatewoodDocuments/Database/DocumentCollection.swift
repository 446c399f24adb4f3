import LatewoodConcurrency
import LatewoodStore

/// A collection of an open database: a handle, looked up by name, that can be kept and used from
/// any thread.
///
/// Every use throws `notFound` once the collection has been dropped, even if another of the same
/// name exists, and also if the batch that created it failed.
package final class DocumentCollection: Sendable {
  package static let defaultName = "_default"

  package let name: String
  package let identity: CollectionIdentity
  /// Nil if the batch that created the collection has failed: the numbers of its keyspaces may then
  /// belong to others.
  private let current: Guarded<CollectionSpaces?>
  private let knownIndexes = Guarded<CollectionIndexes?>(nil)
  /// The key of its state.
  let stateKey: [UInt8]

  init(_ name: String, _ identity: CollectionIdentity, _ spaces: CollectionSpaces) {
    self.name = name
    self.identity = identity
    stateKey = Array(CollectionState.key(name).utf8)
    current = Guarded(spaces)
  }

  var spaces: CollectionSpaces {
    get throws(DocumentError) {
      guard let spaces = current.withLock({ $0 }) else { throw gone }
      return spaces
    }
  }

  var gone: DocumentError { DocumentError(.notFound, "the collection \(name) has been dropped") }

  /// Returns the indexes as of a committed change to them; loads them once per change.
  func indexes(
    at change: UInt64, _ load: () throws(DocumentError) -> [CollectionIndex]
  ) throws(DocumentError) -> CollectionIndexes {
    if let known = knownIndexes.withLock({ $0 }), known.change == change { return known }
    let indexes = CollectionIndexes(try load(), change: change)
    knownIndexes.withLock { $0 = indexes }
    return indexes
  }

  /// Invalidates the handle: the batch that created the collection has failed.
  func abandon() { current.withLock { $0 = nil } }

  /// Looks the keyspaces up again after another collection was dropped. Until then the old handles
  /// are looked up on every use.
  func refresh(from store: Store) {
    knownIndexes.withLock { $0 = nil }
    do {
      let old = try spaces
      let fresh = try CollectionSpaces(name, in: store.held())
      guard fresh.documents == old.documents else { return }
      current.withLock { $0 = fresh }
    } catch {
      // The old handles still work, and the next read reports the error.
    }
  }
}
