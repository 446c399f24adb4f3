/// A document that a batch has changed, as the batch left it.
package struct DocumentChange: Sendable, Equatable {
  package enum Kind: Sendable, Equatable {
    /// A revision was added, possibly one that loses against the winner.
    case saved
    /// The document, or a branch of it, was purged.
    case purged
    /// The document was purged because it had expired.
    case expired
  }

  package var id: String
  /// The sequence of the change; 0 if the document is gone.
  package var sequence: UInt64
  /// The winning revision; nil if the document is gone.
  package var revision: RevisionID?
  package var isDeleted: Bool
  package var hasConflicts: Bool
  package var kind: Kind
  /// The revision that the change added; nil if the document was purged, or if the change was read
  /// from the collection afterwards.
  package var added: RevisionID?
  /// Whether the added revision was made by another replica.
  package var isFromReplica = false

  init(_ entry: SequenceEntry, _ kind: Kind, added: RevisionID? = nil, isFromReplica: Bool = false) {
    id = entry.id
    sequence = entry.sequence
    revision = entry.revision
    isDeleted = entry.isDeleted
    hasConflicts = entry.hasConflicts
    self.kind = kind
    self.added = added
    self.isFromReplica = isFromReplica
  }

  init(gone id: String, _ kind: Kind) {
    self.id = id
    sequence = 0
    revision = nil
    isDeleted = false
    hasConflicts = false
    self.kind = kind
  }
}

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
  /// The changed documents in the order of their sequences; purged ones stand where they were
  /// purged.
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
