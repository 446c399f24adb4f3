import LatewoodDocuments
import LatewoodFleece
import LatewoodQuery

/// Aggregates over the documents that a query finds, with its limit and offset. Each reads one
/// state of the database and keeps no documents in memory. Fields are read from an index if
/// possible, as for ``RowQuery``.
extension Query {
  /// Returns whether the query finds any document. Reads at most one document; O(log n) if an index
  /// contains exactly the documents of the query.
  ///
  /// - Throws: ``DatabaseError`` like every query.
  public func exists() throws -> Bool {
    guard most > 0 else { return false }
    var query = unprepared
    query.most = 1
    return try !query.documentIDs().isEmpty
  }

  /// Returns the sum of a field; 0 if no document matches. O(documents found). After enough sums
  /// over an index of whole numbers, O(log n) until the next commit.
  ///
  /// Documents without the field, or with null, do not count. Whole numbers are added exactly. The
  /// last digits of a sum of fractions may depend on the order of addition.
  ///
  /// - Throws: `DecodingError` if a value is not of the type of the field; ``DatabaseError``
  ///   `invalidParameter` if a sum of integers does not fit into an `Int`; otherwise like
  ///   ``Query``.
  public func sum<Number: QueryNumber>(
    _ field: (QueryDocument<Value>) -> QueryField<Number>
  ) throws -> Number.Total {
    try Number.querySum.total(total(of: field(QueryDocument())))
  }

  /// Returns the mean of a field; nil if no matching document has the field. O(documents found).
  ///
  /// - Throws: the same as ``sum(_:)-3cmuy``, except for sums that are too large.
  public func average<Number: QueryNumber>(
    _ field: (QueryDocument<Value>) -> QueryField<Number>
  ) throws -> Double? {
    try total(of: field(QueryDocument())).average
  }

  /// Returns the minimum of a field, in the sort order of queries; nil if no matching document has
  /// the field. Null does not count as a value. O(log n) with an index on the field that contains
  /// exactly the documents of the query.
  ///
  /// - Throws: `DecodingError` if the value is not of the type of the field; otherwise like
  ///   ``Query``.
  public func min<Member: Decodable & Sendable>(
    _ field: (QueryDocument<Value>) -> QueryField<Member>
  ) throws -> Member? {
    try edge(of: field(QueryDocument()), isGreatest: false)
  }

  /// Returns the maximum of a field, in the sort order of queries; nil if no matching document has
  /// the field. Otherwise the same as `min`.
  ///
  /// - Throws: the same as `min`.
  public func max<Member: Decodable & Sendable>(
    _ field: (QueryDocument<Value>) -> QueryField<Member>
  ) throws -> Member? {
    try edge(of: field(QueryDocument()), isGreatest: true)
  }

  /// Returns the distinct values of a field, in the order of their first occurrence: sort the query
  /// by the field to sort them. Strings are compared by their bytes. O(documents found); keeps the
  /// values in memory.
  ///
  /// - Throws: `DecodingError` if a field is missing or of another type; otherwise like ``Query``.
  public func distinct<Member: Decodable & Hashable & Sendable>(
    _ field: (QueryDocument<Value>) -> QueryField<Member>
  ) throws -> [Member] {
    var seen = KeyTable<Member, Bool>()
    var list: [Member] = []
    try forEachValue(of: field(QueryDocument())) { value in
      if seen.insert(value) { list.append(value) }
      return true
    }
    return list
  }

  /// Groups the results by the value of a field, for an aggregate of each group.
  public func grouped<Key: Decodable & Hashable & Sendable>(
    by field: (QueryDocument<Value>) -> QueryField<Key>
  ) -> GroupedQuery<Value, Key> {
    GroupedQuery(self, field(QueryDocument()))
  }

  // MARK: Implementation

  /// Calls a closure with the value of a field of each document found, until the closure returns
  /// false.
  func forEachValue<Member: Decodable & Sendable>(
    of field: QueryField<Member>, _ body: (Member) throws -> Bool
  ) throws {
    let column = ColumnReader(field)
    let paths = [try column.path.get()]
    let plain = column.plain
    try findRows(plain == nil ? nil : paths) { values in
      guard let value = values.next().flatMap({ plain?($0) }) else { return nil }
      return try body(value)
    } _: { document in
      try body(try column.value(in: document))
    }
  }

  private func total<Number: QueryNumber>(of field: QueryField<Number>) throws -> NumberTotal {
    let column = ColumnReader(field)
    return try total(of: try column.path.get(), isWhole: Number.querySum.isWhole) { document, total in
      try total.add(column, document)
    }
  }

  fileprivate func edge<Member: Decodable & Sendable>(
    of field: QueryField<Member>, isGreatest: Bool
  ) throws -> Member? {
    guard skipped == 0, most == .max else { return try limitedEdge(of: field, isGreatest: isGreatest) }
    var query = unprepared
    query.add(field.compare(.greater, Int?.none))
    query.order = [.field(isGreatest ? field.descending : field.ascending)]
    query.most = 1
    var edge: Member?
    try query.forEachValue(of: field) { value in
      edge = value
      return false
    }
    return edge
  }

  /// Returns the minimum or maximum among the documents that a limit or an offset selects, by
  /// reading all of them. An index cannot supply it.
  private func limitedEdge<Member: Decodable & Sendable>(
    of field: QueryField<Member>, isGreatest: Bool
  ) throws -> Member? {
    let column = ColumnReader(field)
    let path = try column.path.get()
    var best: (key: [UInt8], value: Member)?
    try find { document in
      var key = CollationKey()
      let isThere = try document.withField(path) { lookup throws(FleeceError) in
        try key.append(lookup.value, descending: isGreatest)
        return CollationTag(lookup.value) > .null
      }
      if isThere, best.map({ key.bytes.lexicographicallyPrecedes($0.key) }) ?? true {
        best = (key.bytes, try column.value(in: document))
      }
      return true
    }
    return best?.value
  }
}

/// `min` and `max` of optional fields: the type of the result is not a nested optional.
extension Query {
  /// Returns the minimum of an optional field, in the sort order of queries; nil if no matching
  /// document has the field. Null does not count as a value.
  ///
  /// - Throws: `DecodingError` if the value is not of the type of the field; otherwise like
  ///   ``Query``.
  public func min<Member: Decodable & Sendable>(
    _ field: (QueryDocument<Value>) -> QueryField<Member?>
  ) throws -> Member? {
    try edge(of: QueryField<Member>(field(QueryDocument()).path), isGreatest: false)
  }

  /// Returns the maximum of an optional field, in the sort order of queries; nil if no matching
  /// document has the field. Otherwise the same as `min`.
  ///
  /// - Throws: the same as `min`.
  public func max<Member: Decodable & Sendable>(
    _ field: (QueryDocument<Value>) -> QueryField<Member?>
  ) throws -> Member? {
    try edge(of: QueryField<Member>(field(QueryDocument()).path), isGreatest: true)
  }
}

extension NumberTotal {
  /// Adds the number in a field of a document. Throws if the field does not contain a suitable
  /// number.
  mutating func add<Number: QueryNumber>(_ column: ColumnReader<Number>, _ document: MatchedDocument) throws {
    let path = try column.path.get()
    let isAdded = try document.withField(path) { lookup throws(FleeceError) in
      guard let scalar = try ScalarValue(lookup.value) else { return false }
      return add(scalar)
    }
    // Decoding the value throws the error with the reason.
    if !isAdded { _ = try column.value(in: document) }
  }
}
