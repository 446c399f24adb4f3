import LatewoodDocuments
import LatewoodQuery

/// A field to sort by, ascending or descending.
public struct QueryOrder: Sendable {
  let order: Result<FindRequest.Order, DatabaseError>
}

/// A sort key of a query.
enum QuerySortKey {
  case field(QueryOrder)
  /// The scores by a full-text index, the best first. An empty name is the index of the first
  /// condition on words.
  case scores(index: String)
}

/// A sort key of a query: a field, which sorts in ascending order, or its `ascending` or
/// `descending`.
public protocol QueryOrdering {
  /// The field and its direction.
  var queryOrder: QueryOrder { get }
}

extension QueryOrder: QueryOrdering {
  /// This order.
  public var queryOrder: QueryOrder { self }
}

extension QueryField: QueryOrdering {
  /// The field, ascending.
  public var queryOrder: QueryOrder { ascending }
  /// Ascending order; documents without the field come first.
  public var ascending: QueryOrder { QueryOrder(order: path.map { FindRequest.Order($0) }) }
  /// Descending order; documents without the field come last.
  public var descending: QueryOrder {
    QueryOrder(order: path.map { FindRequest.Order($0, isDescending: true) })
  }
}

extension AnyQueryField: QueryOrdering {
  /// The field, ascending.
  public var queryOrder: QueryOrder { ascending }
  /// Ascending order; documents without the field come first.
  public var ascending: QueryOrder { QueryOrder(order: path.map { FindRequest.Order($0) }) }
  /// Descending order; documents without the field come last.
  public var descending: QueryOrder {
    QueryOrder(order: path.map { FindRequest.Order($0, isDescending: true) })
  }
}
