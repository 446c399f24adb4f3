import LatewoodDocuments

/// The state of one replication.
package struct ReplicationStatus: Sendable, Equatable {
  package enum Activity: Sendable, Equatable {
    /// It finds its place.
    case connecting
    /// Documents are on their way.
    case busy
    /// It has transferred everything, and waits for changes.
    case idle
    /// The other side could not be reached: it waits before it tries again.
    case offline
    case stopped
  }

  package var activity = Activity.connecting
  /// The number of revisions that the target has got.
  package var written = 0
  /// The number of bytes of their bodies, and of the contents of attachments as far as known.
  package var bytes: UInt64 = 0
  /// The number of changes that were compared.
  package var compared = 0
  /// The place in the source up to which both sides have kept that everything was transferred; nil
  /// before it is known.
  package var keptPlace: PeerSequence?
  /// The number of changes that are still to be compared; nil if it is not known.
  package var pending: Int?
  /// The number of revisions that could not be transferred.
  package var failures = 0
  /// The latest error, while the replication waits to try again or after it has stopped.
  package var error: ReplicationError?

  package init() {}
}

/// A revision that could not be transferred.
package struct ReplicationFailure: Sendable, Equatable {
  package var id: String
  package var revision: RevisionID
  package var reason: InsertOutcome.Refusal
}
