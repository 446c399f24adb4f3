import LatewoodConcurrency

/// A feed that is read in pages, each with the leaves of its documents.
///
/// Like ``ContinuousFeed``, it reads entries only from the collection, after the last sequence that
/// it has returned, so no change is missed and none repeated.
///
/// Thread safety: one task at a time calls `next`; `close` may be called by any thread.
package final class FeedPages: Sendable {
  private let store: DocumentStore
  private let collection: CollectionHandle
  /// Nil if the feed ends with the last change.
  private let signal: ChangeSignal?
  private let progress: Guarded<Progress>
  private let filter: Filter?

  private struct Progress {
    /// The sequence after which the next page begins.
    var last: UInt64
    var hasReturnedPage = false
  }

  /// Returns a change with the leaves that the reader of the feed is to see; nil to leave it out.
  package typealias Filter = @Sendable (DocumentReads, LeavesChange) throws -> LeavesChange?

  /// A part of the feed.
  package struct Page: Sendable {
    package var changes: [LeavesChange]
    /// The sequence of the last change of the page, whether or not it was left out.
    package var last: UInt64
    /// The last sequence of the collection.
    package var lastSequence: UInt64
  }

  /// - Parameters:
  ///   - since: the sequence after which to begin.
  ///   - isContinuous: whether the feed waits for changes at its end.
  ///   - filter: leaves out changes; default: none.
  package init(
    _ store: DocumentStore, _ collection: CollectionHandle, since: UInt64, isContinuous: Bool,
    filter: Filter? = nil
  ) throws(DatabaseError) {
    self.store = store
    self.collection = collection
    self.filter = filter
    signal = isContinuous ? try ChangeSignal(store, collection.name) { _ in } : nil
    progress = Guarded(Progress(last: since))
  }

  /// Returns the next changes, which may all be left out. Nil at the end of the feed and after
  /// `close`.
  ///
  /// The first page of a continuous feed is returned even if it is empty: it tells the reader that
  /// there is nothing to catch up with.
  package func next(limit: Int) async throws -> Page? {
    while true {
      try Task.checkCancellation()
      // Reset the signal before reading: a commit in between signals again.
      signal?.reset()
      let (since, isFirst) = progress.withLock { ($0.last, !$0.hasReturnedPage) }
      let page = try await store.perform { [store, collection, filter] in
        let reads = try store.reads(collection)
        let changes = try reads.leavesChanges(since: since, limit: limit)
        let kept = if let filter { try changes.compactMap { try filter(reads, $0) } } else { changes }
        return Page(
          changes: kept, last: changes.last?.entry.sequence ?? since, lastSequence: try reads.lastSequence())
      }
      if page.last > since || isFirst && signal != nil {
        progress.withLock { $0 = Progress(last: page.last, hasReturnedPage: true) }
        return page
      }
      guard let signal, await signal.wait() else { return nil }
    }
  }

  /// Ends the feed. Idempotent.
  package func close() { signal?.cancel() }
}
