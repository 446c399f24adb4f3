import LatewoodDevice
import LatewoodStore

/// A collection of an open database: a handle, got by name, kept and used from any thread.
///
/// Once the collection has been dropped every use throws `notFound`, also when there is another of the same name.
package final class DocumentCollection: Sendable {
  package static let defaultName = "_default"

  package let name: String
  private let current: Guarded<CollectionSpaces>

  init(_ name: String, _ spaces: CollectionSpaces) {
    self.name = name
    current = Guarded(spaces)
  }

  var spaces: CollectionSpaces { current.withLock { $0 } }

  /// After another collection was dropped handles of keyspaces are looked up on every use; new ones are not.
  func refresh(from store: Store) throws(StoreError) {
    let old = spaces
    guard let documents = try store.existingKeyspace(old.documents.name), documents == old.documents else {
      return
    }
    let fresh = try CollectionSpaces(name) { (name) throws(StoreError) in try store.keyspace(name) }
    current.withLock { $0 = fresh }
  }
}
