import LatewoodDocuments
import LatewoodFleece
import LatewoodQuery

/// A query of a database in SQL++: see ``Database/query(_:_:)-(_,[String:DocumentValue])``.
///
/// A query is a value that can be kept and run again. Each run reads one state of the database;
/// inside a batch, the state of the batch. Rows are ordered by the id of their documents unless the
/// statement sorts them.
///
/// A sort keeps its rows in memory, or with LIMIT only as many as needed, and GROUP BY its groups.
/// If they need more than 64 MiB, they come in parts, and the documents are read again for each
/// further part. So do the rows of DISTINCT, whose order is then not specified without ORDER BY,
/// and the values of `COUNT(DISTINCT x)` and the like.
///
/// Errors: ``DatabaseError`` `notFound` if the collection does not exist, `invalidParameter`,
/// `notOpen`, `corruptData`; the `DecodingError` of a row that is not of the type.
public struct SQLQuery: Sendable {
  private let database: Database
  private let program: SQLProgram
  var limits = SQLLimits()

  init(_ database: Database, _ program: SQLProgram) {
    self.database = database
    self.program = program
  }

  /// Returns the rows, in order: each is an object whose members are the columns, or after
  /// `SELECT RAW` the value of the only column.
  ///
  /// - Throws: ``DatabaseError`` `notFound` if there is no such collection; `invalidParameter` if
  ///   the work on a document or a group grows too large; otherwise like every read.
  public func rows() throws -> [DocumentValue] {
    var rows: [DocumentValue] = []
    try forEach { row in
      rows.append(row)
      return true
    }
    return rows
  }

  /// Returns the rows, in order, decoded as a type. The rows of `SELECT RAW title` are strings, for
  /// example, and `rows(as: String?.self)` returns nil for documents without the member.
  ///
  /// - Throws: ``DatabaseError`` `notFound` if there is no such collection; `invalidParameter` if
  ///   the work on a document or a group grows too large; otherwise like every read; the
  ///   `DecodingError` of a row that is not of the type.
  public func rows<Value: Decodable>(as type: Value.Type) throws -> [Value] {
    var rows: [Value] = []
    try find { row in
      rows.append(try FleeceDecoder(special: SpecialTypes()).decode(type, from: row.root))
      return true
    }
    return rows
  }

  /// Calls a closure with each row, in order, until it returns false. Keeps one in memory at a
  /// time, unless the statement sorts or groups. In a batch, the closure must not change the
  /// collection then, because its documents may be read again for further rows.
  ///
  /// - Throws: errors of the closure; ``DatabaseError`` `notFound` if there is no such collection;
  ///   `invalidParameter` if the work on a document or a group grows too large; otherwise like
  ///   every read.
  public func forEach(_ body: (DocumentValue) throws -> Bool) throws {
    try find { row in try body(DocumentValue(stored: row.root)) }
  }

  /// Returns the rows, in order, without blocking the caller's thread.
  ///
  /// - Throws: the errors of the blocking form; `CancellationError` if the task is cancelled before
  ///   all documents are read.
  public func rows() async throws -> [DocumentValue] { try await performing { query in try query.rows() } }

  /// Returns the rows, in order, decoded as a type, without blocking the caller's thread.
  ///
  /// - Throws: the errors of the blocking form; `CancellationError` if the task is cancelled before
  ///   all documents are read.
  public func rows<Value: Decodable & Sendable>(as type: Value.Type) async throws -> [Value] {
    try await performing { query in try query.rows(as: type) }
  }

  /// Returns the plan for the query in the current state of the database. O(log n) for each index.
  ///
  /// - Throws: ``DatabaseError`` `notFound` if the collection does not exist; `invalidParameter` if
  ///   the statement has no FROM; otherwise like every read.
  public func explain() throws -> QueryPlan {
    guard program.readsDocuments else {
      throw DatabaseError(.invalidParameter, "a statement without FROM reads no documents, so it has no plan")
    }
    let reads = try reads()
    return try reads.explain(program)
  }

  /// Returns the plan for the query, without blocking the caller's thread.
  ///
  /// - Throws: like every async read; see ``DatabaseError``.
  public func explain() async throws -> QueryPlan { try await database.performing { try explain() } }

  /// Runs a call on a Dispatch queue, with a query that ends when the task is cancelled.
  private func performing<R: Sendable>(
    _ body: @escaping @Sendable (SQLQuery) throws -> R
  ) async throws -> R {
    try await database.cancellable { database, check in
      var query = self
      query.limits.check = check
      return try await database.documents.perform { [query] in
        try check()
        return try QuerySteps(check).run { try body(query) }
      }
    }
  }

  private func reads() throws -> DocumentReads {
    guard let collection = try database.collection(program.collection) else {
      throw DatabaseError(.notFound, "no collection is named \(program.collection)")
    }
    return try collection.reads()
  }

  private func find(_ body: (FleeceBody) throws -> Bool) throws {
    let reads = try reads()
    do {
      try reads.query(program, limits: limits, body)
    } catch let error as QueryError {
      throw DatabaseError(error)
    } catch { throw DatabaseError.translated(error) }
  }
}

extension Database {
  /// Creates a query in SQL++, the dialect of Couchbase Lite.
  ///
  /// ```swift
  /// let films = try database.query(
  ///   "SELECT title, year FROM films WHERE year >= $since ORDER BY year LIMIT 20", ["since": 1975])
  /// for row in try await films.rows() { print(row["title"].string ?? "") }
  /// ```
  ///
  /// See <doc:AskingInSQL> for the supported statements and their memory limits.
  ///
  /// - Parameters:
  ///   - text: the statement, at most 256 KiB.
  ///   - parameters: the values of `$name`, by name.
  /// - Throws: ``DatabaseError`` `invalidParameter` with line and column if the statement is not
  ///   valid, or a parameter has no value or one that cannot be stored. Nothing is read before the
  ///   query runs.
  public func query(
    _ text: String, _ parameters: [String: DocumentValue] = [:]
  ) throws -> SQLQuery {
    var elements: [String: FleeceElement] = [:]
    for (name, value) in parameters {
      do throws(FleeceError) {
        elements[name] = try FleeceBody(value.fleece()).root
      } catch { throw DatabaseError(inValue: error) }
    }
    do throws(QueryError) {
      return SQLQuery(self, try SQLProgram(SQLStatement(parsing: text), parameters: elements))
    } catch { throw DatabaseError(error) }
  }
}

extension Database {
  /// Creates a query in SQL++ with parameters of any types that documents can contain. Otherwise
  /// like the form for `DocumentValue`s.
  ///
  /// ```swift
  /// let films = try database.query("SELECT title FROM films WHERE year >= $since", ["since": year])
  /// ```
  ///
  /// - Throws: ``DatabaseError`` `invalidParameter` with line and column if the statement is not
  ///   valid, or if a parameter has no value or one that cannot be stored.
  @_disfavoredOverload
  public func query(_ text: String, _ parameters: [String: Any?]) throws -> SQLQuery {
    var values: [String: DocumentValue] = [:]
    // Nil becomes null, because a parameter without a value is an error.
    for (name, value) in parameters { values[name] = try DocumentValue(plain: value).orNull }
    return try query(text, values)
  }
}

extension DatabaseError {
  /// Creates the error of a statement or of its execution.
  init(_ error: QueryError) {
    self.init(
      error.kind == .damaged ? .corruptData : .invalidParameter, error.reason,
      advice: error.position == nil ? nil : "Correct the statement at that position.")
    line = error.position?.line
    column = error.position?.column
    offset = error.position?.offset
  }
}
