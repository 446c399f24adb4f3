#if canImport(Observation)
  import LatewoodConcurrency
  import Observation

  /// The observable, always current results of a query, for user interfaces.
  ///
  /// ```swift
  /// struct RecentMovies: View {
  ///   @State var movies: ObservedQuery<Movie>            // ObservedQuery(recent)
  ///   var body: some View {
  ///     List(movies.values.indices, id: \.self) { Text(movies.values[$0].title) }
  ///   }
  /// }
  /// ```
  ///
  /// The query is watched for as long as this object exists: see ``LiveQuery`` for the cost. It can
  /// only be used on the main actor.
  @MainActor @Observable public final class ObservedQuery<Value: Sendable> {
    /// The results, in order; empty until the first update.
    public private(set) var values = LiveValues<Value>()
    /// Whether the first results, or an error, have arrived.
    public private(set) var isLoaded = false
    /// The error that ended the updates; `values` then keeps the last results.
    public private(set) var error: (any Error)?
    @ObservationIgnored private let task = Guarded<Task<Void, Never>?>(nil)

    /// Starts watching the results of a query.
    public init(_ query: Query<Value>) {
      let updates = query.live()
      let task = Task { [weak self] in
        do {
          for try await update in updates { self?.show(update) }
        } catch { self?.end(error) }
      }
      self.task.withLock { $0 = task }
    }

    deinit { task.withLock { $0 }?.cancel() }

    private func show(_ update: LiveUpdate<Value>) {
      values = update.values
      isLoaded = true
    }

    private func end(_ error: any Error) {
      self.error = error
      isLoaded = true
    }
  }
#endif
