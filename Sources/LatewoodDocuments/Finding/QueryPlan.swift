/// The plan for a query: the result of ``Query/explain()-4g792``.
///
/// ```
/// index "by year": 312 entries in 1 range; then filtered
/// index "by year": 312 entries in 1 range; covering
/// full-text index "by text": about 312 documents; then filtered; ranked
/// all documents: 36273; an index on year,title would help
/// ids: 2 documents in 2 ranges
/// ```
public struct QueryPlan: Sendable, Equatable {
  package struct Use: Sendable, Equatable {
    package var index: String
    /// The number of ranges that are read.
    package var ranges: Int
    /// The number of entries in them.
    package var entries: Int
    /// Whether it is a full-text index. It has no ranges, and its entries are estimated.
    package var isFullText = false
  }

  /// The indexes that are read; empty for a scan.
  package let uses: [Use]
  /// The number of ranges of ids that a scan reads; nil if it reads all documents, or there is
  /// none.
  package let idRanges: Int?
  /// Whether the index contains all fields of the rows, so that no document is read.
  public internal(set) var isCovering: Bool
  /// Whether documents must be read to decide whether they match.
  public internal(set) var filters: Bool
  /// Whether the results must be sorted.
  public internal(set) var sorts: Bool
  /// Whether the results are ordered by their scores in a full-text index.
  public internal(set) var isRanked = false
  /// The number of index entries or documents in the ranges to read. With a limit, the query may
  /// end before the last of them.
  public let candidates: Int
  /// The fields, separated by commas, of an index that would help; nil if an index is used, if none
  /// would help, or if such an index exists but costs more than scanning all documents.
  public let suggestion: String?

  /// The names of the indexes that are read; empty if all documents are scanned.
  public var indexes: [String] { uses.map(\.index) }
  package var isScan: Bool { uses.isEmpty }
}

extension QueryPlan: CustomStringConvertible {
  /// The plan in one line.
  public var description: String {
    var parts: [String] = []
    if let idRanges {
      parts.append("ids: \(candidates) documents in \(idRanges == 1 ? "1 range" : "\(idRanges) ranges")")
    } else if uses.isEmpty {
      parts.append("all documents: \(candidates)")
    } else {
      for use in uses {
        if use.isFullText {
          parts.append("full-text index \"\(use.index)\": about \(use.entries) documents")
          continue
        }
        let ranges = use.ranges == 1 ? "1 range" : "\(use.ranges) ranges"
        parts.append("index \"\(use.index)\": \(use.entries) entries in \(ranges)")
      }
    }
    if isCovering { parts.append("covering") }
    if filters { parts.append("then filtered") }
    if sorts { parts.append("then sorted") }
    if isRanked { parts.append("ranked") }
    if let suggestion { parts.append("an index on \(suggestion) would help") }
    return parts.joined(separator: "; ")
  }
}
