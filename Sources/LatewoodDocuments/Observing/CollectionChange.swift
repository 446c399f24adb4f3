/// The documents that a commit changed in one collection.
public struct CollectionChange: Sendable, Equatable {
  /// The reason why a document is listed.
  public enum Reason: Sendable, Equatable {
    /// A revision was saved. It may be a deletion, or may have lost to the current revision.
    case saved
    /// The document, or a branch of it, was purged.
    case purged
    /// The document was purged because it had expired.
    case expired
  }

  /// One document, as the commit left it.
  public struct Entry: Sendable, Equatable {
    /// The id of the document.
    public let id: String
    /// The sequence of the change; nil if the document is gone.
    public let sequence: UInt64?
    /// The current revision; nil if the document is gone.
    package let revision: RevisionID?
    /// Whether the current revision deletes the document.
    public let isDeleted: Bool
    /// Whether other revisions are waiting to be merged with the current one.
    public let hasConflicts: Bool
    /// The reason why the document is listed.
    public let reason: Reason
    /// The revision that the change added: see `addedRevisionID`.
    package let added: RevisionID?
    /// Whether the added revision was made by another replica and inserted here.
    public let isFromReplica: Bool

    /// The id of the current revision; nil if the document is gone.
    public var revisionID: String? { revision?.description }
    /// The id of the revision that the change added. If it lost, it is not the current revision. If
    /// the commit added several, this is the last. Nil if the reason is not `saved`; if the change
    /// added only ancestors or the content of a known revision; or if it was read from the
    /// collection afterwards (``CollectionChange/isComplete``).
    public var addedRevisionID: String? { added?.description }

    init(_ entry: SequenceEntry, _ reason: Reason, added: RevisionID? = nil, isFromReplica: Bool = false) {
      id = entry.id
      sequence = entry.sequence
      revision = entry.revision
      isDeleted = entry.isDeleted
      hasConflicts = entry.hasConflicts
      self.reason = reason
      self.added = added
      self.isFromReplica = isFromReplica
    }

    init(gone id: String, _ reason: Reason) {
      self.id = id
      sequence = nil
      revision = nil
      isDeleted = false
      hasConflicts = false
      self.reason = reason
      added = nil
      isFromReplica = false
    }
  }

  package enum Kind: Sendable, Equatable {
    case changed
    /// The collection was dropped.
    case dropped
    /// The database has been closed: nothing follows.
    case closed
  }

  package let kind: Kind
  /// The name of the collection.
  public let collection: String
  /// The changed documents in the order of the changes, each once. Empty if `isDropped`.
  public internal(set) var entries: [Entry] = []
  /// Whether `entries` lists all changed documents. If not, purged documents may be missing.
  ///
  /// It is false if the entries were read from the collection afterwards, because more than 4,096
  /// documents were waiting for a slow handler, or because another process made the changes. The
  /// entries then cover several commits, with each document at its latest change and the reason
  /// `saved`. The list is empty if the collection could not be read.
  public internal(set) var isComplete = true
  /// The last sequence that the collection had assigned after these changes; 0 if nothing changed.
  var lastSequence: UInt64 = 0

  /// Whether the collection was dropped.
  public var isDropped: Bool { kind == .dropped }
}
