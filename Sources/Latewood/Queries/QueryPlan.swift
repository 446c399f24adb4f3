import LatewoodDocuments

/// How a query is answered: what ``Query/explain()`` gives.
///
/// ```
/// index "by year": 312 entries in 1 range; then filtered
/// all documents: 36273; an index on year,title would help
/// ```
public struct QueryPlan: Sendable, Equatable {
  /// The indexes that are read, by name; none if all documents are looked at.
  public let indexes: [String]
  /// Entries of indexes, or documents, that are in the ranges that are read. With a limit it may
  /// end before the last.
  public let candidates: Int
  /// Whether documents have to be looked at to know whether they match.
  public let filters: Bool
  /// Whether what is found has to be sorted.
  public let sorts: Bool
  /// Fields of an index that would help, with commas between, where no index is used; nil if none
  /// would.
  public let suggestion: String?
  private let text: String

  init(_ explanation: FindExplanation) {
    indexes = explanation.uses.map(\.index)
    candidates = explanation.candidates
    filters = explanation.filters
    sorts = explanation.sorts
    suggestion = explanation.suggestion
    text = explanation.description
  }
}

extension QueryPlan: CustomStringConvertible {
  public var description: String { text }
}
