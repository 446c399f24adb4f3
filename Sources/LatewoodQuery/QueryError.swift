/// An error in a query: what is wrong, and where in its text.
package struct QueryError: Error, Sendable, Equatable {
  package enum Kind: String, Sendable, CaseIterable {
    /// A path to a field cannot be read.
    case invalidPath
    /// A selector has no meaning.
    case invalidSelector
    /// An index definition is not valid.
    case invalidIndex
    /// A statement in SQL++ is not valid.
    case invalidStatement
    /// Another database has this operator or clause, but this database does not.
    case unsupported
    /// Conditions are nested too deeply.
    case tooDeep
    /// A query needs more memory, or more work for one document, than is allowed.
    case tooLarge
    /// The stored value that a query looked at is damaged.
    case damaged
  }

  package var kind: Kind
  /// One sentence that says what is wrong.
  package var reason: String
  /// The place in a selector: the names that lead there, such as `year.$gt`. Empty for the root,
  /// and for other queries.
  package var place: String
  /// The position in the text of a statement; nil if the error is not about a place.
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
