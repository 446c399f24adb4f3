/// Reads of a view that do not block the caller's thread: they run on a Dispatch queue.
extension DocumentView {
  /// Returns the rows that match a query, without blocking the caller's thread.
  ///
  /// - Throws: like every async read; see ``DatabaseError``.
  public func rows(_ query: ViewQuery = ViewQuery()) async throws -> [ViewRow] {
    try await database.performing { try rows(query) }
  }

  /// Returns the number of rows in the range of a query, without blocking the caller's thread.
  ///
  /// - Throws: like every async read; see ``DatabaseError``.
  public func count(_ query: ViewQuery = ViewQuery()) async throws -> Int {
    try await database.performing { try count(query) }
  }

  /// Returns the reduction of all rows in the range of a query, without blocking the caller's
  /// thread.
  ///
  /// - Throws: like every async read; see ``DatabaseError``.
  public func reduce(_ query: ViewQuery = ViewQuery()) async throws -> DocumentValue {
    try await database.performing { try reduce(query) }
  }

  /// Returns the statistics of all rows in the range of a query, without blocking the caller's
  /// thread.
  ///
  /// - Throws: like every async read; see ``DatabaseError``.
  public func statistics(_ query: ViewQuery = ViewQuery()) async throws -> ViewStatistics {
    try await database.performing { try statistics(query) }
  }

  /// Returns the reductions of rows with equal keys, without blocking the caller's thread.
  ///
  /// - Throws: like every async read; see ``DatabaseError``.
  public func groups(_ query: ViewQuery = ViewQuery(), level: Int? = nil) async throws -> [ViewGroup] {
    try await database.performing { try groups(query, level: level) }
  }

  /// Catches the view up, if it is behind, without blocking the caller's thread.
  ///
  /// - Throws: like every async call; see ``DatabaseError``.
  public func catchUp() async throws { try await database.performing { try catchUp() } }

  /// Returns the documents whose map has failed, by id, without blocking the caller's thread.
  ///
  /// - Throws: like every async read; see ``DatabaseError``.
  public func failures(limit: Int = .max) async throws -> [ViewFailure] {
    try await database.performing { try failures(limit: limit) }
  }
}
