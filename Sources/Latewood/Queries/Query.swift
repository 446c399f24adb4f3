import LatewoodDocuments
import LatewoodFleece
import LatewoodQuery

/// A question to a collection: which documents, in what order, and as what.
///
/// ```swift
/// let recent = movies.query(Movie.self)
///   .where { $0.year >= 1975 && $0.cast.contains("Harrison Ford") }
///   .sorted { ($0.year.descending, $0.title) }
///   .limit(20)
/// let list = try recent.all()                                   // [Movie]
/// let rows = try recent.select { ($0.title, $0.year) }.rows()   // [(String, Int)]
/// ```
///
/// A query is a value that can be kept, refined and run again; nothing is read before it runs. Each
/// run reads one state of the database, in a batch that of the batch. Documents come by id unless
/// the query is sorted; deleted ones do not come.
///
/// Values of all types have one order: null, false, true, numbers by value, strings by their bytes,
/// data, arrays, objects; what is missing comes before all of them. CouchDB has the same, but for
/// strings, which it orders by the rules of ICU.
///
/// An index of the collection (``DocumentCollection/createIndex(_:on:where:unique:progress:)``) is
/// used where that costs less; what is found is the same. Without one every document is read whose
/// id a condition does not rule out: O(documents). ``explain()`` tells. A sort that no index has
/// done holds the keys of all documents that match in memory, or with a limit those of as many as
/// it asks for.
///
/// Errors: ``DatabaseError`` `invalidParameter` if a condition, an order or a column cannot be,
/// `notOpen`, `corruptData`; the `DecodingError` of a document that is not of the type.
public struct Query<Value: Sendable>: Sendable {
  private let collection: DocumentCollection
  private let make: @Sendable (FoundDocument) throws -> Value
  private var conditions: [QueryCondition] = []
  private var order: [QueryOrder] = []
  private var skipped = 0
  private var most = Int.max

  init(_ collection: DocumentCollection, _ make: @escaping @Sendable (FoundDocument) throws -> Value) {
    self.collection = collection
    self.make = make
  }

  // MARK: Refining

  /// The same with a condition more: all must hold.
  public func `where`(_ condition: (QueryDocument<Value>) -> QueryCondition) -> Query {
    var query = self
    query.conditions.append(condition(QueryDocument()))
    return query
  }

  /// The same in the order of one or several fields, the first of which decides before the others.
  /// Documents that are equal in all of them come by id. An order that the query had before is
  /// replaced.
  public func sorted<each Order: QueryOrdering>(
    by order: (QueryDocument<Value>) -> (repeat each Order)
  ) -> Query {
    var query = self
    query.order = []
    for field in repeat each order(QueryDocument()) { query.order.append(field.queryOrder) }
    return query
  }

  /// The same without all documents after the first `count`, and without the first `offset`.
  ///
  /// - Parameters:
  ///   - count: at least 0.
  ///   - offset: at least 0.
  public func limit(_ count: Int, offset: Int = 0) -> Query {
    var query = self
    query.most = max(0, count)
    query.skipped = max(0, offset)
    return query
  }

  /// The same with some fields of each document in place of all of it.
  public func select<each Column: Decodable & Sendable>(
    _ columns: (QueryDocument<Value>) -> (repeat QueryField<each Column>)
  ) -> RowQuery<repeat each Column> {
    let fields = columns(QueryDocument())
    return RowQuery(self, repeat each fields)
  }

  // MARK: Running

  /// The documents that are found, in order.
  public func all() throws -> [Value] {
    var list: [Value] = []
    try forEach { value in
      list.append(value)
      return true
    }
    return list
  }

  /// The first document that is found; nil if there is none.
  public func first() throws -> Value? {
    var query = self
    query.most = min(most, 1)
    return try query.all().first
  }

  /// A part of what is found.
  ///
  /// - Parameters:
  ///   - start: how many documents to pass over, at least 0.
  ///   - count: how many to give, at least 0.
  public func page(at start: Int, of count: Int) throws -> [Value] {
    var query = self
    let (sum, overflow) = skipped.addingReportingOverflow(max(0, start))
    query.skipped = overflow ? .max : sum
    query.most = max(0, min(count, most - min(most, max(0, start))))
    return try query.all()
  }

  /// How many documents are found. O(log n) where an index has just those; else no value is made of
  /// them.
  public func count() throws -> Int {
    let request = try request()
    do { return try collection.reads().count(request) } catch { throw DatabaseError.translated(error) }
  }

  /// How the query would be answered as the database is now: by which indexes, and what is left to
  /// be looked at. O(log n) for each index.
  public func explain() throws -> QueryPlan {
    let request = try request()
    let reads = try collection.reads()
    return try translating { () throws(DocumentError) in QueryPlan(try reads.explain(request)) }
  }

  /// The ids of the documents that are found, in order. No value is made of them.
  public func documentIDs() throws -> [String] {
    var ids: [String] = []
    try find { document in
      ids.append(document.id)
      return true
    }
    return ids
  }

  /// Calls a closure with each document that is found, in order, until it returns false. One is in
  /// memory at a time.
  public func forEach(_ body: (Value) throws -> Bool) throws {
    try find { document in try body(try make(document)) }
  }

  /// The documents that are found, in order, without blocking the caller's thread.
  public func all() async throws -> [Value] { try await run { try $0.all() } }

  /// The first document that is found, without blocking the caller's thread; nil if there is none.
  public func first() async throws -> Value? { try await run { try $0.first() } }

  /// How many documents are found, without blocking the caller's thread.
  public func count() async throws -> Int { try await run { try $0.count() } }

  func run<Result: Sendable>(
    _ body: @escaping @Sendable (Query) throws -> Result
  ) async throws -> Result {
    try await collection.database.performing { try body(self) }
  }

  func find(_ body: (FoundDocument) throws -> Bool) throws {
    let request = try request()
    do {
      try collection.reads().find(request, body)
    } catch { throw DatabaseError.translated(error) }
  }

  private func request() throws -> FindRequest {
    var request = FindRequest()
    var parts: [Predicate] = []
    for condition in conditions { parts.append(try condition.predicate.get()) }
    request.predicate = parts.count == 1 ? parts[0] : .all(parts)
    for field in order { request.order.append(try field.order.get()) }
    request.skip = skipped
    request.limit = most
    return request
  }
}

extension DocumentCollection {
  /// A query for documents as values of a type. See ``Query``.
  public func query<Value: Decodable & Sendable>(_ type: Value.Type) -> Query<Value> {
    Query(self) { document in
      try FleeceDecoder(special: SpecialTypes()).decode(type, from: document.element())
    }
  }

  /// A query for documents as they are. See ``Query``.
  public func query() -> Query<Document> {
    Query(self) { document in Document(document.id, document.head, document.bytes) }
  }
}
