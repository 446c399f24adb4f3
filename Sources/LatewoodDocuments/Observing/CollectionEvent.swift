/// The changes of one batch to one collection, or of several batches if `isComplete` is false; or
/// the end of a collection or the database. A document that a batch changed more than once is
/// listed once, at its last change.
package struct CollectionEvent: Sendable, Equatable {
  package enum Kind: Sendable, Equatable {
    case changed
    /// The collection was dropped.
    case dropped
    /// The database has been closed: this is the last event.
    case closed
  }

  package var kind: Kind
  /// The name of the collection; empty if the event is about the whole database and all collections
  /// are listened to.
  package var collection: String
  /// The changed documents in the order of their sequences; a purged document is listed at the
  /// position of its purge.
  package var changes: [DocumentChange] = []
  /// Whether `changes` lists all changed documents. If not, purged documents may be missing: the
  /// listener was so slow that its changes were read from the collection, or another process made
  /// them. Documents that were saved are listed nevertheless, at their latest change, unless the
  /// collection can no longer be read: then `changes` is empty.
  package var isComplete = true
  /// The last sequence that the collection had assigned after these changes; 0 if the event is not
  /// about changes.
  package var lastSequence: UInt64 = 0
}
