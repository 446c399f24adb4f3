import LatewoodDocuments
import LatewoodFleece
import LatewoodQuery

/// A query for some fields of each document: see ``Query/select(_:)``.
public struct RowQuery<each Column: Decodable & Sendable>: Sendable {
  private let find: @Sendable ((FoundDocument) throws -> Bool) throws -> Void
  private let columns: (repeat QueryField<each Column>)

  init<Value>(_ query: Query<Value>, _ columns: repeat QueryField<each Column>) {
    find = { body in try query.find(body) }
    self.columns = (repeat each columns)
  }

  /// A row for each document that is found, in order.
  ///
  /// A column of an optional type is nil where the document does not have the field.
  ///
  /// - Throws: `DecodingError` if a field is missing or of another type than its column; else as
  ///   ``Query``.
  public func rows() throws -> [(repeat each Column)] {
    var rows: [(repeat each Column)] = []
    try find { document in
      rows.append((repeat try QueryColumn.value(of: each columns, in: document)))
      return true
    }
    return rows
  }
}

/// Reads one field of a document as its type.
private enum QueryColumn {
  static func value<Value: Decodable>(
    of field: QueryField<Value>, in document: FoundDocument
  ) throws -> Value {
    let path = try field.path.get()
    let element = try document.withField(path) { lookup throws(FleeceError) -> FleeceElement? in
      guard let value = lookup.value else { return nil }
      var writer = FleeceWriter()
      try writer.value(value)
      return try FleeceBody(written: try writer.finish()).root
    }
    if let element { return try FleeceDecoder(special: SpecialTypes()).decode(Value.self, from: element) }
    if let optional = Value.self as? any ExpressibleByNilLiteral.Type, let none = nothing(optional) as? Value
    {
      return none
    }
    throw DecodingError.valueNotFound(
      Value.self,
      DecodingError.Context(
        codingPath: [], debugDescription: "The document \(document.id) has no field \(path.text)."))
  }

  private static func nothing<Optional: ExpressibleByNilLiteral>(_ type: Optional.Type) -> Any {
    let nothing: Optional = nil
    return nothing
  }
}
