import LatewoodConcurrency
import LatewoodDocuments

/// The documents to replicate. Every part of the filter is part of the replication id, so a
/// replication with another filter begins at the first change.
package struct ReplicationFilter: Sendable {
  /// The ids of the documents to replicate; nil for all.
  package var ids: [String]?
  /// A Mango selector in JSON, which a revision must match; nil for all.
  package var selector: [UInt8]?
  /// The name and version of `isIncluded`.
  package var name: String?
  package var version = 0
  /// Whether a revision is replicated; nil for all. Called for each revision that the target lacks.
  package var isIncluded: (@Sendable (PeerRevision) -> Bool)?
  /// Whether deletions are replicated.
  package var includesDeletions = true

  package init() {}
}

/// The times that a replication waits before it tries again: the time doubles after each
/// consecutive failure, up to a limit, and is then shortened by a random part of up to half.
package struct RetryPolicy: Sendable, Equatable {
  package var first: Duration
  package var longest: Duration
  /// The number of consecutive failures after which the replication stops; nil to retry without
  /// limit.
  package var limit: Int?

  package init(first: Duration = .milliseconds(250), longest: Duration = .seconds(60), limit: Int? = 10) {
    self.first = first
    self.longest = longest
    self.limit = limit
  }

  /// Returns the time to wait; nil to stop.
  ///
  /// - Parameters:
  ///   - failures: the number of consecutive failures, at least 1.
  ///   - random: any number, which decides the random part.
  package func delay(afterFailures failures: Int, random: UInt64) -> Duration? {
    if let limit, failures > limit { return nil }
    let full = min(longest, first * (1 << min(failures - 1, 20)))
    return full - full * (Double(random >> 11) / Double(UInt64(1) << 53)) / 2
  }
}

/// The options of a replication.
package struct ReplicationSetup: Sendable {
  package var isContinuous = false
  package var filter = ReplicationFilter()
  /// The number of changes that are compared, read and inserted together.
  package var batchSize = 500
  /// The number of batches that are worked on at the same time.
  package var parallelism = 2
  /// Whether the sequence reached is stored in checkpoints.
  package var usesCheckpoints = true
  /// The least time between two checkpoints while changes arrive.
  package var checkpointInterval: Duration = .seconds(5)
  package var retries = RetryPolicy()
  /// The clock and the randomness.
  package var environment = Environment.system
  /// Waits for a time; throws `CancellationError` if the task is cancelled.
  package var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }

  package init() {}
}
