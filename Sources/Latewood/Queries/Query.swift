import LatewoodConcurrency
import LatewoodDocuments
import LatewoodFleece
import LatewoodQuery
import LatewoodText

/// A query of a collection: the documents to find, their order, and the type of the results.
///
/// ```swift
/// let recent = movies.query(Movie.self)
///   .where { $0.year >= 1975 && $0.cast.contains("Harrison Ford") }
///   .sorted { ($0.year.descending, $0.title) }
///   .limit(20)
/// let list = try await recent.all()                             // [Movie]
/// let rows = try await recent.select { ($0.title, $0.year) }.rows()   // [(String, Int)]
/// ```
///
/// A query is a value that can be kept, refined and run again; nothing is read before it runs. Each
/// run reads one state of the database; inside a batch, the state of the batch. Documents are
/// ordered by id unless the query is sorted; deleted documents are not found. The first run finds
/// out which indexes can answer the query, and later runs reuse that while the indexes stay the
/// same: keep a query that runs often. Each run chooses between these indexes again.
///
/// Values of all types have a common order: null, false, true, numbers by value, strings by their
/// bytes, data, arrays, objects. Missing values sort before all of them. CouchDB has the same
/// order, except that it orders strings by the rules of ICU.
///
/// A query uses an index of the collection
/// (``DocumentCollection/createIndex(_:on:where:unique:progress:)-714oc``) if that costs less; the
/// results are the same. Without an index it reads every document whose id its conditions do not
/// exclude: O(documents). ``explain()-4g792`` describes the choice. A sort without an index keeps
/// the keys of all matching documents in memory or, with a limit, those of limit + offset
/// documents. If they need more than 64 MiB, it reads the documents again for each further part.
///
/// Errors: ``DatabaseError`` `invalidParameter` if a condition, an order or a column is not valid,
/// `notOpen`, `corruptData`; the `DecodingError` of a document that is not of the type.
public struct Query<Value: Sendable>: Sendable {
  private let collection: DocumentCollection
  private let make: @Sendable (MatchedDocument) throws -> Value
  /// A function that returns the values of all documents together; nil to create them one by one
  /// with `make`.
  private let list: Lister?
  private(set) var condition: QueryCondition?
  var order: [QuerySortKey] = []
  private(set) var skipped = 0
  var most = Int.max
  /// The prepared form, shared by all copies until one is refined; nil for an unrefined query,
  /// which needs no planning.
  private var prepared: PreparedQuery?

  /// A function that returns the values of all documents that `find` passes on, in an array with an
  /// initial capacity of `room`.
  typealias Lister =
    @Sendable (
      _ room: Int, _ find: ((MatchedDocument) throws -> Bool) throws -> Void
    ) throws -> [Value]

  /// - Parameters:
  ///   - collection: the collection to query.
  ///   - make: returns the value of a document.
  ///   - list: specialized for the type, because generic code is slower.
  init(
    _ collection: DocumentCollection, _ make: @escaping @Sendable (MatchedDocument) throws -> Value,
    list: Lister? = nil
  ) {
    self.collection = collection
    self.make = make
    self.list = list
  }

  /// Limits up to this are probably reached, so memory is reserved for as many documents.
  private static var usualPage: Int { 64 }

  /// A copy to refine, which must be prepared again.
  var unprepared: Query {
    var query = self
    query.prepared = PreparedQuery()
    return query
  }

  // MARK: Refining

  mutating func add(_ more: QueryCondition) {
    if let first = condition { condition = first && more } else { condition = more }
  }

  /// Returns the query with another condition; all conditions must hold.
  public func `where`(_ condition: (QueryDocument<Value>) -> QueryCondition) -> Query {
    var query = unprepared
    query.add(condition(QueryDocument()))
    return query
  }

  /// Returns the query sorted by one or more fields, the most significant first. Ties are ordered
  /// by id. Replaces an earlier order.
  public func sorted<each Order: QueryOrdering>(
    by order: (QueryDocument<Value>) -> (repeat each Order)
  ) -> Query {
    var query = unprepared
    query.order = []
    for field in repeat each order(QueryDocument()) { query.order.append(.field(field.queryOrder)) }
    return query
  }

  /// Returns the query without the first `offset` documents, limited to the `count` documents after
  /// them.
  ///
  /// - Parameters:
  ///   - count: the maximum number of documents, at least 0.
  ///   - offset: the number of documents to skip, at least 0.
  public func limit(_ count: Int, offset: Int = 0) -> Query {
    var query = unprepared
    query.most = Swift.max(0, count)
    query.skipped = Swift.max(0, offset)
    return query
  }

  /// Returns a query for some fields of each document instead of entire documents.
  public func select<each Column: Decodable & Sendable>(
    _ columns: (QueryDocument<Value>) -> (repeat QueryField<each Column>)
  ) -> RowQuery<repeat each Column> {
    let fields = columns(QueryDocument())
    return RowQuery(self, repeat each fields)
  }

  /// Returns the same query with a result for each document: its value, or the error of a document
  /// that cannot be decoded. Without this, one such document ends the query, even a live query.
  ///
  /// ```swift
  /// for result in try await recent.asResults().all() {
  ///   switch result {
  ///   case .success(let movie): print(movie.title)
  ///   case .failure(let failure): print(failure.documentID, failure)
  ///   }
  /// }
  /// ```
  ///
  /// Add conditions and orders before this call: the result has no members to compare.
  public func asResults() -> Query<Result<Value, UndecodableDocument>> {
    let (make, name) = (make, collection.name)
    var query = Query<Result<Value, UndecodableDocument>>(collection) { document in
      do {
        return .success(try make(document))
      } catch let error as DatabaseError {
        throw error
      } catch {
        return .failure(
          UndecodableDocument(collection: name, documentID: document.id, error))
      }
    }
    (query.condition, query.order, query.skipped, query.most) = (condition, order, skipped, most)
    query.prepared = prepared
    return query
  }

  // MARK: Running

  /// Returns the matching documents, in order.
  ///
  /// - Throws: ``DatabaseError`` like every query; the `DecodingError` of a document that is not of
  ///   the type.
  public func all() throws -> [Value] {
    if let list { return try list(most <= Query.usualPage ? most : 0) { body in try find(body) } }
    var values: [Value] = []
    try find { document in
      values.append(try make(document))
      return true
    }
    return values
  }

  /// Returns the first matching document; nil if there is none.
  ///
  /// - Throws: ``DatabaseError`` like every query; the `DecodingError` of a document that is not of
  ///   the type.
  public func first() throws -> Value? {
    var query = unprepared
    query.most = Swift.min(most, 1)
    return try query.all().first
  }

  /// Returns a page of the results.
  ///
  /// - Parameters:
  ///   - start: the number of documents to skip, at least 0.
  ///   - count: the maximum number of documents to return, at least 0.
  /// - Throws: ``DatabaseError`` like every query; the `DecodingError` of a document that is not of
  ///   the type.
  public func page(at start: Int, of count: Int) throws -> [Value] {
    var query = unprepared
    let (sum, overflow) = skipped.addingReportingOverflow(Swift.max(0, start))
    query.skipped = overflow ? .max : sum
    query.most = Swift.max(0, Swift.min(count, most - Swift.min(most, Swift.max(0, start))))
    return try query.all()
  }

  /// Returns the number of matching documents. O(log n) if an index contains exactly those
  /// documents; otherwise reads documents, but does not decode them.
  ///
  /// - Throws: ``DatabaseError`` like every query.
  public func count() throws -> Int {
    let find = try preparedFind()
    do { return try collection.reads().count(find) } catch { throw DatabaseError.translated(error) }
  }

  /// Returns the plan for the query in the current state of the database. O(log n) for each index.
  ///
  /// - Throws: ``DatabaseError`` like every query.
  public func explain() throws -> QueryPlan {
    try explainRows(nil)
  }

  /// Returns the ids of the matching documents, in order. Does not decode documents.
  ///
  /// - Throws: ``DatabaseError`` like every query.
  public func documentIDs() throws -> [String] {
    var ids: [String] = []
    let find = try preparedFind()
    do {
      try collection.reads().findIDs(find) { id in
        ids.append(id)
        return true
      }
    } catch { throw DatabaseError.translated(error) }
    return ids
  }

  /// Calls a closure with each matching document, in order, until it returns false. Keeps one in
  /// memory at a time.
  ///
  /// - Throws: errors of the closure; ``DatabaseError`` `invalidParameter` if a condition or an
  ///   order is not valid; otherwise like every read; the `DecodingError` of a document that is not
  ///   of the type.
  public func forEach(_ body: (Value) throws -> Bool) throws {
    try find { document in try body(try make(document)) }
  }

  /// Returns the current results, and new ones after each commit that changes them.
  ///
  /// ```swift
  /// for try await update in recent.live() { show(update.values) }
  /// ```
  ///
  /// See ``LiveQuery``. Nothing is read before the loop starts.
  public func live() -> LiveQuery<Value> {
    let (documents, handle, make) = (collection.documents, collection.handle, make)
    return LiveQuery(
      collection,
      Swift.Result {
        let request = try request()
        return { LiveFind(documents, handle, request, make) }
      })
  }

  func find(_ body: (MatchedDocument) throws -> Bool) throws {
    let find = try preparedFind()
    do {
      try collection.reads().find(find, body)
    } catch { throw DatabaseError.translated(error) }
  }

  func value(of document: MatchedDocument) throws -> Value { try make(document) }

  /// Calls a closure with the matching documents and their scores, the best first.
  func findRanked(
    _ body: (MatchedDocument, _ score: Double, TextSearch) throws -> Bool
  ) throws {
    let find = try preparedRanking()
    do { try collection.reads().findRanked(find, body) } catch { throw DatabaseError.translated(error) }
  }

  func explainedScore(of id: String) throws -> TextScore? {
    let find = try preparedRanking()
    do { return try collection.reads().explainScore(of: id, find) } catch {
      throw DatabaseError.translated(error)
    }
  }

  /// The query in the order of scores.
  private var inOrderOfScores: Query { if case .scores = order.first { self } else { ranked() } }

  private func preparedRanking() throws -> PreparedFind { try inOrderOfScores.preparedFind() }

  /// Returns the matching documents with their scores, and new ones after each commit.
  func liveRanking<Hit: Sendable>(
    _ make: @escaping @Sendable (MatchedDocument, LiveFind<Hit>.Score) throws -> Hit
  ) -> LiveQuery<Hit> {
    let (documents, handle) = (collection.documents, collection.handle)
    return LiveQuery(
      collection,
      Swift.Result {
        let request = try inOrderOfScores.request()
        return { LiveFind(documents, handle, scored: request, make) }
      })
  }

  fileprivate func preparedFind() throws -> PreparedFind {
    guard let prepared else { return PreparedFind(try request()) }
    return try prepared.find { try request() }
  }

  private func request() throws -> FindRequest {
    var request = FindRequest(try condition?.predicate.get() ?? .all([]))
    for key in order {
      switch key {
      case .field(let field): request.order.append(try field.order.get())
      case .scores(let index): request.ranking = index
      }
    }
    request.skip = skipped
    request.limit = most
    return request
  }
}

// Overloads are in separate extensions.

extension Query {
  /// Returns the query with one more condition: a field must be true. All conditions must hold.
  @_disfavoredOverload
  public func `where`(_ field: (QueryDocument<Value>) -> QueryField<Bool>) -> Query {
    self.where { field($0) == true }
  }

  /// Returns the query sorted by one field, in a direction that may be chosen at run time:
  /// `sorted { isNewestFirst ? $0.year.descending : $0.title.ascending }`. Ties are ordered by id.
  /// Replaces an earlier order.
  public func sorted(by order: (QueryDocument<Value>) -> QueryOrder) -> Query {
    sorted { [order($0)] }
  }
}

extension Query {
  /// Returns the query sorted by the fields of a list, the most significant first. Ties are ordered
  /// by id. Replaces an earlier order.
  public func sorted(by order: (QueryDocument<Value>) -> [QueryOrder]) -> Query {
    var query = unprepared
    query.order = order(QueryDocument()).map { .field($0) }
    return query
  }
}

/// A query whose results can be counted.
public protocol CountableQuery: Sendable {
  /// Returns the number of results.
  ///
  /// - Throws: the errors of the query.
  func count() async throws -> Int
}

extension CountableQuery {
  /// The number of results, as for a collection.
  ///
  /// - Throws: the errors of the query.
  public var count: Int { get async throws { try await count() } }
}

extension Query: CountableQuery {}

extension Query: RowSource {
  var database: Database { collection.database }

  func findRows(
    _ columns: [FieldPath]?, _ values: (inout CoveringRow) throws -> Bool?,
    _ document: (MatchedDocument) throws -> Bool
  ) throws {
    guard let columns else { return try find(document) }
    let find = try preparedFind()
    do {
      let reads = try collection.reads()
      try withoutActuallyEscaping(values) { values in
        try withoutActuallyEscaping(document) { document in
          try reads.findRows(find, columns, RowReceiver(values: values, document: document))
        }
      }
    } catch { throw DatabaseError.translated(error) }
  }

  func integers(_ field: FieldPath, otherwise read: (MatchedDocument) throws -> Int) throws -> [Int] {
    let find = try preparedFind()
    do { return try collection.reads().findIntegers(find, field, read) } catch {
      throw DatabaseError.translated(error)
    }
  }

  /// Returns the total of the numbers in a field of all matching documents.
  func total(
    of path: FieldPath, isWhole: Bool, _ add: (MatchedDocument, inout NumberTotal) throws -> Void
  ) throws -> NumberTotal {
    let find = try preparedFind()
    do {
      return try collection.reads().total(find, of: path, isWhole: isWhole, add)
    } catch { throw DatabaseError.translated(error) }
  }

  func explainRows(_ columns: [FieldPath]?) throws -> QueryPlan {
    let find = try preparedFind()
    let reads = try collection.reads()
    return try reads.explain(find, columns)
  }
}

/// The prepared form of a query, created by the first run and kept for later ones.
private final class PreparedQuery: Sendable {
  private let kept = LazyReference<PreparedFind>()

  func find(_ request: () throws -> FindRequest) throws -> PreparedFind {
    if let find = kept.value { return find }
    return kept.storeIfNil(PreparedFind(try request()))
  }
}

extension DocumentCollection {
  /// Returns a query for documents decoded as a type. See ``Query``.
  public func query<Value: Decodable & Sendable>(_ type: Value.Type) -> Query<Value> {
    Query(self) { [name] document in
      try document.decode(type, in: name)
    }
  }

  /// Returns a query for documents without a type. See ``Query``.
  public func query() -> Query<Document> {
    Query(self) { document in
      Document(document.id, document.head, document.bytes)
    } list: { room, find in
      var list: [Document] = []
      list.reserveCapacity(room)
      try find { document in
        list.append(Document(document.id, document.head, document.bytes))
        return true
      }
      return list
    }
  }
}
