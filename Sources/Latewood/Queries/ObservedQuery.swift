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
    /// Whether the first results of the query, or an error, have arrived.
    public private(set) var isLoaded = false
    /// The error that ended the updates; `values` then keeps the last results.
    public private(set) var error: (any Error)?
    @ObservationIgnored private let task = Guarded<Task<Void, Never>?>(nil)

    /// Starts watching the results of a query.
    public init(_ query: Query<Value>) { observe(query) }

    /// Starts watching the results of a full-text query with their scores: see
    /// ``Query/liveHits()``.
    public init<Content>(hits query: Query<Content>) where Value == FullTextHit<Content> {
      observe(hits: query)
    }

    /// Watches another query instead, for example after each letter that is typed into a search
    /// field.
    ///
    /// `values` keeps the results of the old query until those of the new one arrive, so that a
    /// list does not flicker. Meanwhile `isLoaded` is false and `error` is nil.
    public func observe(_ query: Query<Value>) { watch(query.live()) }

    /// Watches another full-text query with scores instead.
    public func observe<Content>(hits query: Query<Content>) where Value == FullTextHit<Content> {
      watch(query.liveHits())
    }

    private func watch(_ updates: LiveQuery<Value>) {
      if isLoaded { isLoaded = false }
      if error != nil { error = nil }
      let task = Task { [weak self] in
        do {
          for try await update in updates {
            // An update of the old query can be on its way when another one is watched.
            if Task.isCancelled { return }
            self?.show(update)
          }
        } catch {
          if !Task.isCancelled { self?.end(error) }
        }
      }
      self.task.withLock { (old) in
        old?.cancel()
        old = task
      }
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
