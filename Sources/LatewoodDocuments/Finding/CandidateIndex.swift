import LatewoodQuery
import LatewoodStore

/// The part of an index that contains all documents of a request.
final class CandidateIndex: Sendable {
  let index: CollectionIndex
  let bounds: IndexBounds
  /// The ranges of entries within the bounds.
  let ranges: [KeyRange]
  /// The order of the index, if the index or its leading parts have the order of the request; nil
  /// otherwise, and if the request is unordered.
  let order: IndexOrder?

  /// Returns the part of an index for some conditions; nil if the index may lack documents that
  /// meet them, or clearly does not help.
  static func of(
    _ index: CollectionIndex, _ conditions: Conjunction, _ order: [(path: FieldPath, isDescending: Bool)]
  ) -> CandidateIndex? {
    // Most indexes are irrelevant to a request: exclude them before allocating anything.
    guard index.definition.mayHelp(conditions, order.first?.path),
      let bounds = index.definition.bounds(for: conditions)
    else { return nil }
    return CandidateIndex(index, bounds, order)
  }

  private init(
    _ index: CollectionIndex, _ bounds: IndexBounds, _ order: [(path: FieldPath, isDescending: Bool)]
  ) {
    self.index = index
    self.bounds = bounds
    ranges = bounds.ranges.map { interval in
      KeyRange(
        lower: interval.low.isEmpty ? .unbounded : .included(interval.low),
        upper: interval.high.map { .excluded($0) } ?? .unbounded)
    }
    self.order = order.isEmpty ? nil : index.definition.order(for: order, in: bounds)
  }

  /// Whether the index must be read backwards for the order of the request; nil if the index does
  /// not have that order completely.
  var isReversed: Bool? { order.flatMap { $0.leadingParts == nil ? $0.isReversed : nil } }

  /// Whether the part leaves out documents, has the order of the request, or can at least count.
  var isUseful: Bool { isSelective || isReversed != nil || isWhole }

  /// Whether the part leaves out any documents.
  var isSelective: Bool { !bounds.isAll || index.definition.condition != nil }

  /// Whether each document occurs once, and all entries match outside ranges that need a check.
  var isWhole: Bool { bounds.isWhole && !bounds.mayRepeat }

  /// Whether all entries match, and each document occurs once.
  var isExact: Bool { isWhole && !bounds.ranges.contains(where: \.needsCheck) }
}

extension IndexDefinition {
  /// Returns false if the index clearly has neither bounds nor the order of a request, nor contains
  /// exactly its documents.
  fileprivate func mayHelp(_ conditions: Conjunction, _ sorted: FieldPath?) -> Bool {
    if condition != nil || conditions.parts.isEmpty || sorted.map({ $0 == parts[0].path }) == true {
      return true
    }
    return conditions.parts.contains { part in
      if case .field(let path, _) = part { path == parts[0].path } else { true }
    }
  }
}
