import LatewoodFleece

/// A source of fields for a predicate: a value, or a document, whose id is also a field.
package protocol FieldSource {
  /// Calls `body` with the result of following a path; the value is valid only during the call.
  func withField<R>(
    _ path: FieldPath, _ body: (Lookup) throws(FleeceError) -> R
  ) throws(FleeceError) -> R
}

extension FleeceValue: FieldSource {
  package func withField<R>(
    _ path: FieldPath, _ body: (Lookup) throws(FleeceError) -> R
  ) throws(FleeceError) -> R {
    try body(path.lookup(in: self))
  }
}
