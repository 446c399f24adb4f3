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
    /// Whether the end of the current run has not been shown yet.
    var isRunning = false
    var parts: [ReplicationStatus?]
    var failures: [Replicator.DocumentFailure] = []
    var watchers = Watchers<Replicator.Status>()
    var failureWatchers = Watchers<Replicator.DocumentFailure>()
  }

  /// Those who read a sequence of the board.
  private struct Watchers<Element: Sendable> {
    private var next = 0
    /// The last sequence of the run that is ending, if the next one has been started already.
    private var lastOfRun: Int?
    private var ending: [Int: AsyncStream<Element>.Continuation] = [:]
    private var lasting: [Int: AsyncStream<Element>.Continuation] = [:]

    /// - Parameter endsAtStop: whether the sequence ends when the replicator stops.
    mutating func add(_ stream: AsyncStream<Element>.Continuation, endsAtStop: Bool) -> Int {
      next += 1
      if endsAtStop { ending[next] = stream } else { lasting[next] = stream }
      return next
    }

    mutating func remove(_ id: Int) {
      ending[id] = nil
      lasting[id] = nil
    }

    func yield(_ element: Element) {
      for stream in ending.values { stream.yield(element) }
      for stream in lasting.values { stream.yield(element) }
    }

    /// All sequences that are added after this call belong to the next run.
    mutating func divide() { lastOfRun = next }

    /// Removes the sequences that end with the run, and returns them.
    mutating func takeEnding() -> [AsyncStream<Element>.Continuation] {
      let last = lastOfRun ?? next
      lastOfRun = nil
      let taken = ending.filter { $0.key <= last }
      for id in taken.keys { ending[id] = nil }
      return Array(taken.values)
    }

    var all: [AsyncStream<Element>.Continuation] { Array(ending.values) + Array(lasting.values) }
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
      ($0.watchers.all, $0.failureWatchers.all)
    }
    for stream in statuses { stream.finish() }
    for stream in failures { stream.finish() }
  }

  var status: Replicator.Status { state.withLock { $0.status } }
  var firstFailures: [Replicator.DocumentFailure] { state.withLock { $0.failures } }

  // MARK: Changes

  func begin() {
    show { state in
      state.isRunning = true
      state.parts = directions.map { _ in nil }
      state.failures = []
      state.status = Replicator.Status()
      state.status.activity = .connecting
    }
  }

  /// Notes that the next run has been started, and waits for the end of this one, which may have
  /// been shown already.
  func divide() {
    state.withLock { state in
      guard state.isRunning else { return }
      state.watchers.divide()
      state.failureWatchers.divide()
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
      state.isRunning = false
      return (state.watchers.takeEnding(), state.failureWatchers.takeEnding())
    }
    for stream in statuses { stream.finish() }
    for stream in failures { stream.finish() }
  }

  func report(_ failure: Replicator.DocumentFailure) {
    state.withLock { state in
      if state.failures.count < Self.failureLimit { state.failures.append(failure) }
      state.failureWatchers.yield(failure)
    }
  }

  /// Changes the status. It is yielded with the lock held, so that every reader sees the changes in
  /// their order; `yield` does not run anyone's code.
  private func show(_ change: (inout State) -> Void) {
    state.withLock { state in
      let old = state.status
      change(&state)
      guard state.status != old else { return }
      state.watchers.yield(state.status)
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
      found.insert(part.activity)
      status.error = status.error ?? part.error
    }
    let order: [Replicator.Status.Activity] = [.busy, .connecting, .offline, .idle]
    // A replication that has stopped does not count. Between two of a run, the last state remains.
    status.activity = order.first { found.contains($0) } ?? state.status.activity
    state.status = status
  }

  // MARK: Watching

  func statuses(endsAtStop: Bool) -> AsyncStream<Replicator.Status> {
    watch(\.watchers, keeping: 1, endsAtStop: endsAtStop) { state in
      state.status.activity != .stopped || !endsAtStop ? state.status : nil
    }
  }

  func failures(endsAtStop: Bool) -> AsyncStream<Replicator.DocumentFailure> {
    watch(\.failureWatchers, keeping: 1000, endsAtStop: endsAtStop) { _ in nil }
  }

  /// - Parameter first: returns the first element, if the sequence has one at the beginning.
  private func watch<Element>(
    _ watchers: WritableKeyPath<State, Watchers<Element>> & Sendable, keeping count: Int, endsAtStop: Bool,
    first: (State) -> Element?
  ) -> AsyncStream<Element> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: Element.self, bufferingPolicy: .bufferingNewest(count))
    let id = state.withLock { state in
      if let element = first(state) { continuation.yield(element) }
      return state[keyPath: watchers].add(continuation, endsAtStop: endsAtStop)
    }
    continuation.onTermination = { [weak self] _ in
      self?.state.withLock { $0[keyPath: watchers].remove(id) }
    }
    return stream
  }
}
