import Dispatch
import LatewoodConcurrency

extension Database {
  /// Runs a piece of work in the background. The work can read for any length of time; its changes
  /// are then committed in one short batch.
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
  /// The closure runs on a Dispatch queue, not in the caller's task. All its reads and queries see
  /// the state of the database in which it began. Others can read and save while it runs, because
  /// the writer lock is not taken before the closure has returned. Its saves and deletions are
  /// collected in memory, do not appear in its own reads, and are finally committed all or nothing,
  /// as by ``inBatch(_:)-7xlss``. It can change each document once.
  ///
  /// **Conflicts.** Nothing is committed if a document that the work saves or deletes has been
  /// saved elsewhere in the meantime, or if a requirement of
  /// ``BackgroundCollection/requireUnchanged(_:)`` is not met. By default this throws `conflict`.
  /// With `retries`, the closure first runs again with the newest state, so it must be safe to
  /// repeat.
  ///
  /// **Cancellation.** If the task is cancelled before the changes are committed, nothing is
  /// changed, and this throws `CancellationError`. The closure ends at its next call to the state.
  /// If this does not throw, the changes are committed with the configured durability.
  ///
  /// The space of outdated data cannot be reused before the closure has returned, so divide work
  /// that takes hours.
  ///
  /// - Parameters:
  ///   - retries: the number of times to run the closure again after a conflict; default: 0.
  ///   - body: the work. Its argument is valid only until it returns.
  /// - Returns: the result of the closure, once its changes are committed.
  /// - Throws: any error of the closure, unchanged: then nothing is committed. ``DatabaseError``
  ///   `conflict` if there was a conflict in all attempts; `notFound` if a document to delete has
  ///   already been deleted, or its collection dropped; `notWritable` if there are changes and the
  ///   database was opened read-only, its disk is full or its file is gone; `notUnique`; `notOpen`,
  ///   `corruptData`, `inputOutput`. `CancellationError` if the task is cancelled before the
  ///   changes are committed.
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
      try await Self.backgroundQueue.perform {
        try check()
        let state = try BackgroundDatabase(database, check: check)
        defer { state.end() }
        let result = try body(state)
        try check()
        return (result, state.changes)
      }
    }
  }
}
