import LatewoodStore

/// A state of all collections, pinned for the lifetime of this object. Thread-safe.
package final class DocumentSnapshot: Sendable {
  let snapshot: Snapshot
  let core: DocumentCore
  /// The time of the snapshot: documents that expire later stay visible.
  private let now: UInt64

  init(_ snapshot: Snapshot, _ core: DocumentCore) {
    self.snapshot = snapshot
    self.core = core
    now = core.now
  }

  package func reads(_ collection: CollectionHandle) throws(DatabaseError) -> DocumentReads {
    try DocumentReads(.snapshot(snapshot), collection, now: now)
  }

  package func collectionNames() throws(DatabaseError) -> [String] {
    try core.collectionNames(in: snapshot)
  }

  /// Releases the state. Idempotent; also happens when the object is deallocated.
  package func close() { snapshot.close() }
}
