import LatewoodDocuments

/// What a replication, or a replicator that consists of several, does at a moment.
public enum ReplicationActivity: Sendable, Equatable {
  /// It connects, and looks for the change to start after.
  case connecting
  /// It transfers documents.
  case busy
  /// It has transferred everything, and waits for changes.
  case idle
  /// The other side cannot be reached. It waits, and tries again.
  case offline
  /// It is not running.
  case stopped
}

/// The state of one replication.
package struct ReplicationStatus: Sendable, Equatable {
  package typealias Activity = ReplicationActivity

  package var activity = Activity.connecting
  /// The number of revisions that the target has received.
  package var written = 0
  /// The number of bytes of their bodies, and of the contents of attachments with a known length.
  package var bytes: UInt64 = 0
  /// The number of changes that were compared.
  package var compared = 0
  /// The sequence in the source that the checkpoints of both sides contain; nil before it is known.
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
