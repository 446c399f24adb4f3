import LatewoodFleece

/// The steps of a query that can be cancelled: of its search, its matching and its sorting.
///
/// Every loop counts its steps here, which checks at least every ``interval`` steps whether the
/// query should end. The object is in a task-local value, because the innermost loops could not
/// reach it otherwise. A query that cannot be cancelled has none.
// SAFETY: only used by the thread that runs the query.
package final class QuerySteps: @unchecked Sendable {
  @TaskLocal package static var current: QuerySteps?

  /// The maximum number of steps between two checks.
  package static let interval = 10_000

  private let check: @Sendable () throws -> Void
  private var left = interval
  /// The number of all steps.
  package private(set) var count = 0
  /// The error of the check that ended the query.
  package private(set) var failure: (any Error)?

  /// - Parameter check: throws if the query should end.
  package init(_ check: @escaping @Sendable () throws -> Void) { self.check = check }

  /// Counts steps. Throws `interrupted` if the query should end; ``failure`` is then the reason.
  package func spend(_ count: Int) throws(FleeceError) {
    left -= count
    self.count += count
    if left <= 0 { try ask() }
  }

  private func ask() throws(FleeceError) {
    left = QuerySteps.interval
    if failure == nil {
      do { try check() } catch { failure = error }
    }
    if failure != nil { throw FleeceError(.interrupted, "the query was cancelled") }
  }

  /// Counts the steps of a loop over elements by their index, a few thousand at a time.
  @inline(__always) static func count(_ index: Int) throws(FleeceError) {
    if index & 0xFFF == 0xFFF { try current?.spend(0x1000) }
  }

  /// Runs a query. If a check has ended it, throws the error of the check.
  package func run<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      let result = try QuerySteps.$current.withValue(self, operation: body)
      if let failure { throw failure }
      return result
    } catch { throw failure ?? error }
  }
}

extension Array {
  /// Sorts, and counts each comparison as a step of the query of this thread. Throws `FleeceError`
  /// `interrupted` if the query should end; the order is then undefined.
  package mutating func sortCounting(by precedes: (Element, Element) -> Bool) throws {
    guard let steps = QuerySteps.current else { return sort(by: precedes) }
    try sort { left, right in
      try steps.spend(1)
      return precedes(left, right)
    }
  }
}
