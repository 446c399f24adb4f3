/// The description of the plan for a request.
package struct FindExplanation: Sendable, Equatable {
  package struct Use: Sendable, Equatable {
    package var index: String
    /// The number of ranges that are read.
    package var ranges: Int
    /// The number of entries in them.
    package var entries: Int
  }

  /// The indexes that are read; empty for a scan.
  package var uses: [Use]
  /// The number of ranges of ids that a scan reads; nil if it reads all documents, or there is
  /// none.
  package var idRanges: Int?
  /// Whether the index contains all the fields to find, so that no document is read.
  package var isCovering: Bool
  /// Whether documents must be read to decide whether they match.
  package var filters: Bool
  /// Whether the result is sorted afterwards.
  package var sorts: Bool
  /// The number of documents or entries in the ranges.
  package var candidates: Int
  /// The fields of an index that does not exist and would help; nil if the plan uses an index, or
  /// if no other would help.
  package var suggestion: String?

  package var isScan: Bool { uses.isEmpty }
}

extension FindExplanation: CustomStringConvertible {
  package var description: String {
    var parts: [String] = []
    if let idRanges {
      parts.append("ids: \(candidates) documents in \(idRanges == 1 ? "1 range" : "\(idRanges) ranges")")
    } else if uses.isEmpty {
      parts.append("all documents: \(candidates)")
    } else {
      for use in uses {
        let ranges = use.ranges == 1 ? "1 range" : "\(use.ranges) ranges"
        parts.append("index \"\(use.index)\": \(use.entries) entries in \(ranges)")
      }
    }
    if isCovering { parts.append("covering") }
    if filters { parts.append("then filtered") }
    if sorts { parts.append("then sorted") }
    if let suggestion { parts.append("an index on \(suggestion) would help") }
    return parts.joined(separator: "; ")
  }
}
