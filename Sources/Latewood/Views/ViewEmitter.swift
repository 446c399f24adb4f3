import LatewoodDocuments
import LatewoodFleece

/// Receives the rows that the map of a view emits for a document. It is valid only during the call
/// of the map.
///
/// ```swift
/// let view = try movies.view("by tag", version: 1) { movie, emit in
///   for tag in movie["tags"] { emit(tag, movie["score"]) }
///   emit([movie["year"], movie["title"]])
/// }
/// ```
///
/// Emitting does not throw. An invalid key (NaN, arrays nested more than 512 levels deep, more than
/// 8,192 bytes) or a value that cannot be stored makes the document fail, like an error that the
/// map throws.
public struct ViewEmitter {
  private let rows: RowCollector

  init(_ rows: RowCollector) { self.rows = rows }

  /// Emits a row. O(bytes).
  ///
  /// - Parameters:
  ///   - key: the key by which rows are sorted: any value, including null. A missing value counts
  ///     as null.
  ///   - value: the value of the row. A missing value counts as null.
  public func callAsFunction(_ key: DocumentValue, _ value: DocumentValue = .null) {
    do throws(FleeceError) {
      let stored: [UInt8] = value.exists && !value.isNull ? try value.fleece() : []
      let key = FleeceBody(written: try key.fleece())
      try key.withRoot { key throws(FleeceError) in rows.emit(key, stored) }
    } catch { rows.fail("it emits what cannot be stored: \(error.reason)") }
  }

  /// Emits a row with a key of any type that a document can hold, and the value null. O(bytes).
  ///
  /// - Parameter key: the key by which rows are sorted; nil for null.
  public func callAsFunction(_ key: some DocumentValueConvertible) { self(key.documentValue) }

  /// Emits a row with a key and a value of any types that a document can hold. O(bytes).
  ///
  /// - Parameters:
  ///   - key: the key by which rows are sorted; nil for null.
  ///   - value: the value of the row; nil for null.
  public func callAsFunction(_ key: some DocumentValueConvertible, _ value: some DocumentValueConvertible) {
    self(key.documentValue, value.documentValue)
  }
}
