/// A document that a batch has changed, in its final state.
package struct DocumentChange: Sendable, Equatable {
  package enum Kind: Sendable, Equatable {
    /// A revision was added; it may lose against the winner.
    case saved
    /// The document, or a branch of it, was purged.
    case purged
    /// The document was purged because it had expired.
    case expired
  }

  package var id: String
  /// The sequence of the change; 0 if the document no longer exists.
  package var sequence: UInt64
  /// The winning revision; nil if the document no longer exists.
  package var revision: RevisionID?
  package var isDeleted: Bool
  package var hasConflicts: Bool
  package var kind: Kind
  /// The revision that the change added; nil if the document was purged, or if the change was read
  /// from the collection afterwards.
  package var added: RevisionID?
  /// Whether the added revision was created by another replica.
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
