import LatewoodDocuments

/// A view of a collection: the rows that a closure of the program, the *map*, emits for each
/// document, sorted by key. The rows are stored in the file and updated with every change.
///
/// ```swift
/// let byTag = try articles.view("by tag", version: 1, reduce: .count) { document, emit in
///   for tag in document["tags"] { emit(tag) }
/// }
/// let rows = try byTag.rows(ViewQuery(key: "swift", includesDocuments: true))
/// let tags = try byTag.groups()
/// ```
///
/// Each call reads one state of the database, and the view includes every change up to that state:
/// a view that is behind is caught up first. In a batch, calls see the changes of the batch.
///
/// Thread safety: all calls from any thread.
public struct DocumentView: Sendable {
  /// The collection whose documents are passed to the map.
  public let collection: DocumentCollection
  let definition: ViewDefinition
  let reduction: ViewReduction

  /// The name of the view.
  public var name: String { definition.name }
  /// The version of the map.
  public var version: UInt64 { definition.version }

  init(_ collection: DocumentCollection, _ definition: ViewDefinition, _ reduction: ViewReduction) {
    self.collection = collection
    self.definition = definition
    self.reduction = reduction
  }

  var database: Database { collection.database }

  func reads() throws(DatabaseError) -> ViewReads {
    try collection.documents.reads(definition, of: collection.handle)
  }

  // MARK: Rows

  /// Returns the rows that match a query. O(log n + rows).
  ///
  /// - Throws: ``DatabaseError`` `invalidParameter` if a key of the query is not valid, the range
  ///   ends before it begins, or the skip or limit is negative; `notWritable` if the view is behind
  ///   and the database was opened read-only; `conflict` if another version of the view was
  ///   registered since; `notFound` once the view or the collection is dropped; otherwise like
  ///   every read.
  public func rows(_ query: ViewQuery = ViewQuery()) throws -> [ViewRow] {
    var rows: [ViewRow] = []
    try forEachRow(query) { row in
      rows.append(row)
      return true
    }
    return rows
  }

  /// Calls a closure with the rows that match a query, all from one state of the database, until it
  /// returns false. O(log n + rows), and keeps one row in memory at a time.
  ///
  /// - Parameters:
  ///   - query: the rows to return.
  ///   - body: receives a row, and returns whether to continue. In a batch it must not change the
  ///     database.
  /// - Throws: errors of the closure; otherwise like `rows(_:)`.
  public func forEachRow(_ query: ViewQuery = ViewQuery(), _ body: (ViewRow) throws -> Bool) throws {
    let (reads, ranges) = (try reads(), try query.ranges)
    do {
      // Copies that the closure does not capture: capturing them would cost a check of exclusive
      // access on each use.
      var (skip, rest) = (query.skip, query.limit)
      for range in ranges where rest > 0 {
        if skip > 0, ranges.count > 1 {
          let count = try reads.count(in: range)
          if skip >= count {
            skip -= count
            continue
          }
        }
        var isWanted = true
        try reads.forEachRow(in: range, skip: skip) { stored in
          var row = try ViewRow(stored)
          if query.includesDocuments, let (head, content) = try reads.reads.document(row.documentID) {
            row.document = Document(row.documentID, head, content)
          }
          rest -= 1
          isWanted = try body(row)
          return isWanted && rest > 0
        }
        if !isWanted { return }
        skip = 0
      }
    } catch { throw DatabaseError.translated(error) }
  }

  /// Returns the number of rows in the range of a query, ignoring its skip and limit. O(log n),
  /// plus the rows of the range that no checkpoint has merged yet.
  ///
  /// - Throws: the errors of `rows(_:)`.
  public func count(_ query: ViewQuery = ViewQuery()) throws -> Int {
    let (reads, ranges) = (try reads(), try query.ranges)
    var count = 0
    for range in ranges { count += try reads.count(in: range) }
    return count
  }

  // MARK: Reductions

  /// Returns the reduction of all rows in the range of a query, ignoring its skip and limit.
  ///
  /// O(log n) for ``ViewReduction/count``, expected O(log n) for ``ViewReduction/sum`` and
  /// ``ViewReduction/stats``; O(log n + rows) for a custom reduction.
  ///
  /// - Returns: a number; for ``ViewReduction/stats`` a dictionary with `sum`, `count`, `min`,
  ///   `max` and `sumsqr`; for a custom reduction its result, null if there are no rows.
  /// - Throws: errors of the closures of a custom reduction; ``DatabaseError`` `invalidParameter`
  ///   if the view has no reduction; otherwise the errors of `rows(_:)`.
  public func reduce(_ query: ViewQuery = ViewQuery()) throws -> DocumentValue {
    switch reduction.kind {
    case .none: throw missingReduction
    case .count: return DocumentValue(try count(query))
    case .sum: return number(try statistics(query).sum)
    case .stats: return try statistics(query).documentValue
    case .custom(let reduce, let rereduce):
      var custom = CustomReduction(reduce, rereduce)
      var all = query
      (all.skip, all.limit) = (0, .max)
      try forEachRow(all) { row in
        try custom.add(row)
        return true
      }
      return try custom.finish()
    }
  }

  /// Returns the statistics of all rows in the range of a query, ignoring its skip and limit.
  /// Expected O(log n).
  ///
  /// - Throws: ``DatabaseError`` `invalidParameter` if the reduction of the view is neither
  ///   ``ViewReduction/sum`` nor ``ViewReduction/stats``; otherwise the errors of `rows(_:)`.
  public func statistics(_ query: ViewQuery = ViewQuery()) throws -> ViewStatistics {
    guard definition.reduction == .sum || definition.reduction == .stats else { throw missingReduction }
    let (reads, ranges) = (try reads(), try query.ranges)
    var stats = ViewStatistics()
    for range in ranges { stats.add(try reads.stats(in: range)) }
    return stats
  }

  /// Returns the reductions of rows with equal keys. Expected O(log n) for each group; O(rows) more
  /// with a custom reduction.
  ///
  /// - Parameters:
  ///   - query: the rows to return. Its skip and limit count groups.
  ///   - level: the number of elements by which keys that are arrays are grouped, at least 1; nil
  ///     for whole keys.
  /// - Throws: errors of the closures of a custom reduction; ``DatabaseError`` `invalidParameter`
  ///   if the view has no reduction, or the level is less than 1; otherwise the errors of
  ///   `rows(_:)`.
  public func groups(_ query: ViewQuery = ViewQuery(), level: Int? = nil) throws -> [ViewGroup] {
    if case .none = reduction.kind { throw missingReduction }
    if let level, level < 1 { throw DatabaseError(.invalidParameter, "the level of groups is \(level)") }
    let (reads, ranges) = (try reads(), try query.ranges)
    var groups: [ViewGroup] = []
    var (skip, rest) = (query.skip, query.limit)
    do {
      for range in ranges where rest > 0 {
        try reads.forEachGroup(in: range, level: level) { group in
          if skip > 0 {
            skip -= 1
            return true
          }
          rest -= 1
          groups.append(try ViewGroup(group, value(of: group, reads)))
          return rest > 0
        }
      }
    } catch { throw DatabaseError.translated(error) }
    return groups
  }

  private func value(of group: ViewReads.Group, _ reads: ViewReads) throws -> DocumentValue {
    switch reduction.kind {
    case .none: return .null
    case .count: return DocumentValue(try reads.count(of: group))
    case .sum: return number(try reads.stats(of: group).sum)
    case .stats: return try reads.stats(of: group).documentValue
    case .custom(let reduce, let rereduce):
      var custom = CustomReduction(reduce, rereduce)
      try reads.forEachRow(of: group) { row in
        try custom.add(ViewRow(row))
        return true
      }
      return try custom.finish()
    }
  }

  private var missingReduction: DatabaseError {
    DatabaseError(.invalidParameter, "the view \(name) has another reduction, or none")
  }

  // MARK: Upkeep

  /// Catches the view up, if it is behind: see
  /// `view(_:version:reduce:progress:map:)`.
  ///
  /// - Throws: the errors of `rows(_:)`.
  public func catchUp() throws { _ = try reads() }

  /// Returns the documents for which the map has failed, by id, with the reasons. They have no rows
  /// until they are saved again, or the version of the view changes. O(documents with rows),
  /// O(log n) if there are none.
  ///
  /// - Throws: the errors of `rows(_:)`.
  public func failures(limit: Int = .max) throws -> [ViewFailure] {
    try reads().failures(limit: limit).map { ViewFailure(documentID: $0.id, reason: $0.reason) }
  }
}

/// A document that has no rows in a view because the map has failed for it.
public struct ViewFailure: Sendable, Equatable {
  /// The id of the document.
  public let documentID: String
  /// The description of the error that the map threw, or of the fault in a key that it emitted; at
  /// most 1,000 bytes.
  public let reason: String
}
