import Latewood
import LatewoodConcurrency
// Exported, because a client that checks which module declares a member imports only this one.
@_exported import LatewoodReplicator

/// The error of a replication: see ``Replicator/run()``.
public typealias ReplicationError = LatewoodReplicator.ReplicationError

/// The activity of a replication or of a replicator: see ``Replicator/Status``.
public typealias ReplicationActivity = LatewoodReplicator.ReplicationActivity

/// Replicates collections: with a CouchDB database, or with other collections.
///
/// ```swift
/// let replicator = try Replicator(
///   people, with: .couchDB(url, credentials: .password("anna", password)), direction: .both)
/// let summary = try await replicator.run()
/// print(summary.pulled.revisions, summary.pushed.revisions)
/// ```
///
/// A replication copies the revisions that the other side lacks, with their histories, deletions
/// and attachments. Both sides store how far it has come, so the next run transfers only new
/// revisions: see <doc:Replicating>.
///
/// A replicator is either run in the task of the caller (``run()``), or started (``start()``) and
/// stopped (``stop()``). In both cases ``statuses`` and ``failures`` report its progress. It can be
/// run again after it has ended. The collections can be read and written while it runs.
///
/// Thread safety: all calls from any task.
public final class Replicator: Sendable {
  private let engine: ReplicatorEngine
  private let runs = Guarded(Runs())

  /// The runs that have not ended: one, and those before it that are ending.
  private struct Runs {
    var count = 0
    var current: Run?
  }

  private struct Run {
    let number: Int
    let task: Task<Summary, any Error>
    /// Whether it was told to stop, or is about to show that it has ended. The next run then waits
    /// for its end.
    var isEnding = false
  }

  /// Creates a replicator for one collection.
  ///
  /// - Parameters:
  ///   - collection: the collection of this process.
  ///   - endpoint: the other side.
  ///   - direction: whether to pull, to push, or both. Default: both.
  ///   - mode: whether to end when everything has been transferred, or to wait for changes.
  ///   - options: filters, limits and the resolver of conflicts.
  /// - Throws: ``ReplicationError`` `invalidParameter` for a value that is not accepted;
  ///   `unsupported` for an option that this platform does not have. No connection has been made
  ///   then.
  public convenience init(
    _ collection: DocumentCollection, with endpoint: Endpoint, direction: Direction = .both,
    mode: Mode = .oneShot, options: Options = Options()
  ) throws {
    try self.init([(collection, endpoint)], direction: direction, mode: mode, options: options)
  }

  /// Creates a replicator for several collections, each with its own endpoint. They replicate at
  /// the same time, and the first error that ends one of them ends all.
  ///
  /// - Parameters:
  ///   - pairs: the collections of this process and their other sides, at least one.
  ///   - direction: whether to pull, to push, or both. Default: both.
  ///   - mode: whether to end when everything has been transferred, or to wait for changes.
  ///   - options: filters, limits and the resolver of conflicts.
  /// - Throws: ``ReplicationError`` `invalidParameter` for a value that is not accepted;
  ///   `unsupported` for an option that this platform does not have. No connection has been made
  ///   then.
  public init(
    _ pairs: [(collection: DocumentCollection, endpoint: Endpoint)], direction: Direction = .both,
    mode: Mode = .oneShot, options: Options = Options()
  ) throws {
    engine = try ReplicatorEngine(pairs, direction, mode, options)
  }

  deinit { runs.withLock { $0.current?.task }?.cancel() }

  // MARK: Running

  /// Replicates until everything has been transferred; a continuous replicator, until the task is
  /// cancelled. If the replicator is already running, the call waits for that run.
  ///
  /// Cancelling the task stops the replication. Revisions that have been transferred stay, and the
  /// next run continues after them.
  ///
  /// - Returns: the revisions that were transferred, and the first of those that were refused.
  ///   Refused revisions are not errors.
  /// - Throws: ``ReplicationError`` if the replication cannot continue, or if the other side could
  ///   not be reached for as long as ``Options/retryLimit`` allows; `CancellationError` if the task
  ///   is cancelled or the replicator stopped.
  @discardableResult
  public func run() async throws -> Summary {
    let run = begin()
    return try await withTaskCancellationHandler {
      try await run.task.value
    } onCancel: {
      Self.end(run.number, in: runs)
      run.task.cancel()
    }
  }

  /// Starts the replication and returns. Nothing happens if it is running. If it is being stopped,
  /// it starts again afterwards.
  ///
  /// Keep the replicator: it stops when it is released. If an error ends the replication, the last
  /// status has it.
  public func start() { _ = begin() }

  /// Stops the replication, and waits until it has stopped. Nothing happens if it is not running.
  public func stop() async {
    let task = runs.withLock { runs in
      runs.current?.isEnding = true
      return runs.current?.task
    }
    task?.cancel()
    _ = await task?.result
  }

  private func begin() -> Run {
    runs.withLock { runs in
      if let current = runs.current, !current.isEnding { return current }
      let previous = runs.current?.task
      if previous == nil { engine.board.begin() } else { engine.board.divide() }
      runs.count += 1
      let number = runs.count
      let task = Task { [engine, runs = self.runs] in
        if let previous {
          _ = await previous.result
          engine.board.begin()
        }
        defer {
          runs.withLock { if $0.current?.number == number { $0.current = nil } }
        }
        return try await engine.run { Self.end(number, in: runs) }
      }
      let run = Run(number: number, task: task)
      runs.current = run
      return run
    }
  }

  /// Marks a run as ending.
  private static func end(_ number: Int, in runs: Guarded<Runs>) {
    runs.withLock { if $0.current?.number == number { $0.current?.isEnding = true } }
  }

  // MARK: Progress

  /// The status now.
  public var status: Status { engine.board.status }

  /// The status now, then each change of it. If the reader is slow, only the newest is kept.
  ///
  /// The sequence ends when the replicator has stopped. Of a replicator that is not running, it
  /// waits for the next run.
  public var statuses: AsyncStream<Status> { engine.board.statuses(endsAtStop: true) }

  /// The revisions that cannot be transferred, as they are found. If the reader is slow, the newest
  /// 1,000 are kept. The sequence ends when the replicator has stopped.
  public var failures: AsyncStream<DocumentFailure> { engine.board.failures(endsAtStop: true) }

  var board: StatusBoard { engine.board }
}
