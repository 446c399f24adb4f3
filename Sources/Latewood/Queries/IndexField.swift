import LatewoodDocuments
import LatewoodQuery

/// A field of an index: a path such as `"address.city"`, in one of two directions.
///
/// ```swift
/// ["address.city", .descending("age")]
/// [.each("cast")]                         // one entry for each element of the array
/// ```
public struct IndexField: Sendable, ExpressibleByStringLiteral {
  let part: Result<IndexDefinition.Part, DatabaseError>

  init(_ part: Result<IndexDefinition.Part, DatabaseError>) { self.part = part }

  private init(_ path: String, isDescending: Bool = false, isEach: Bool = false) {
    do throws(QueryError) {
      part = .success(
        IndexDefinition.Part(try FieldPath(parsing: path), isDescending: isDescending, isEach: isEach))
    } catch {
      part = .failure(DatabaseError(.invalidParameter, error.description))
    }
  }

  /// The field that a path leads to, from the least value to the greatest.
  public init(stringLiteral path: String) { self.init(path) }

  /// The field that a path leads to, from the least value to the greatest. A backslash stands
  /// before a dot that belongs to a name.
  public static func ascending(_ path: String) -> IndexField { IndexField(path) }
  /// The field that a path leads to, from the greatest value to the least.
  public static func descending(_ path: String) -> IndexField { IndexField(path, isDescending: true) }
  /// The elements of the array that a path leads to. Documents without an array there are not in
  /// the index, and an index has one such field at most.
  public static func each(_ path: String) -> IndexField { IndexField(path, isEach: true) }
}

/// What an index can be of: a ``QueryField``, its `ascending`, `descending` or `each`, or an
/// ``IndexField``.
public protocol IndexFieldSource {
  var indexField: IndexField { get }
}

extension IndexField: IndexFieldSource {
  public var indexField: IndexField { self }
}

extension QueryOrder: IndexFieldSource {
  public var indexField: IndexField {
    IndexField(order.map { IndexDefinition.Part($0.path, isDescending: $0.isDescending) })
  }
}

extension QueryField: IndexFieldSource {
  public var indexField: IndexField { ascending.indexField }
}

extension QueryField where Value: Sequence {
  /// One entry for each element of the array, for an index.
  public var each: IndexField { IndexField(path.map { IndexDefinition.Part($0, isEach: true) }) }
}

extension AnyQueryField: IndexFieldSource {
  public var indexField: IndexField { ascending.indexField }
  /// One entry for each element of the array, for an index.
  public var each: IndexField { IndexField(path.map { IndexDefinition.Part($0, isEach: true) }) }
}
