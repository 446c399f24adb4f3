import LatewoodDocuments
import LatewoodReplicator

extension Replicator {
  /// The state and progress of a replicator.
  public struct Status: Sendable, Equatable {
    /// The states of a replicator.
    public typealias Activity = ReplicationActivity

    /// The state.
    public var activity = Activity.stopped
    /// The progress of the pulls since the start of the run.
    public var pulled = Progress()
    /// The progress of the pushes since the start of the run.
    public var pushed = Progress()
    /// The error that made the replicator wait or stop; nil if there is none.
    public var error: ReplicationError?

    /// Creates the status of a replicator that has not been run.
    public init() {}
  }

  /// The work done in one direction, and the work left.
  public struct Progress: Sendable, Equatable {
    /// The number of revisions that the target has received.
    public var revisions = 0
    /// The number of bytes of their content and attachments.
    public var bytes: UInt64 = 0
    /// The number of changes that were compared.
    public var compared = 0
    /// The number of changes that are still to be compared; nil if it is not known. Their bytes are
    /// not known before they are read.
    public var remaining: Int?
    /// The number of revisions that cannot be transferred.
    public var refused = 0

    /// Creates the progress of a run that has not begun.
    public init() {}
  }

  /// A revision that could not be transferred, or a conflict that could not be resolved.
  ///
  /// Such a revision does not stop the replication. It is passed over until the document is
  /// edited: the edit is then transferred, if it is acceptable. Revisions that a lost connection
  /// has held up are not reported, because they are sent again.
  public struct DocumentFailure: Sendable, Equatable {
    /// The kinds of failures. Minor versions may add kinds.
    public enum Kind: String, Sendable, CaseIterable {
      /// The target forbids it, as CouchDB's validation functions do.
      case forbidden
      /// The target asks for other credentials.
      case unauthorized
      /// The document or an attachment is too large for the target.
      case tooLarge
      /// The id or the content has a form that the target does not store.
      case unacceptable
      /// The target failed with this document, and may not fail again.
      case failed
      /// The revision has been pulled, but the resolver failed, so the conflict remains.
      case unresolved
    }

    /// The name of the collection of this process.
    public let collection: String
    /// The id of the document.
    public let id: String
    /// The id of the revision.
    public let revisionID: String
    /// Push or pull.
    public let direction: Direction
    /// The kind.
    public let kind: Kind
    /// The description of the problem, in one sentence.
    public let message: String
    /// Whether the replicator tries again by itself. False for all kinds so far: edit the document,
    /// or run a replicator with a filter of another version.
    public var isRetried: Bool { false }
  }

  /// The result of a run.
  public struct Summary: Sendable, Equatable {
    /// The progress of the pulls.
    public let pulled: Progress
    /// The progress of the pushes.
    public let pushed: Progress
    /// The first 100 of the revisions that could not be transferred.
    public let failures: [DocumentFailure]
    /// The time from the start to the end of the run.
    public let duration: Duration
  }
}

extension Replicator.Progress {
  mutating func add(_ status: ReplicationStatus) {
    revisions += status.written
    bytes += status.bytes
    compared += status.compared
    refused += status.failures
    if let pending = status.pending { remaining = (remaining ?? 0) + pending }
  }
}

extension Replicator.DocumentFailure.Kind {
  init(_ kind: InsertOutcome.Refusal.Kind) {
    self =
      switch kind {
      case .forbidden: .forbidden
      case .unauthorized: .unauthorized
      case .tooLarge: .tooLarge
      case .unacceptable: .unacceptable
      case .failed: .failed
      }
  }
}
