import LatewoodQuery

/// A field of the documents of a query: its path and its type.
///
/// ```swift
/// let recent = movies.query(Movie.self).where { $0.year >= 1975 && $0.cast.contains("Harrison Ford") }
/// let porto = people.query().where { $0["address"]["city"] == "Porto" }
/// ```
///
/// Members of a type are named by key paths, which lead to the coding keys of the type; this needs
/// the names in Swift's reflection metadata. `$0["name"]` names any member by its coding key. A
/// query with a property that is computed, wrapped or overridable, or whose coding key cannot be
/// determined, throws `invalidParameter` when it runs; so does `createIndex`.
@dynamicMemberLookup
public struct QueryField<Value>: Sendable {
  let path: Result<FieldPath, DatabaseError>

  init(_ path: Result<FieldPath, DatabaseError>) { self.path = path }

  /// A stored member of the value.
  public subscript<Member>(dynamicMember member: KeyPath<Value, Member>) -> QueryField<Member> {
    QueryField<Member>(adding(MemberNames.path(of: member)))
  }

  /// A stored member of the value, if there is a value.
  public subscript<Wrapped, Member>(
    dynamicMember member: KeyPath<Wrapped, Member>
  ) -> QueryField<Member?> where Value == Wrapped? {
    QueryField<Member?>(adding(MemberNames.path(of: member)))
  }

  /// A stored optional member of the value, if there is a value.
  public subscript<Wrapped, Member>(
    dynamicMember member: KeyPath<Wrapped, Member?>
  ) -> QueryField<Member?> where Value == Wrapped? {
    QueryField<Member?>(adding(MemberNames.path(of: member)))
  }

  /// A member by its name, of any type.
  public subscript(_ name: String) -> AnyQueryField {
    AnyQueryField(adding(.success(FieldPath(name))))
  }

  private func adding(_ more: Result<FieldPath, DatabaseError>) -> Result<FieldPath, DatabaseError> {
    path.flatMap { path in more.map { FieldPath(steps: path.steps + $0.steps) } }
  }
}

/// A field of any type.
public struct AnyQueryField: Sendable {
  let path: Result<FieldPath, DatabaseError>

  init(_ path: Result<FieldPath, DatabaseError>) { self.path = path }

  /// A member by its name.
  public subscript(_ name: String) -> AnyQueryField {
    AnyQueryField(path.map { FieldPath(steps: $0.steps + FieldPath(name).steps) })
  }

  /// An element of an array by its index, from 0.
  public subscript(_ index: Int) -> AnyQueryField { self[String(index)] }

  /// Returns the same field with a type, for the operators of that type.
  public func `as`<Value>(_ type: Value.Type) -> QueryField<Value> { QueryField(path) }
}
