import Latewood
import LatewoodDocuments
import LatewoodQuery
import LatewoodReplicator

extension Replicator {
  /// The direction of a replication, as seen from the collection of this process.
  public enum Direction: Sendable, Equatable {
    /// From this process to the endpoint.
    case push
    /// From the endpoint to this process.
    case pull
    /// Both. A one-shot run pulls first, so that conflicts that a resolver has merged are pushed in
    /// the same run.
    case both
  }

  /// The end of a replication.
  public enum Mode: Sendable, Equatable {
    /// The run ends when all changes that it found have been transferred.
    case oneShot
    /// The replication waits for changes, and reconnects after an interruption, until it is
    /// stopped.
    case continuous
  }

  /// The settings of a replicator.
  public struct Options: Sendable {
    /// The revisions to replicate, in both directions; nil for all.
    public var filter: Filter?
    /// The ids of the documents to replicate; nil for all.
    public var documentIDs: [String]?
    /// A Mango selector in JSON, such as `{"city": "Porto"}`, that a revision must match; nil for
    /// all. A CouchDB evaluates it, so revisions that do not match do not cross the network.
    public var selector: String?
    /// Whether deletions are pushed. Default: true.
    public var pushesDeletions = true
    /// The number of changes that are compared and transferred together, 1 to 10,000. Default: 500.
    public var batchSize = 500
    /// The number of batches that are transferred at the same time, 1 to 64. Default: 2.
    public var parallelism = 2
    /// The number of attempts in a row that may fail because the other side cannot be reached, does
    /// not answer, or asks for a pause. The time between them doubles up to a minute. Default: nil,
    /// which is 4 for a one-shot run, and no limit for a continuous replication.
    public var retryLimit: Int?
    /// A closure that resolves the conflicts that a pull causes; nil to keep both revisions, for
    /// the program to merge: see ``Conflict``.
    public var conflictResolver: (@Sendable (Conflict) throws -> MutableDocument?)?

    /// The source of delays, for tests.
    package var sleep: (@Sendable (Duration) async throws -> Void)?

    /// Creates the default settings: all documents, without a resolver.
    public init() {}
  }

  /// A choice of revisions by a closure.
  ///
  /// ```swift
  /// var options = Replicator.Options()
  /// options.filter = Replicator.Filter("drafts", version: 1) { $0["isDraft"].bool != true }
  /// ```
  ///
  /// The name and version are part of the identity of the replication. After a change of what the
  /// closure accepts, increase the version: the next run then begins at the first change. Deleted
  /// documents usually have no members, so decide on them with `isDeleted`.
  public struct Filter: Sendable {
    let name: String
    let version: Int
    let isIncluded: @Sendable (Document) -> Bool

    /// - Parameters:
    ///   - name: a name that no other filter of this collection has.
    ///   - version: the version of what the closure accepts.
    ///   - isIncluded: whether a revision is replicated. It is called for revisions that the target
    ///     lacks, in any order and from any thread. The documents have no sequence, and no
    ///     attachments from CouchDB.
    public init(
      _ name: String, version: Int = 1, _ isIncluded: @escaping @Sendable (Document) -> Bool
    ) {
      self.name = name
      self.version = version
      self.isIncluded = isIncluded
    }
  }

  /// A document of which a pull has brought a second current revision.
  ///
  /// ```swift
  /// options.conflictResolver = { conflict in
  ///   var merged = conflict.current.toMutable()
  ///   for other in conflict.others {
  ///     for (key, value) in other where conflict.ancestor?[key] != value { merged[key] = value }
  ///   }
  ///   return merged
  /// }
  /// ```
  ///
  /// The resolver returns a changed copy of one of the revisions, or a copy of the one to keep, or
  /// nil to leave the conflict. The result becomes the current revision, and the others are
  /// deleted. Two replicas that merge the same revisions to the same content create the same
  /// revision, if both continue from ``current``, which is the same one everywhere. If the document
  /// is edited in the meantime, the resolver is called again.
  public struct Conflict: Sendable {
    /// The id of the document.
    public let id: String
    /// The revision that all replicas show: see *Conflicts* in the documentation of `Latewood`.
    public let current: Document
    /// The other revisions, at least one.
    public let others: [Document]
    /// The newest common ancestor of all these; nil if its content is no longer kept.
    public let ancestor: Document?
  }
}

extension Replicator.Options {
  func check() throws(ReplicationError) {
    guard (1...10_000).contains(batchSize) else {
      throw ReplicationError(.invalidParameter, "the batch size \(batchSize) is not 1 to 10,000")
    }
    guard (1...64).contains(parallelism) else {
      throw ReplicationError(.invalidParameter, "the parallelism \(parallelism) is not 1 to 64")
    }
    if let retryLimit, retryLimit < 0 {
      throw ReplicationError(.invalidParameter, "the retry limit of a replication is negative")
    }
    if let filter, filter.name.isEmpty {
      throw ReplicationError(
        .invalidParameter, "the filter of a replication has no name",
        advice: "Give it a name, and increase its version when it changes.")
    }
    guard let selector else { return }
    do throws(QueryError) { _ = try MangoParser.predicateWithoutText(json: selector) } catch {
      throw ReplicationError(.invalidParameter, "the selector of a replication is wrong: \(error.reason)")
    }
  }

  /// Returns the setup of one direction.
  func setup(_ direction: Replicator.Direction, _ mode: Replicator.Mode) -> ReplicationSetup {
    var setup = ReplicationSetup()
    setup.isContinuous = mode == .continuous
    setup.batchSize = batchSize
    setup.parallelism = parallelism
    setup.retries.limit = retryLimit ?? (mode == .continuous ? nil : 4)
    setup.filter.ids = documentIDs
    setup.filter.selector = selector.map { Array($0.utf8) }
    setup.filter.includesDeletions = direction == .pull || pushesDeletions
    if let filter {
      setup.filter.name = filter.name
      setup.filter.version = filter.version
      setup.filter.isIncluded = { filter.isIncluded(Document($0)) }
    }
    if let sleep { setup.sleep = sleep }
    return setup
  }
}

extension Document {
  /// The document that a filter sees.
  fileprivate init(_ revision: PeerRevision) {
    self.init(
      id: revision.id, revision: revision.history[0], sequence: 0,
      flags: revision.isDeleted ? .deleted : [], body: revision.body)
  }
}
