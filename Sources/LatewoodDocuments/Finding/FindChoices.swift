import LatewoodConcurrency
import LatewoodQuery
import LatewoodStore

/// The parts of indexes that can answer a request.
///
/// They depend only on the request and the definitions of the indexes, not on the documents, so
/// ``PreparedFind`` keeps them between runs. ``FindPlanner`` counts their entries and chooses.
final class FindChoices: Sendable {
  let indexes: CollectionIndexes
  let conditions: Conjunction
  /// The ids that the conditions do not exclude.
  let ids: KeyRange
  /// At most one part of each index.
  let parts: [IndexPart]
  /// For each `or` that indexes can answer, the parts that can answer each of its sides.
  let unions: [[[IndexPart]]]

  init(_ request: FindRequest, _ indexes: CollectionIndexes) {
    self.indexes = indexes
    let conditions = Conjunction(request.predicate)
    let order = request.order.map { (path: $0.path, isDescending: $0.isDescending) }
    self.conditions = conditions
    ids = KeyRange(idsOf: request.predicate)
    var parts: [IndexPart] = []
    for index in indexes.ready {
      if let part = IndexPart.of(index, conditions, order), part.isUseful { parts.append(part) }
    }
    self.parts = parts
    unions = FindChoices.unions(of: conditions, indexes.ready)
  }

  /// The maximum number of sides of an `or` that indexes answer one by one.
  private static let unionLimit = 64

  private static func unions(
    of conditions: Conjunction, _ indexes: [CollectionIndex]
  ) -> [[[IndexPart]]] {
    var unions: [[[IndexPart]]] = []
    for case .any(let sides) in conditions.parts where (2...unionLimit).contains(sides.count) {
      var found: [[IndexPart]] = []
      for side in sides {
        let both = Conjunction(.all([side] + conditions.parts))
        found.append(indexes.compactMap { IndexPart.of($0, both, []) }.filter(\.isSelective))
      }
      if found.allSatisfy({ !$0.isEmpty }) { unions.append(found) }
    }
    return unions
  }
}

/// The part of an index that contains all documents of a request.
final class IndexPart: Sendable {
  let index: CollectionIndex
  let bounds: IndexBounds
  /// The ranges of entries within the bounds.
  let ranges: [KeyRange]
  /// Whether the index must be read backwards for the order of the request; nil if it does not have
  /// that order, or the request has none.
  let isReversed: Bool?

  /// Returns the part of an index for some conditions; nil if the index may lack documents that
  /// meet them, or clearly does not help.
  static func of(
    _ index: CollectionIndex, _ conditions: Conjunction, _ order: [(path: FieldPath, isDescending: Bool)]
  ) -> IndexPart? {
    // Most indexes have nothing to do with a request: exclude them before anything is allocated.
    guard index.definition.mayHelp(conditions, order.first?.path),
      let bounds = index.definition.bounds(for: conditions)
    else { return nil }
    return IndexPart(index, bounds, order)
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
    isReversed = order.isEmpty ? nil : index.definition.isReversed(for: order, in: bounds)
  }

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

/// A request that runs more than once. It keeps its choices until the indexes of the collection
/// change.
///
/// Thread safety: all methods may be called from any thread.
package final class PreparedFind: Sendable {
  package let request: FindRequest
  /// The choices of the first run; most requests need no others.
  private let first = LazyReference<FindChoices>()
  /// The choices of the latest run after the indexes changed.
  private let latest = LazyReference<Guarded<FindChoices>>()

  package init(_ request: FindRequest) { self.request = request }

  func choices(with indexes: CollectionIndexes) -> FindChoices {
    let first = first.value ?? self.first.storeIfNil(FindChoices(request, indexes))
    if first.indexes === indexes { return first }
    let latest = latest.value ?? self.latest.storeIfNil(Guarded(FindChoices(request, indexes)))
    let kept = latest.withLock { $0 }
    if kept.indexes === indexes { return kept }
    let new = FindChoices(request, indexes)
    latest.withLock { $0 = new }
    return new
  }
}
