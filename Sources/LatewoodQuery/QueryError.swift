/// An error in a query: what is wrong, and where in its text.
package struct QueryError: Error, Sendable, Equatable {
  package enum Kind: String, Sendable, CaseIterable {
    /// A path to a field cannot be read.
    case invalidPath
    /// A selector says something that has no meaning.
    case invalidSelector
    /// An index that cannot be.
    case invalidIndex
    /// CouchDB or MongoDB know this operator, and this database does not have it.
    case unsupported
    /// Conditions inside each other beyond the limit.
    case tooDeep
    /// The stored value that a query looked at is damaged.
    case damaged
  }

  package var kind: Kind
  /// One sentence: what is wrong.
  package var reason: String
  /// Where in a selector: the names on the way to it, such as `year.$gt`. Empty for its root or for
  /// other queries.
  package var place: String

  package init(_ kind: Kind, _ reason: String, place: String = "") {
    self.kind = kind
    self.reason = reason
    self.place = place
  }
}

extension QueryError: CustomStringConvertible {
  package var description: String { place.isEmpty ? reason : "\(reason) (at \(place))" }
}
