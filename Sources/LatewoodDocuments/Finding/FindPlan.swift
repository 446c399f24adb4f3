import LatewoodQuery
import LatewoodStore

/// One way to find the documents of a request. All ways find the same.
struct FindPlan {
  enum Access {
    /// Every document in a range of ids.
    case scan(KeyRange)
    /// Those that a part of an index has.
    case index(IndexAccess)
    /// Those that several parts have between them.
    case union([IndexAccess])
  }

  enum Ordering {
    /// As they are read.
    case none
    /// By id, or the order of the request: what was read is sorted.
    case sorted
    /// The order of the index: read forwards or backwards.
    case index(isReversed: Bool)
  }

  var access: Access
  var ordering: Ordering
  /// Entries or documents that are in its ranges.
  var candidates: Int
  /// How many documents it is likely to read.
  var cost: Double

  /// Whether its entries are just the documents that are wanted, each once.
  var isCovered: Bool {
    if case .index(let access) = access { return access.isExact }
    return false
  }
}

/// A part of an index.
struct IndexAccess {
  let index: CollectionIndex
  let bounds: IndexBounds
  /// Without those that have no entry.
  let ranges: [KeyRange]
  let candidates: Int
  /// Whether no condition is left, and each document comes once.
  let isExact: Bool
}

/// What a request was or would be answered with.
package struct FindExplanation: Sendable, Equatable {
  package struct Use: Sendable, Equatable {
    package var index: String
    /// Runs of its entries that are read.
    package var ranges: Int
    /// Entries in them.
    package var entries: Int
  }

  /// The indexes that are read; none for a scan.
  package var uses: [Use]
  /// Whether documents are left to be looked at to know whether they match.
  package var filters: Bool
  /// Whether what is found is sorted afterwards.
  package var sorts: Bool
  /// Documents or entries that are in the ranges.
  package var candidates: Int
  /// Fields of an index that would help; nil if the plan is as good.
  package var suggestion: String?

  package var isScan: Bool { uses.isEmpty }
}

extension FindExplanation: CustomStringConvertible {
  package var description: String {
    var parts: [String] = []
    if uses.isEmpty {
      parts.append("all documents: \(candidates)")
    } else {
      for use in uses {
        let ranges = use.ranges == 1 ? "1 range" : "\(use.ranges) ranges"
        parts.append("index \"\(use.index)\": \(use.entries) entries in \(ranges)")
      }
    }
    if filters { parts.append("then filtered") }
    if sorts { parts.append("then sorted") }
    if let suggestion { parts.append("an index on \(suggestion) would help") }
    return parts.joined(separator: "; ")
  }
}
