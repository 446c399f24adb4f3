import LatewoodConcurrency
import LatewoodReplicator

/// The status of a replicator: combined of the replications that it consists of, and shown to those
/// who watch it.
///
/// Thread safety: any task.
final class StatusBoard: Sendable {
  private static let failureLimit = 100

  private struct State {
    var status = Replicator.Status()
    var parts: [ReplicationStatus?]
    var failures: [Replicator.DocumentFailure] = []
    var nextWatcher = 0
    var watchers: [Int: Watcher<Replicator.Status>] = [:]
    var failureWatchers: [Int: Watcher<Replicator.DocumentFailure>] = [:]
  }

  private struct Watcher<Element: Sendable> {
    var stream: AsyncStream<Element>.Continuation
    var endsAtStop: Bool
  }

  private let state: Guarded<State>
  private let directions: [Replicator.Direction]

  /// - Parameter directions: push or pull, for each replication.
  init(_ directions: [Replicator.Direction]) {
    self.directions = directions
    state = Guarded(State(parts: directions.map { _ in nil }))
  }

  deinit {
    let (statuses, failures) = state.withLock {
      ($0.watchers.values.map(\.stream), $0.failureWatchers.values.map(\.stream))
    }
    for stream in statuses { stream.finish() }
    for stream in failures { stream.finish() }
  }

  var status: Replicator.Status { state.withLock { $0.status } }
  var firstFailures: [Replicator.DocumentFailure] { state.withLock { $0.failures } }

  // MARK: Changes

  func begin() {
    show { state in
      state.parts = directions.map { _ in nil }
      state.failures = []
      state.status = Replicator.Status()
      state.status.activity = .connecting
    }
  }

  func update(_ part: Int, _ status: ReplicationStatus) {
    show { state in
      state.parts[part] = status
      combine(&state)
    }
  }

  /// Shows that all replications have ended, and ends the sequences.
  func end(_ error: ReplicationError?) {
    show { state in
      state.status.activity = .stopped
      state.status.error = error
    }
    let (statuses, failures) = state.withLock { state in
      let ended = state.watchers.filter { $1.endsAtStop }
      let endedFailures = state.failureWatchers.filter { $1.endsAtStop }
      for id in ended.keys { state.watchers[id] = nil }
      for id in endedFailures.keys { state.failureWatchers[id] = nil }
      return (ended.values.map(\.stream), endedFailures.values.map(\.stream))
    }
    for stream in statuses { stream.finish() }
    for stream in failures { stream.finish() }
  }

  func report(_ failure: Replicator.DocumentFailure) {
    let streams = state.withLock { state in
      if state.failures.count < Self.failureLimit { state.failures.append(failure) }
      return state.failureWatchers.values.map(\.stream)
    }
    for stream in streams { stream.yield(failure) }
  }

  /// Changes the status. It is yielded with the lock held, so that every reader sees the changes in
  /// their order; `yield` does not run anyone's code.
  private func show(_ change: (inout State) -> Void) {
    state.withLock { state in
      let old = state.status
      change(&state)
      guard state.status != old else { return }
      for watcher in state.watchers.values { watcher.stream.yield(state.status) }
    }
  }

  private func combine(_ state: inout State) {
    var status = Replicator.Status()
    var found: Set<Replicator.Status.Activity> = []
    for (part, direction) in zip(state.parts, directions) {
      guard let part else { continue }
      switch direction {
      case .pull: status.pulled.add(part)
      case .push, .both: status.pushed.add(part)
      }
      if let activity = Replicator.Status.Activity(part.activity) { found.insert(activity) }
      status.error = status.error ?? part.error
    }
    let order: [Replicator.Status.Activity] = [.busy, .connecting, .offline, .idle]
    // Between two replications of a run, the last state remains.
    status.activity = order.first { found.contains($0) } ?? state.status.activity
    state.status = status
  }

  // MARK: Watching

  func statuses(endsAtStop: Bool) -> AsyncStream<Replicator.Status> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: Replicator.Status.self, bufferingPolicy: .bufferingNewest(1))
    let id = state.withLock { state in
      state.nextWatcher += 1
      state.watchers[state.nextWatcher] = Watcher(stream: continuation, endsAtStop: endsAtStop)
      if state.status.activity != .stopped || !endsAtStop { continuation.yield(state.status) }
      return state.nextWatcher
    }
    continuation.onTermination = { [weak self] _ in self?.state.withLock { $0.watchers[id] = nil } }
    return stream
  }

  func failures(endsAtStop: Bool) -> AsyncStream<Replicator.DocumentFailure> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: Replicator.DocumentFailure.self, bufferingPolicy: .bufferingNewest(1000))
    let id = state.withLock { state in
      state.nextWatcher += 1
      state.failureWatchers[state.nextWatcher] = Watcher(stream: continuation, endsAtStop: endsAtStop)
      return state.nextWatcher
    }
    continuation.onTermination = { [weak self] _ in
      self?.state.withLock { $0.failureWatchers[id] = nil }
    }
    return stream
  }
}

extension Replicator.Status.Activity {
  /// Returns nil for a replication that has ended, which says nothing about the others.
  fileprivate init?(_ activity: ReplicationStatus.Activity) {
    switch activity {
    case .connecting: self = .connecting
    case .busy: self = .busy
    case .idle: self = .idle
    case .offline: self = .offline
    case .stopped: return nil
    }
  }
}
