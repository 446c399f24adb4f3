import LatewoodDocuments

/// The results of a query, kept up to date: see ``Query/live()`` and ``Query/liveHits()``.
///
/// A loop over a live query receives the current results immediately, and then an update after each
/// commit that changes them. Several commits before the next iteration lead to one update. Each
/// update belongs to one state of the collection and contains the difference from the previous one:
///
/// ```swift
/// for try await update in recent.live() {
///   print(update.values.count, update.difference.count)
/// }
/// ```
///
/// After a commit, only the documents that it wrote are examined, and only those that were found
/// before or are found now cause an update: O(log n + √found) for each. A query with a limit keeps
/// some documents in reserve: half as many as the limit, but at least 16 and at most 1,024. It runs
/// again when more documents than that have left the result; without an index in the order of the
/// query, this reads all matching documents. Any query runs again completely if more than 16,384
/// documents have changed since the last update, and in a database that is open read-only while
/// another process writes to it; updates then arrive within 100 ms. A query that is ranked by
/// scores runs again after every commit, because each document can change the scores of all.
///
/// A live query keeps the value and the sort key of every found document in memory. An expired
/// document leaves the results with the next change, or when it is purged. The loop ends when its
/// task is cancelled. It throws `notOpen` when the database of the query is closed, `notFound` when
/// the collection is dropped, and otherwise the same errors as ``Query``.
public struct LiveQuery<Value: Sendable>: AsyncSequence, Sendable {
  /// The results after a commit.
  public typealias Element = LiveUpdate<Value>

  private let collection: DocumentCollection
  /// Begins to run the query, or is the error of an invalid one.
  private let begin: Result<@Sendable () -> LiveFind<Value>, any Error>

  init(_ collection: DocumentCollection, _ begin: Result<@Sendable () -> LiveFind<Value>, any Error>) {
    self.collection = collection
    self.begin = begin
  }

  /// Returns an iterator that starts with the current results, which are not read before its first
  /// `next`.
  public func makeAsyncIterator() -> Iterator {
    switch begin {
    case .success(let begin): Iterator(collection: collection, live: begin())
    case .failure(let error): Iterator(collection: collection, failure: error)
    }
  }

  /// An iterator over the updates of a live query.
  public struct Iterator: AsyncIteratorProtocol {
    /// A reference that keeps the database open.
    fileprivate let collection: DocumentCollection
    /// The running query; nil if there is a `failure`. Changed only in place, to avoid copying its
    /// rows.
    fileprivate var live: LiveFind<Value>?
    /// The error of an invalid request.
    fileprivate var failure: (any Error)?

    /// Waits for the next update and returns it; nil if the task is cancelled.
    ///
    /// - Throws: ``DatabaseError`` like every query; the `DecodingError` of a document that is not
    ///   of the type.
    public mutating func next() async throws -> LiveUpdate<Value>? {
      if let failure { throw failure }
      do { return try await live?.next().map { LiveUpdate($0) } } catch {
        throw DatabaseError.translated(error)
      }
    }
  }
}

/// The results of a live query, and how they differ from the previous ones.
public struct LiveUpdate<Value: Sendable>: Sendable {
  /// All results, in order.
  public let values: LiveValues<Value>
  private let changes: [LiveFind<Value>.Change]?

  init(_ update: LiveFind<Value>.Update) {
    values = LiveValues(update)
    changes = update.changes
  }

  /// Whether this is the first update. Its difference inserts all values.
  public var isFirst: Bool { changes == nil }

  /// The difference between the values of the previous update and these. O(changes).
  ///
  /// A changed document is both removed and inserted, even if its position stays the same.
  public var difference: CollectionDifference<Value> {
    let list: [CollectionDifference<Value>.Change] =
      changes?.map { change in
        change.isRemoval
          ? .remove(offset: change.offset, element: change.row.value, associatedWith: nil)
          : .insert(offset: change.offset, element: change.row.value, associatedWith: nil)
      }
      ?? values.enumerated().map { .insert(offset: $0.offset, element: $0.element, associatedWith: nil) }
    // No two changes share an offset, so this initializer never returns nil.
    return CollectionDifference(list) ?? [Value]().difference(from: []) { _, _ in true }
  }
}

/// The values of a live query, in order. Copying them takes O(1); unchanged parts are shared with
/// the values of other updates.
public struct LiveValues<Value: Sendable>: RandomAccessCollection, Sendable {
  private let rows: LiveRows<Value>
  private let range: Range<Int>

  /// Creates an empty collection.
  public init() { (rows, range) = (LiveRows(), 0..<0) }

  init(_ update: LiveFind<Value>.Update) { (rows, range) = (update.rows, update.range) }

  /// The position of the first value: 0.
  public var startIndex: Int { 0 }
  /// The position after the last value: the number of values.
  public var endIndex: Int { range.count }

  /// The value at a valid position. O(log n).
  public subscript(position: Int) -> Value { row(position).value }

  /// Returns the id of the document at a position.
  public func documentID(at position: Int) -> String { row(position).id }

  private func row(_ position: Int) -> LiveRow<Value> {
    precondition(position >= 0 && position < range.count, "the position is out of range")
    return rows[range.lowerBound + position]
  }
}
