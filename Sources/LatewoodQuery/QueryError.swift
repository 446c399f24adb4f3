/// An error in a query: its reason, and its location in the text of the query.
package struct QueryError: Error, Sendable, Equatable {
  package enum Kind: String, Sendable, CaseIterable {
    /// A path to a field is not valid.
    case invalidPath
    /// A selector is not valid.
    case invalidSelector
    /// An index definition is not valid.
    case invalidIndex
    /// A statement in SQL++ is not valid.
    case invalidStatement
    /// The text of a full-text query is not valid.
    case invalidText
    /// This operator or clause exists in another database, but is not supported here.
    case unsupported
    /// Conditions are nested too deeply.
    case tooDeep
    /// A query exceeds the limit on memory, or on work for one document.
    case tooLarge
    /// A stored value that a query read is damaged.
    case damaged
  }

  package var kind: Kind
  /// A description in one sentence.
  package var reason: String
  /// The path to the error in a selector, such as `year.$gt`. Empty for the root, and for other
  /// queries.
  package var place: String
  /// The position in the text of a statement; nil if the error has no position.
  package var position: TextPosition?

  package init(
    _ kind: Kind, _ reason: String, place: String = "", position: TextPosition? = nil
  ) {
    self.kind = kind
    self.reason = reason
    self.place = place
    self.position = position
  }
}

extension QueryError: CustomStringConvertible {
  package var description: String {
    if let position { return "\(reason) (line \(position.line), column \(position.column))" }
    return place.isEmpty ? reason : "\(reason) (at \(place))"
  }
}
