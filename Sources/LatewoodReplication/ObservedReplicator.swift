#if canImport(Observation)
  import LatewoodConcurrency
  import Observation

  /// The observable status of a replicator, for user interfaces.
  ///
  /// ```swift
  /// struct SyncLine: View {
  ///   @State var sync: ObservedReplicator                // ObservedReplicator(replicator)
  ///   var body: some View {
  ///     Text("\(sync.status.pulled.revisions) received")
  ///   }
  /// }
  /// ```
  ///
  /// The replicator is watched as long as this object exists, through any number of runs. It can
  /// only be used on the main actor.
  @MainActor @Observable public final class ObservedReplicator {
    /// The status.
    public private(set) var status: Replicator.Status
    /// The latest 100 revisions that could not be transferred.
    public private(set) var failures: [Replicator.DocumentFailure] = []
    @ObservationIgnored private let tasks = Guarded<[Task<Void, Never>]>([])

    /// Watches a replicator, which need not be running yet.
    public init(_ replicator: Replicator) {
      status = replicator.status
      let statuses = replicator.board.statuses(endsAtStop: false)
      let failures = replicator.board.failures(endsAtStop: false)
      let watching = [
        Task { [weak self] in for await status in statuses { self?.status = status } },
        Task { [weak self] in for await failure in failures { self?.add(failure) } },
      ]
      tasks.withLock { $0 = watching }
    }

    deinit { for task in tasks.withLock({ $0 }) { task.cancel() } }

    private func add(_ failure: Replicator.DocumentFailure) {
      if failures.count >= 100 { failures.removeFirst() }
      failures.append(failure)
    }
  }
#endif
