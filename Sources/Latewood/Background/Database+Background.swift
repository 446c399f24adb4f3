import Dispatch

extension Database {
  /// Runs a piece of work in the background: reads as long as it likes, then commits what it has
  /// decided in one short batch.
  ///
  /// ```swift
  /// let moved = try await database.background(retries: 3) { state in
  ///   let people = try state["people"]                    // as it was when the work began
  ///   let inOporto = try people.query().where { $0["city"] == "Oporto" }.all()
  ///   for person in inOporto {
  ///     var copy = person.toMutable()
  ///     copy["city"] = "Porto"
  ///     try people.save(copy)                             // kept for the end
  ///   }
  ///   return inOporto.count
  /// }
  /// ```
  ///
  /// The closure runs on a Dispatch queue, not in the caller's task, with one state of the
  /// database: all reads and queries see that state, and nobody waits for them. Others read and
  /// save meanwhile, as the writer lock is not held before the closure has returned. What it saves
  /// and deletes is kept in memory until then, and then committed as by ``inBatch(_:)-7xlss``: all
  /// or nothing. Saves and deletions of the work do not show in its own reads, and it can change
  /// each document once.
  ///
  /// **Conflicts.** If somebody else has saved a document meanwhile that the work saves or deletes,
  /// nothing is committed. The same goes for what the work has asked to be unchanged, by
  /// ``BackgroundCollection/requireUnchanged(_:)``. By default this throws `conflict`; with
  /// `retries`, the closure first runs again, with the newest state. It must then have no effects
  /// that cannot be repeated.
  ///
  /// **Cancellation.** If the task is cancelled before the changes are committed, nothing is
  /// changed, and this throws `CancellationError`. The closure ends at the next of its calls. If
  /// this does not throw, the changes are committed, and durable as the configuration says.
  ///
  /// The space of the state is not given back before the closure has returned: divide work that
  /// takes hours.
  ///
  /// - Parameters:
  ///   - retries: how often to run the closure again after a conflict; default: never.
  ///   - body: the work. Its argument must not leave it.
  /// - Returns: the result of the closure, once its changes are committed.
  /// - Throws: any error of the closure, unchanged: then nothing is committed. ``DatabaseError``
  ///   `conflict` if a document was changed meanwhile, in all attempts; `notFound` if a document to
  ///   delete is deleted by then, or its collection is dropped; `notWritable` if there are changes
  ///   and the database was opened read-only, its disk is full or its file is gone; `notUnique`;
  ///   `notOpen`, `corruptData`, `inputOutput`. `CancellationError` if the task is cancelled before
  ///   the changes are committed.
  @discardableResult
  public func background<R: Sendable>(
    retries: Int = 0, _ body: @escaping @Sendable (BackgroundDatabase) throws -> R
  ) async throws -> R {
    var rest = retries
    while true {
      let (result, changes) = try await readingInBackground(body)
      if changes.isEmpty { return result }
      do {
        try await inBatch { try changes.commit() }
        return result
      } catch let error as DatabaseError where error.code == .conflict && rest > 0 {
        rest -= 1
      }
    }
  }

  private static let backgroundQueue = DispatchQueue(
    label: "latewood.background", qos: .utility, attributes: .concurrent)

  private func readingInBackground<R: Sendable>(
    _ body: @escaping @Sendable (BackgroundDatabase) throws -> R
  ) async throws -> (R, BackgroundChanges) {
    try await cancellable { database, check in
      try await withCheckedThrowingContinuation { continuation in
        Self.backgroundQueue.async {
          continuation.resume(
            with: Result {
              try check()
              let state = try BackgroundDatabase(database, check: check)
              defer { state.end() }
              let result = try body(state)
              try check()
              return (result, state.changes)
            })
        }
      }
    }
  }
}
