import Latewood
import LatewoodConcurrency
import LatewoodDocuments
import LatewoodReplicator

/// The replications that a replicator consists of: one or two for each pair of collection and
/// endpoint.
final class ReplicatorEngine: Sendable {
  private let pairs: [(collection: DocumentCollection, endpoint: Replicator.Endpoint)]
  private let directions: [Replicator.Direction]
  private let mode: Replicator.Mode
  private let options: Replicator.Options
  let board: StatusBoard

  init(
    _ pairs: [(collection: DocumentCollection, endpoint: Replicator.Endpoint)],
    _ direction: Replicator.Direction, _ mode: Replicator.Mode, _ options: Replicator.Options
  ) throws(ReplicationError) {
    guard !pairs.isEmpty else {
      throw ReplicationError(.invalidParameter, "a replicator has no collection")
    }
    for pair in pairs { try pair.endpoint.check(with: pair.collection) }
    try options.check()
    self.pairs = pairs
    self.mode = mode
    self.options = options
    // A run pulls first: what a resolver has merged is then pushed.
    let directions: [Replicator.Direction] = direction == .both ? [.pull, .push] : [direction]
    self.directions = directions
    board = StatusBoard(pairs.flatMap { _ in directions })
  }

  /// Runs once.
  ///
  /// - Parameter willEnd: called before the end is shown.
  func run(_ willEnd: () -> Void) async throws -> Replicator.Summary {
    let start = MonotonicClock.nanoseconds
    do {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in pairs.indices {
          group.addTask { try await self.replicate(number) }
        }
        try await group.waitForAll()
      }
      try Task.checkCancellation()
    } catch {
      willEnd()
      board.end(error as? ReplicationError)
      throw error
    }
    willEnd()
    board.end(nil)
    let status = board.status
    return Replicator.Summary(
      pulled: status.pulled, pushed: status.pushed, failures: board.firstFailures,
      duration: .nanoseconds(Int64(clamping: MonotonicClock.nanoseconds - start)))
  }

  /// Replicates one pair: one direction after the other, or, if they do not end, both at the same
  /// time.
  private func replicate(_ number: Int) async throws {
    let remote = try pairs[number].endpoint.peer()
    let first = number * directions.count
    if mode == .oneShot {
      for (place, direction) in directions.enumerated() {
        try await replicate(number, direction, remote, part: first + place)
      }
      return
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (place, direction) in directions.enumerated() {
        group.addTask { try await self.replicate(number, direction, remote, part: first + place) }
      }
      try await group.waitForAll()
    }
  }

  private func replicate(
    _ number: Int, _ direction: Replicator.Direction, _ remote: any ReplicationPeer, part: Int
  ) async throws {
    let collection = pairs[number].collection
    let local = local(collection)
    let isPull = direction == .pull
    let replication = Replication(
      from: isPull ? remote : local, to: isPull ? local : remote, options.setup(direction, mode),
      onStatus: { [board] in board.update(part, $0) },
      onFailure: { [board] failure in
        board.report(
          Replicator.DocumentFailure(
            collection: collection.name, id: failure.id, revisionID: "\(failure.revision)",
            direction: direction, kind: .init(failure.reason.kind), message: failure.reason.message))
      })
    try await replication.run()
  }

  private func local(_ collection: DocumentCollection) -> any ReplicationPeer {
    let peer = CollectionPeer(collection.database.documents, collection.handle)
    guard let resolver = options.conflictResolver else { return peer }
    return ResolvingPeer(peer, collection, resolver) { [board] in board.report($0) }
  }
}
