import LatewoodDocuments
import LatewoodQuery

/// The results of a query, grouped by the value of a field: see ``Query/grouped(by:)``.
///
/// ```swift
/// let films = try movies.query(Movie.self).grouped { $0.year }.count()           // [Int: Int]
/// let scores = try movies.query(Movie.self).grouped { $0.year }.average { $0.score }
/// ```
///
/// Each aggregate reads one state of the database, in O(documents found), and keeps one value for
/// each group in memory. Fields come from an index if possible, as for ``RowQuery``.
///
/// Keys that are strings are compared by their bytes, as in conditions and SQL++. If two of them
/// are the same text to Swift, such as `é` in one and in two scalars, no dictionary can contain
/// both, and the aggregate throws ``DatabaseError`` `invalidParameter`.
public struct GroupedQuery<Value: Sendable, Key: Decodable & Hashable & Sendable>: Sendable {
  let query: Query<Value>
  private let key: QueryField<Key>

  init(_ query: Query<Value>, _ key: QueryField<Key>) {
    self.query = query
    self.key = key
  }

  /// Returns the number of documents in each group.
  ///
  /// - Throws: `DecodingError` if the field of the group is missing or of another type; otherwise
  ///   like ``Query``.
  public func count() throws -> [Key: Int] {
    var counts = KeyTable<Key, Int>()
    try query.forEachValue(of: key) { key in
      counts.update(key, from: 0) { $0 += 1 }
      return true
    }
    return try counts.dictionary()
  }

  /// Returns the sum of a field in each group. See ``Query/sum(_:)-3cmuy``.
  ///
  /// - Throws: `DecodingError` if a field is missing or not of its declared type; ``DatabaseError``
  ///   `invalidParameter` if a sum of integers does not fit into an `Int`; otherwise like
  ///   ``Query``.
  public func sum<Number: QueryNumber>(
    _ field: (QueryDocument<Value>) -> QueryField<Number>
  ) throws -> [Key: Number.Total] {
    try totals(field(QueryDocument())).mapValues(Number.querySum.total)
  }

  /// Returns the mean of a field in each group that has the field. See ``Query/average(_:)-4pnk``.
  ///
  /// - Throws: `DecodingError` if the field of the group is missing, or a field is not of its
  ///   declared type; otherwise like ``Query``.
  public func average<Number: QueryNumber>(
    _ field: (QueryDocument<Value>) -> QueryField<Number>
  ) throws -> [Key: Double] {
    try totals(field(QueryDocument())).compactMapValues(\.average)
  }

  /// Returns the minimum of a field in each group that has the field, in Swift's order; strings are
  /// compared by their bytes.
  ///
  /// - Throws: `DecodingError` if the field of the group is missing, or a field is not of its
  ///   declared type; otherwise like ``Query``.
  public func min<Member: Decodable & Comparable & Sendable>(
    _ field: (QueryDocument<Value>) -> QueryField<Member>
  ) throws -> [Key: Member] {
    try edges(QueryField<Member?>(field(QueryDocument()).path), queryOrder(of: Member.self))
  }

  /// Returns the maximum of a field in each group that has the field, in Swift's order; strings are
  /// compared by their bytes.
  ///
  /// - Throws: `DecodingError` if the field of the group is missing, or a field is not of its
  ///   declared type; otherwise like ``Query``.
  public func max<Member: Decodable & Comparable & Sendable>(
    _ field: (QueryDocument<Value>) -> QueryField<Member>
  ) throws -> [Key: Member] {
    let precedes = queryOrder(of: Member.self)
    return try edges(QueryField<Member?>(field(QueryDocument()).path)) { precedes($1, $0) }
  }

  // MARK: Implementation

  private func totals<Number: QueryNumber>(_ field: QueryField<Number>) throws -> [Key: NumberTotal] {
    var totals = KeyTable<Key, NumberTotal>()
    let none = NumberTotal(isWhole: Number.querySum.isWhole)
    let (keys, numbers) = (ColumnReader(key), ColumnReader(field))
    let paths = [try keys.path.get(), try numbers.path.get()]
    try query.findRows(keys.plain == nil ? nil : paths) { values in
      guard let key = values.next().flatMap({ keys.plain?($0) }), let value = values.next() else {
        return nil
      }
      return totals.update(key, from: none) { $0.add(value) } ? true : nil
    } _: { document in
      try totals.update(keys.value(in: document), from: none) { try $0.add(numbers, document) }
      return true
    }
    return try totals.dictionary()
  }

  private func edges<Member: Decodable & Sendable>(
    _ field: QueryField<Member?>, _ precedes: (Member, Member) -> Bool
  ) throws -> [Key: Member] {
    var edges = KeyTable<Key, Member>()
    func add(_ key: Key, _ value: Member?) {
      guard let value else { return }
      edges.update(key, from: value) { if precedes(value, $0) { $0 = value } }
    }
    let (keys, members) = (ColumnReader(key), ColumnReader(field))
    let paths = [try keys.path.get(), try members.path.get()]
    try query.findRows(keys.plain == nil || members.plain == nil ? nil : paths) { values in
      guard let key = values.next().flatMap({ keys.plain?($0) }),
        let value = values.next().flatMap({ members.plain?($0) })
      else { return nil }
      add(key, value)
      return true
    } _: { document in
      try add(keys.value(in: document), members.value(in: document))
      return true
    }
    return try edges.dictionary()
  }
}

/// `min` and `max` of optional fields: the type of the result is not a nested optional.
extension GroupedQuery {
  /// Returns the minimum of an optional field in each group that has the field. Otherwise the same
  /// as for other fields.
  ///
  /// - Throws: `DecodingError` if the field of the group is missing, or a field is not of its
  ///   declared type; otherwise like ``Query``.
  public func min<Member: Decodable & Comparable & Sendable>(
    _ field: (QueryDocument<Value>) -> QueryField<Member?>
  ) throws -> [Key: Member] {
    try edges(field(QueryDocument()), queryOrder(of: Member.self))
  }

  /// Returns the maximum of an optional field in each group that has the field. Otherwise the same
  /// as for other fields.
  ///
  /// - Throws: `DecodingError` if the field of the group is missing, or a field is not of its
  ///   declared type; otherwise like ``Query``.
  public func max<Member: Decodable & Comparable & Sendable>(
    _ field: (QueryDocument<Value>) -> QueryField<Member?>
  ) throws -> [Key: Member] {
    let precedes = queryOrder(of: Member.self)
    return try edges(field(QueryDocument())) { precedes($1, $0) }
  }
}
