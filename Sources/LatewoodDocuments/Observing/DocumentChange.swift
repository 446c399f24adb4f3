/// A document that a batch has changed, as the batch left it.
package struct DocumentChange: Sendable, Equatable {
  package enum Kind: Sendable, Equatable {
    /// A revision came: also one that loses against the winner.
    case saved
    /// It, or a branch of it, was purged.
    case purged
    /// It was purged because its time had come.
    case expired
  }

  package var id: String
  /// Of the change; 0 if the document is gone.
  package var sequence: UInt64
  /// The winner; nil if the document is gone.
  package var revision: RevisionID?
  package var isDeleted: Bool
  package var hasConflicts: Bool
  package var kind: Kind

  init(_ entry: SequenceEntry, _ kind: Kind) {
    id = entry.id
    sequence = entry.sequence
    revision = entry.revision
    isDeleted = entry.isDeleted
    hasConflicts = entry.hasConflicts
    self.kind = kind
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

/// What one batch has done to one collection, or several of them where `isComplete` is false, or
/// what has become of it. A document that a batch changed more than once is told of once, at its
/// last change.
package struct CollectionEvent: Sendable, Equatable {
  package enum Kind: Sendable, Equatable {
    case changed
    /// The collection is gone.
    case dropped
    /// The database has been closed: no event comes after this one.
    case closed
  }

  package var kind: Kind
  /// Its name; empty where the event is about the whole database and all collections were observed.
  package var collection: String
  /// In the order of their sequences, those that are gone where they went.
  package var changes: [DocumentChange] = []
  /// Whether `changes` has all documents that were changed. If not, some may have been purged that
  /// are not in it: the observer was so slow that what it missed was read from the collection, or
  /// another process has made the changes. What was saved since is in it all the same, at its
  /// latest change; only where the collection cannot be read any more it is empty.
  package var isComplete = true
}
