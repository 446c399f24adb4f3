import LatewoodDocuments
import LatewoodFleece
import LatewoodQuery

/// A query for some fields of each document: see ``Query/select(_:)``.
///
/// If the plan reads an index that contains all the fields and exactly the documents of the query,
/// the rows are read from the index and no document is read: the plan is `covering`. Only numbers,
/// strings, Booleans and optionals of these can be read from an index.
public struct RowQuery<each Column: Decodable & Sendable>: Sendable {
  private let source: any RowSource
  private let columns: (repeat ColumnReader<each Column>)
  /// The fields, or the error of one of them.
  private let paths: Result<[FieldPath], DatabaseError>
  /// Whether an index can supply the columns.
  private let arePlain: Bool

  init(_ source: any RowSource, _ fields: repeat QueryField<each Column>) {
    self.source = source
    columns = (repeat ColumnReader(each fields))
    var paths = Result<[FieldPath], DatabaseError>.success([])
    var arePlain = true
    for column in repeat each columns {
      paths = paths.flatMap { paths in column.path.map { paths + [$0] } }
      arePlain = arePlain && column.isPlain
    }
    (self.paths, self.arePlain) = (paths, arePlain)
  }

  /// Returns a row for each matching document, in order.
  ///
  /// A column of an optional type is nil where the document does not have the field.
  ///
  /// - Throws: `DecodingError` if a field is missing or of another type than its column; otherwise
  ///   like ``Query``.
  public func rows() throws -> [(repeat each Column)] {
    let paths = try paths.get()
    if arePlain, paths.count == 1 {
      // A tuple of one type is that type, which is much faster than a parameter pack.
      for column in repeat each columns {
        // As `Any`, because a cast between arrays would examine each element.
        let list: Any? = try column.list(from: source)
        if let rows = list as? [(repeat each Column)] { return rows }
      }
    }
    var rows: [(repeat each Column)] = []
    try source.findRows(arePlain ? paths : nil) { values in
      do {
        rows.append((repeat try values.next(as: each columns)))
      } catch {
        return nil
      }
      return true
    } _: { document in
      rows.append((repeat try (each columns).value(in: document)))
      return true
    }
    return rows
  }

  /// Returns the plan for the rows in the current state of the database. O(log n) for each index.
  ///
  /// - Throws: ``DatabaseError`` `invalidParameter` if a condition, an order or a column is not
  ///   valid; otherwise like every read.
  public func explain() throws -> QueryPlan {
    let paths = try paths.get()
    return try source.explainRows(arePlain ? paths : nil)
  }

  /// Returns a row for each matching document, in order, without blocking the caller's thread.
  ///
  /// - Throws: like every async read; see ``DatabaseError``.
  public func rows() async throws -> [(repeat each Column)] {
    try await source.database.performing { try rows() }
  }

  /// Returns the plan for the rows, without blocking the caller's thread.
  ///
  /// - Throws: like every async read; see ``DatabaseError``.
  public func explain() async throws -> QueryPlan {
    try await source.database.performing { try explain() }
  }
}

/// A query that can provide rows of fields.
protocol RowSource: Sendable {
  /// The database to read.
  var database: Database { get }
  /// Calls one of two closures for each row, until it returns false.
  ///
  /// - Parameters:
  ///   - columns: the fields that an index may supply; nil for entire documents.
  ///   - values: called with the values from an index. If it returns nil, `document` is called with
  ///     the document of the row.
  ///   - document: called with the document of a row.
  func findRows(
    _ columns: [FieldPath]?, _ values: (inout CoveringRow) throws -> Bool?,
    _ document: (MatchedDocument) throws -> Bool
  ) throws
  /// Returns an integer field of each row.
  ///
  /// - Parameter read: returns the field of a document whose integer an index does not supply.
  func integers(_ field: FieldPath, otherwise read: (MatchedDocument) throws -> Int) throws -> [Int]
  func explainRows(_ columns: [FieldPath]?) throws -> QueryPlan
}

/// The error that is thrown if an index cannot supply a value. The document is then decoded, which
/// produces the value or the error to report.
private struct DocumentNeeded: Error {}

extension CoveringRow {
  /// Returns the value of the next column as its Swift type.
  fileprivate mutating func next<Column>(as column: ColumnReader<Column>) throws(DocumentNeeded) -> Column {
    guard let value = next(), let held = column.plain?(value) else { throw DocumentNeeded() }
    return held
  }
}
