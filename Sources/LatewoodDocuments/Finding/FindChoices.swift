import LatewoodDevice
import LatewoodQuery
import LatewoodStore

/// The parts of indexes that can answer a request, whatever documents there are.
///
/// They follow from the request and the definitions of the indexes alone, so ``PreparedFind`` keeps
/// them from run to run. ``FindPlanner`` counts their entries and chooses.
final class FindChoices: Sendable {
  let conditions: Conjunction
  /// The ids that the conditions do not exclude.
  let ids: KeyRange
  /// At most one part of each index.
  let parts: [IndexPart]
  /// For each `or` that indexes can answer: the parts that can answer each of its sides.
  let unions: [[[IndexPart]]]

  init(_ request: FindRequest, _ indexes: [CollectionIndex]) {
    let conditions = Conjunction(request.predicate)
    let order = request.order.map { (path: $0.path, isDescending: $0.isDescending) }
    self.conditions = conditions
    ids = KeyRange(idsOf: request.predicate)
    parts = indexes.compactMap { IndexPart($0, conditions, order) }
    unions = FindChoices.unions(of: conditions, indexes)
  }

  /// The greatest number of sides of an `or` that are searched for one by one.
  private static let unionLimit = 64

  private static func unions(
    of conditions: Conjunction, _ indexes: [CollectionIndex]
  ) -> [[[IndexPart]]] {
    var unions: [[[IndexPart]]] = []
    for case .any(let sides) in conditions.parts where (2...unionLimit).contains(sides.count) {
      var found: [[IndexPart]] = []
      for side in sides {
        let both = Conjunction(.all([side] + conditions.parts))
        found.append(indexes.compactMap { IndexPart($0, both, []) }.filter(\.isSelective))
      }
      if found.allSatisfy({ !$0.isEmpty }) { unions.append(found) }
    }
    return unions
  }
}

/// The part of an index that has all documents of a request.
struct IndexPart: Sendable {
  let index: CollectionIndex
  let bounds: IndexBounds
  /// Those of the bounds, as ranges of entries.
  let ranges: [KeyRange]
  /// Whether the index must be read backwards to have the order of the request; nil if it does not
  /// have that order, or the request has none.
  let isReversed: Bool?

  /// Returns nil if the index does not have all of them.
  init?(
    _ index: CollectionIndex, _ conditions: Conjunction, _ order: [(path: FieldPath, isDescending: Bool)]
  ) {
    guard let bounds = index.definition.bounds(for: conditions) else { return nil }
    self.index = index
    self.bounds = bounds
    ranges = bounds.ranges.map { interval in
      KeyRange(
        lower: interval.low.isEmpty ? .unbounded : .included(interval.low),
        upper: interval.high.map { .excluded($0) } ?? .unbounded)
    }
    isReversed = order.isEmpty ? nil : index.definition.isReversed(for: order, in: bounds)
  }

  /// Whether it leaves out any documents.
  var isSelective: Bool { !bounds.isAll || index.definition.condition != nil }

  /// Whether entries match, except perhaps in ranges that need a check, and each document comes
  /// once.
  var isWhole: Bool { bounds.isWhole && !bounds.mayRepeat }

  /// Whether all entries match, and each document comes once.
  var isExact: Bool { isWhole && !bounds.ranges.contains(where: \.needsCheck) }
}

/// A request that runs more than once. It keeps its choices until the indexes of the collection
/// change.
///
/// Thread safety: all calls from any thread.
package final class PreparedFind: Sendable {
  package let request: FindRequest
  private let kept = Guarded<Kept?>(nil)

  private struct Kept {
    var indexes: CollectionIndexes
    var choices: FindChoices
  }

  package init(_ request: FindRequest) { self.request = request }

  func choices(with indexes: CollectionIndexes) -> FindChoices {
    if let kept = kept.withLock({ $0 }), kept.indexes === indexes { return kept.choices }
    let choices = FindChoices(request, indexes.ready)
    kept.withLock { $0 = Kept(indexes: indexes, choices: choices) }
    return choices
  }
}
