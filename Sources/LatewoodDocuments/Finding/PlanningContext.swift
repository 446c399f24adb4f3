import LatewoodQuery
import LatewoodStore

/// The parts of indexes that can answer a request.
///
/// They depend only on the request and the definitions of the indexes, not on the documents, so
/// ``PreparedFind`` keeps them between runs. ``FindPlanner`` counts their entries and chooses.
final class PlanningContext: Sendable {
  let indexes: CollectionIndexes
  /// The request, bound to the full-text indexes of its condition.
  let request: FindRequest
  let conditions: Conjunction
  /// The ids that the conditions do not exclude.
  let ids: [KeyRange]
  /// Whether all documents with these ids meet the conditions.
  let areIDsWhole: Bool
  /// At most one part of each index.
  let parts: [CandidateIndex]
  /// For each `or` that indexes can answer, the parts that can answer each of its sides.
  let unions: [[[CandidateIndex]]]
  /// The words that can answer the request.
  let texts: [TextScan]

  /// - Throws: ``DatabaseError`` `notFound` if there is no full-text index of a condition;
  ///   `invalidParameter` if the text of a condition is not valid, or the request cannot be ranked.
  init(_ request: FindRequest, _ indexes: CollectionIndexes) throws(DatabaseError) {
    let request = try request.bound(to: indexes)
    self.indexes = indexes
    self.request = request
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
    texts = request.hasText ? TextScan.all(for: conditions, indexes) : []
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
