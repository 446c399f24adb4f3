import LatewoodDocuments
import LatewoodQuery

/// A field of an index: a path such as `"address.city"`, ascending or descending.
///
/// ```swift
/// try people.createIndex("by city", on: ["address.city", .descending("age")])
/// try movies.createIndex("by actor", on: ["cast[]"])         // one entry for each element
/// ```
public struct IndexField: Sendable, ExpressibleByStringLiteral {
  let part: Result<IndexDefinition.Part, DatabaseError>

  init(_ part: Result<IndexDefinition.Part, DatabaseError>) { self.part = part }

  private init(_ path: String, isDescending: Bool = false, isEach: Bool = false) {
    self.init { () throws(QueryError) in
      IndexDefinition.Part(try FieldPath(parsing: path), isDescending: isDescending, isEach: isEach)
    }
  }

  private init(_ parse: () throws(QueryError) -> IndexDefinition.Part) {
    do throws(QueryError) {
      part = .success(try parse())
    } catch {
      part = .failure(DatabaseError(.invalidParameter, error.description))
    }
  }

  /// Creates the field at a path, in ascending order. With `[]` at its end, as in query plans, it
  /// is the same as ``each(_:)``. Write a backslash before a dot or bracket that belongs to a name:
  /// `"tags\\[]"` is a member called `tags[]`.
  public init(stringLiteral path: String) {
    self.init { () throws(QueryError) in try IndexDefinition.Part(parsingPath: path) }
  }

  /// Returns the field at a path, in ascending order. Write a backslash before a dot or bracket
  /// that belongs to a name.
  public static func ascending(_ path: String) -> IndexField { IndexField(path) }
  /// Returns the field at a path, in descending order.
  public static func descending(_ path: String) -> IndexField { IndexField(path, isDescending: true) }
  /// Returns the elements of the array at a path. Documents without an array there are not in the
  /// index. An index can have at most one such field.
  public static func each(_ path: String) -> IndexField { IndexField(path, isEach: true) }
}

/// A field for an index: a ``QueryField``, its `ascending`, `descending` or `each`, or an
/// ``IndexField``.
public protocol IndexFieldSource {
  /// The field of an index.
  var indexField: IndexField { get }
}

extension IndexField: IndexFieldSource {
  /// This field.
  public var indexField: IndexField { self }
}

extension QueryOrder: IndexFieldSource {
  /// The field in this order.
  public var indexField: IndexField {
    IndexField(order.map { IndexDefinition.Part($0.path, isDescending: $0.isDescending) })
  }
}

extension QueryField: IndexFieldSource {
  /// The field, ascending.
  public var indexField: IndexField { ascending.indexField }
}

extension QueryField where Value: Sequence {
  /// One entry for each element of the array, for an index.
  public var each: IndexField { IndexField(path.map { IndexDefinition.Part($0, isEach: true) }) }
}

extension AnyQueryField: IndexFieldSource {
  /// The field, ascending.
  public var indexField: IndexField { ascending.indexField }
  /// One entry for each element of the array, for an index.
  public var each: IndexField { IndexField(path.map { IndexDefinition.Part($0, isEach: true) }) }
}
