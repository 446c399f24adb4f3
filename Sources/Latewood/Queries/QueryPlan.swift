import LatewoodDocuments

/// The plan for a query: the result of ``Query/explain()-2cp1a``.
///
/// ```
/// index "by year": 312 entries in 1 range; then filtered
/// index "by year": 312 entries in 1 range; covering
/// all documents: 36273; an index on year,title would help
/// ids: 2 documents in 2 ranges
/// ```
public struct QueryPlan: Sendable, Equatable {
  /// The names of the indexes that are read; empty if all documents are scanned.
  public let indexes: [String]
  /// Whether the index contains all fields of the rows, so that no document is read.
  public let isCovering: Bool
  /// The number of index entries or documents in the ranges to read. With a limit, the query may
  /// end before the last of them.
  public let candidates: Int
  /// Whether documents must be read to decide whether they match.
  public let filters: Bool
  /// Whether the results must be sorted.
  public let sorts: Bool
  /// The fields, separated by commas, of an index that would help; nil if an index is used, if none
  /// would help, or if such an index exists but costs more than scanning all documents.
  public let suggestion: String?
  private let text: String

  init(_ explanation: FindExplanation) {
    indexes = explanation.uses.map(\.index)
    isCovering = explanation.isCovering
    candidates = explanation.candidates
    filters = explanation.filters
    sorts = explanation.sorts
    suggestion = explanation.suggestion
    text = explanation.description
  }
}

extension QueryPlan: CustomStringConvertible {
  /// The plan in one line.
  public var description: String { text }
}
