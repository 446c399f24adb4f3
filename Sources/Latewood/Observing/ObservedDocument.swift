#if canImport(Observation)
  import LatewoodConcurrency
  import Observation

  /// An observable, always current document for user interfaces.
  ///
  /// ```swift
  /// struct PersonCard: View {
  ///   @State var person: ObservedDocument<Person>        // ObservedDocument("anna", in: people)
  ///   var body: some View {
  ///     Text(person.value?.name ?? "nobody")
  ///   }
  /// }
  /// ```
  ///
  /// The document is watched as long as this object exists, and read again after each commit that
  /// has changed it. If several commits follow quickly, only the last may be shown. If the database
  /// is opened read-only and another process writes to it, an update takes up to 100 ms. When the
  /// database is closed, the last value is kept.
  ///
  /// It can only be used on the main actor. ``value`` carries its revision: change a copy and save
  /// the copy.
  @MainActor @Observable public final class ObservedDocument<Value: Sendable> {
    /// The current value with its revision; nil until it has been read, or if there is no document.
    public private(set) var value: Stored<Value>?
    /// Whether the document has been read, or an error has arrived.
    public private(set) var isLoaded = false
    /// The error that ended the updates, such as the `DecodingError` of a document that is not of
    /// the type. `value` then keeps the last value.
    public private(set) var error: (any Error)?
    @ObservationIgnored private let task = Guarded<Task<Void, Never>?>(nil)

    /// Watches a document of a typed collection, which need not exist yet.
    public init(_ id: Value.ID, in collection: TypedCollection<Value>)
    where Value: Codable & Identifiable, Value.ID: Sendable {
      let (events, told) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
      let task = Task { [weak self] in
        do {
          let name = Array(collection.documentID(id).utf8)
          // Before the first read, so that no change is missed.
          let token = try collection.documents.addListener { change in
            let isAbout = change.entries.contains { $0.id.utf8.elementsEqual(name) }
            if isAbout || !change.isComplete { told.yield() }
          }
          defer { withExtendedLifetime(token) {} }
          self?.show(try await collection.document(id))
          for await _ in events { self?.show(try await collection.document(id)) }
        } catch { self?.end(error) }
      }
      self.task.withLock { $0 = task }
    }

    deinit { task.withLock { $0 }?.cancel() }

    private func show(_ value: Stored<Value>?) {
      self.value = value
      isLoaded = true
    }

    private func end(_ error: any Error) {
      self.error = error
      isLoaded = true
    }
  }
#endif
