import LatewoodConcurrency

/// A request that runs more than once. It keeps its choices until the indexes of the collection
/// change.
///
/// Thread safety: all methods may be called from any thread.
package final class PreparedFind: Sendable {
  package let request: FindRequest
  /// The choices of the first run; most requests need no others.
  private let first = LazyReference<PlanningContext>()
  /// The choices of the latest run after the indexes changed.
  private let latest = LazyReference<Guarded<PlanningContext>>()

  package init(_ request: FindRequest) { self.request = request }

  func choices(with indexes: CollectionIndexes) throws(DatabaseError) -> PlanningContext {
    guard let first = first.value else {
      let new = try PlanningContext(request, indexes)
      let first = first.storeIfNil(new)
      return first.indexes === indexes ? first : new
    }
    if first.indexes === indexes { return first }
    guard let latest = latest.value else {
      let new = try PlanningContext(request, indexes)
      _ = latest.storeIfNil(Guarded(new))
      return new
    }
    let kept = latest.withLock { $0 }
    if kept.indexes === indexes { return kept }
    let new = try PlanningContext(request, indexes)
    latest.withLock { $0 = new }
    return new
  }
}
