import LatewoodDocuments
import LatewoodFleece

/// A row of a view.
public struct ViewRow: Sendable {
  /// The id of the document that emitted the row.
  public let documentID: String
  /// The emitted key. Whole numbers are integers, even if they were emitted as floating-point
  /// numbers.
  public let key: DocumentValue
  /// The emitted value.
  public let value: DocumentValue
  /// The current revision of the document, if the query includes documents.
  public internal(set) var document: Document?

  init(_ row: StoredRow) throws(DatabaseError) {
    documentID = row.id
    key = try DocumentValue(fleece: row.emittedKey())
    let value = row.copiedValue
    self.value = value.isEmpty ? .null : try DocumentValue(fleece: value)
  }
}

/// Rows with the same key, or with the same first elements of their keys, combined into one value.
public struct ViewGroup: Sendable {
  /// The key, or the common elements of the keys as an array.
  public let key: DocumentValue
  /// The result of the reduction.
  public let value: DocumentValue
}

extension DocumentValue {
  /// Creates a value from bytes that were read from the file or have just been encoded.
  fileprivate init(fleece: [UInt8]) throws(DatabaseError) {
    do throws(FleeceError) { self.init(stored: try FleeceBody(fleece).root) } catch {
      throw DatabaseError(.corruptData, "a row of a view is damaged: \(error)")
    }
  }
}

extension ViewGroup {
  init(_ group: ViewReads.Group, _ value: DocumentValue) throws(DatabaseError) {
    self.init(key: try DocumentValue(fleece: group.key), value: value)
  }
}
