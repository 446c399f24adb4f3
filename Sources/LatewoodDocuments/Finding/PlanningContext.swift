import LatewoodQuery
import LatewoodStore

/// The parts of indexes that can answer a request.
///
/// They depend only on the request and the definitions of the indexes, not on the documents, so
/// ``PreparedFind`` keeps them between runs. ``FindPlanner`` counts their entries and chooses.
final class PlanningContext: Sendable {
  let indexes: CollectionIndexes
  let conditions: Conjunction
  /// The ids that the conditions do not exclude.
  let ids: [KeyRange]
  /// Whether all documents with these ids meet the conditions.
  let areIDsWhole: Bool
  /// At most one part of each index.
  let parts: [CandidateIndex]
  /// For each `or` that indexes can answer, the parts that can answer each of its sides.
  let unions: [[[CandidateIndex]]]

  init(_ request: FindRequest, _ indexes: CollectionIndexes) {
    self.indexes = indexes
    let conditions = Conjunction(request.predicate)
    let order = request.order.map { (path: $0.path, isDescending: $0.isDescending) }
    self.conditions = conditions
    let bounds = IDBounds(request.predicate)
    ids = bounds.ranges
    areIDsWhole = bounds.isWhole
    var parts: [CandidateIndex] = []
    for index in indexes.ready {
      if let part = CandidateIndex.of(index, conditions, order), part.isUseful { parts.append(part) }
    }
    self.parts = parts
    unions = PlanningContext.unions(of: conditions, indexes.ready)
  }

  /// The maximum number of sides of an `or` that indexes answer one by one.
  private static let unionLimit = 64

  private static func unions(
    of conditions: Conjunction, _ indexes: [CollectionIndex]
  ) -> [[[CandidateIndex]]] {
    var unions: [[[CandidateIndex]]] = []
    for case .any(let sides) in conditions.parts where (2...unionLimit).contains(sides.count) {
      var found: [[CandidateIndex]] = []
      for side in sides {
        let both = Conjunction(.all([side] + conditions.parts))
        found.append(indexes.compactMap { CandidateIndex.of($0, both, []) }.filter(\.isSelective))
      }
      if found.allSatisfy({ !$0.isEmpty }) { unions.append(found) }
    }
    return unions
  }
}
