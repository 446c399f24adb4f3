/// Runs of a query that do not block the caller's thread: they read on a Dispatch queue.
///
/// The closures that name fields and columns are called before the read begins, where the caller is
/// isolated, such as on the main actor.
extension Query {
  /// Returns the matching documents, in order, without blocking the caller's thread.
  ///
  /// - Throws: like every async query; see ``DatabaseError``.
  public func all() async throws -> [Value] { try await run { try $0.all() } }

  /// Returns the first matching document, without blocking the caller's thread; nil if there is
  /// none.
  ///
  /// - Throws: like every async query; see ``DatabaseError``.
  public func first() async throws -> Value? { try await run { try $0.first() } }

  /// Returns a page of the results, without blocking the caller's thread.
  ///
  /// - Parameters:
  ///   - start: the number of documents to skip, at least 0.
  ///   - count: the maximum number of documents to return, at least 0.
  /// - Throws: like every async query; see ``DatabaseError``.
  public func page(at start: Int, of count: Int) async throws -> [Value] {
    try await run { try $0.page(at: start, of: count) }
  }

  /// Returns the ids of the matching documents, in order, without blocking the caller's thread.
  ///
  /// - Throws: like every async query; see ``DatabaseError``.
  public func documentIDs() async throws -> [String] { try await run { try $0.documentIDs() } }

  /// Returns the plan for the query, without blocking the caller's thread.
  ///
  /// - Throws: like every async query; see ``DatabaseError``.
  public func explain() async throws -> QueryPlan { try await run { try $0.explain() } }

  // MARK: Aggregates

  /// Returns the number of matching documents, without blocking the caller's thread.
  ///
  /// - Throws: like every async query; see ``DatabaseError``.
  public func count() async throws -> Int { try await run { try $0.count() } }

  /// Returns whether the query finds any document, without blocking the caller's thread.
  ///
  /// - Throws: like every async query; see ``DatabaseError``.
  public func exists() async throws -> Bool { try await run { try $0.exists() } }

  /// Returns the sum of a field, without blocking the caller's thread; 0 if no document matches.
  ///
  /// - Throws: like every async query; see ``DatabaseError``.
  nonisolated(nonsending) public func sum<Number: QueryNumber>(
    _ field: (QueryDocument<Value>) -> QueryField<Number>
  ) async throws -> Number.Total {
    let field = field(QueryDocument())
    return try await run { try $0.sum { _ in field } }
  }

  /// Returns the mean of a field, without blocking the caller's thread; nil if no matching document
  /// has the field.
  ///
  /// - Throws: like every async query; see ``DatabaseError``.
  nonisolated(nonsending) public func average<Number: QueryNumber>(
    _ field: (QueryDocument<Value>) -> QueryField<Number>
  ) async throws -> Double? {
    let field = field(QueryDocument())
    return try await run { try $0.average { _ in field } }
  }

  /// Returns the minimum of a field, without blocking the caller's thread; nil if no matching
  /// document has the field.
  ///
  /// - Throws: like every async query; see ``DatabaseError``.
  nonisolated(nonsending) public func min<Member: Decodable & Sendable>(
    _ field: (QueryDocument<Value>) -> QueryField<Member>
  ) async throws -> Member? {
    let field = field(QueryDocument())
    return try await run { try $0.min { _ in field } }
  }

  /// Returns the maximum of a field, without blocking the caller's thread; nil if no matching
  /// document has the field.
  ///
  /// - Throws: like every async query; see ``DatabaseError``.
  nonisolated(nonsending) public func max<Member: Decodable & Sendable>(
    _ field: (QueryDocument<Value>) -> QueryField<Member>
  ) async throws -> Member? {
    let field = field(QueryDocument())
    return try await run { try $0.max { _ in field } }
  }

  /// Returns the distinct values of a field, in the order of their first occurrence, without
  /// blocking the caller's thread.
  ///
  /// - Throws: like every async query; see ``DatabaseError``.
  nonisolated(nonsending) public func distinct<Member: Decodable & Hashable & Sendable>(
    _ field: (QueryDocument<Value>) -> QueryField<Member>
  ) async throws -> [Member] {
    let field = field(QueryDocument())
    return try await run { try $0.distinct { _ in field } }
  }

  fileprivate func run<Result: Sendable>(
    _ body: @escaping @Sendable (Query) throws -> Result
  ) async throws -> Result {
    try await database.performing { try body(self) }
  }
}

/// `min` and `max` of fields that may be missing.
extension Query {
  /// Returns the minimum of an optional field, without blocking the caller's thread; nil if no
  /// matching document has the field.
  ///
  /// - Throws: like every async query; see ``DatabaseError``.
  nonisolated(nonsending) public func min<Member: Decodable & Sendable>(
    _ field: (QueryDocument<Value>) -> QueryField<Member?>
  ) async throws -> Member? {
    let field = field(QueryDocument())
    return try await run { try $0.min { _ in field } }
  }

  /// Returns the maximum of an optional field, without blocking the caller's thread; nil if no
  /// matching document has the field.
  ///
  /// - Throws: like every async query; see ``DatabaseError``.
  nonisolated(nonsending) public func max<Member: Decodable & Sendable>(
    _ field: (QueryDocument<Value>) -> QueryField<Member?>
  ) async throws -> Member? {
    let field = field(QueryDocument())
    return try await run { try $0.max { _ in field } }
  }
}

/// Aggregates of groups that do not block the caller's thread: they read on a Dispatch queue.
extension GroupedQuery {
  /// Returns the number of documents in each group, without blocking the caller's thread.
  ///
  /// - Throws: like every async query; see ``DatabaseError``.
  public func count() async throws -> [Key: Int] { try await run { try $0.count() } }

  /// Returns the sum of a field in each group, without blocking the caller's thread.
  ///
  /// - Throws: like every async query; see ``DatabaseError``.
  nonisolated(nonsending) public func sum<Number: QueryNumber>(
    _ field: (QueryDocument<Value>) -> QueryField<Number>
  ) async throws -> [Key: Number.Total] {
    let field = field(QueryDocument())
    return try await run { try $0.sum { _ in field } }
  }

  /// Returns the mean of a field in each group that has the field, without blocking the caller's
  /// thread.
  ///
  /// - Throws: like every async query; see ``DatabaseError``.
  nonisolated(nonsending) public func average<Number: QueryNumber>(
    _ field: (QueryDocument<Value>) -> QueryField<Number>
  ) async throws -> [Key: Double] {
    let field = field(QueryDocument())
    return try await run { try $0.average { _ in field } }
  }

  /// Returns the minimum of a field in each group that has the field, in Swift's order, without
  /// blocking the caller's thread.
  ///
  /// - Throws: like every async query; see ``DatabaseError``.
  nonisolated(nonsending) public func min<Member: Decodable & Comparable & Sendable>(
    _ field: (QueryDocument<Value>) -> QueryField<Member>
  ) async throws -> [Key: Member] {
    let field = field(QueryDocument())
    return try await run { try $0.min { _ in field } }
  }

  /// Returns the maximum of a field in each group that has the field, in Swift's order, without
  /// blocking the caller's thread.
  ///
  /// - Throws: like every async query; see ``DatabaseError``.
  nonisolated(nonsending) public func max<Member: Decodable & Comparable & Sendable>(
    _ field: (QueryDocument<Value>) -> QueryField<Member>
  ) async throws -> [Key: Member] {
    let field = field(QueryDocument())
    return try await run { try $0.max { _ in field } }
  }

  private func run<Result: Sendable>(
    _ body: @escaping @Sendable (GroupedQuery) throws -> Result
  ) async throws -> Result {
    try await query.database.performing { try body(self) }
  }
}

/// `min` and `max` of optional fields in groups.
extension GroupedQuery {
  /// Returns the minimum of an optional field in each group that has the field, without blocking
  /// the caller's thread.
  ///
  /// - Throws: like every async query; see ``DatabaseError``.
  nonisolated(nonsending) public func min<Member: Decodable & Comparable & Sendable>(
    _ field: (QueryDocument<Value>) -> QueryField<Member?>
  ) async throws -> [Key: Member] {
    let field = field(QueryDocument())
    return try await run { try $0.min { _ in field } }
  }

  /// Returns the maximum of an optional field in each group that has the field, without blocking
  /// the caller's thread.
  ///
  /// - Throws: like every async query; see ``DatabaseError``.
  nonisolated(nonsending) public func max<Member: Decodable & Comparable & Sendable>(
    _ field: (QueryDocument<Value>) -> QueryField<Member?>
  ) async throws -> [Key: Member] {
    let field = field(QueryDocument())
    return try await run { try $0.max { _ in field } }
  }
}
