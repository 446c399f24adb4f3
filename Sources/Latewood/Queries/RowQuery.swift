import LatewoodDocuments
import LatewoodFleece
import LatewoodQuery

/// A query for some fields of each document: see ``Query/select(_:)``.
///
/// If the plan reads an index that holds all the fields and has exactly the documents of the query,
/// the rows come from the index and no document is read: ``explain()`` says `covering`. Only
/// columns of numbers, strings, booleans and optionals of them come from an index.
public struct RowQuery<each Column: Decodable & Sendable>: Sendable {
  private let source: any RowSource
  private let columns: (repeat ColumnReader<each Column>)

  init(_ source: any RowSource, _ fields: repeat QueryField<each Column>) {
    self.source = source
    columns = (repeat ColumnReader(each fields))
  }

  /// Returns a row for each document that is found, in order.
  ///
  /// A column of an optional type is nil where the document does not have the field.
  ///
  /// - Throws: `DecodingError` if a field is missing or of another type than its column; otherwise
  ///   like ``Query``.
  public func rows() throws -> [(repeat each Column)] {
    let (paths, arePlain) = try columnPaths()
    var rows: [(repeat each Column)] = []
    try source.findRows(arePlain ? paths : nil) { row in
      switch row {
      case .document(let document):
        rows.append((repeat try (each columns).value(in: document)))
      case .values(_, let values):
        guard let row = held(values) else { return nil }
        rows.append(row)
      }
      return true
    }
    return rows
  }

  /// Returns the plan by which the rows would be found in the current state of the database.
  /// O(log n) for each index.
  public func explain() throws -> QueryPlan {
    let (paths, arePlain) = try columnPaths()
    return try source.explainRows(arePlain ? paths : nil)
  }

  /// Returns the row that values from an index make up; nil if the document is needed.
  private func held(_ values: [ScalarValue]) -> (repeat each Column)? {
    var cursor = ValueCursor(values)
    do {
      return (repeat try cursor.next(each columns))
    } catch {
      return nil
    }
  }

  private func columnPaths() throws -> (paths: [FieldPath], arePlain: Bool) {
    var paths: [FieldPath] = []
    var arePlain = true
    for column in repeat each columns {
      paths.append(try column.path.get())
      arePlain = arePlain && column.plain != nil
    }
    return (paths, arePlain)
  }
}

/// A query that can deliver rows of fields.
protocol RowSource: Sendable {
  /// Calls a closure with each row until it returns false. If it returns nil for a row of index
  /// values, it is called again with the document.
  ///
  /// - Parameter columns: the fields that an index may supply; nil for whole documents.
  func findRows(_ columns: [FieldPath]?, _ body: (FoundRow) throws -> Bool?) throws
  func explainRows(_ columns: [FieldPath]?) throws -> QueryPlan
}

/// Thrown if a value from an index is not enough, so that the document must be read: it has the
/// value, or shows the error.
private struct DocumentNeeded: Error {}

/// A position among the values of a row, which are consumed one by one.
private struct ValueCursor {
  private let values: [ScalarValue]
  private var place = 0

  init(_ values: [ScalarValue]) { self.values = values }

  mutating func next<Column>(_ column: ColumnReader<Column>) throws -> Column {
    defer { place += 1 }
    guard let value = column.plain?(values[place]) else { throw DocumentNeeded() }
    return value
  }
}
