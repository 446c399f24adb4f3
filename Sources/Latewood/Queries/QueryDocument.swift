import LatewoodDocuments
import LatewoodQuery

/// A document in the closures of a query: provides its fields, its id and its revision.
@dynamicMemberLookup
public struct QueryDocument<Value>: Sendable {
  init() {}

  /// The id of the document.
  public var documentID: QueryField<String> { QueryField(.success(MatchedDocument.idField)) }

  /// The id of its current revision.
  public var revisionID: QueryField<String> { QueryField(.success(MatchedDocument.revisionField)) }

  /// A member by its name, of any type.
  public subscript(_ name: String) -> AnyQueryField { AnyQueryField(.success(FieldPath(name))) }

  /// The field at a path: `address.phones[0]`, with a backslash before a dot that belongs to a
  /// name.
  public subscript(path text: String) -> AnyQueryField {
    do throws(QueryError) {
      return AnyQueryField(.success(try FieldPath(parsing: text)))
    } catch {
      return AnyQueryField(.failure(DatabaseError(.invalidParameter, error.description)))
    }
  }
}

// The subscripts apply to different types. This lets the compiler name a member that does not
// exist.

extension QueryDocument where Value: Decodable {
  /// A stored member of the type.
  public subscript<Member>(dynamicMember member: KeyPath<Value, Member>) -> QueryField<Member> {
    QueryField<Member>(MemberNames.path(of: member))
  }
}

extension QueryDocument {
  /// A stored member of the type of a ``TypedCollection``.
  public subscript<Typed, Member>(
    dynamicMember member: KeyPath<Typed, Member>
  ) -> QueryField<Member> where Value == Stored<Typed> {
    QueryField<Member>(MemberNames.path(of: member))
  }
}

extension QueryDocument where Value == Document {
  /// Not a field of the content: see ``documentID``.
  @available(*, unavailable, renamed: "documentID")
  public var id: QueryField<String> { documentID }
}
