import LatewoodFleece
import LatewoodQuery
import LatewoodStore

extension DocumentReads {
  /// Calls a closure with each document that a request wants, until it returns false.
  ///
  /// Without an order, documents come by id. How they are found, by an index or by looking at all,
  /// never changes what is found, nor its order; ``explain(_:)`` tells. Of a range of an index
  /// whose order is not the one that is asked for, ids or keys are held in memory: those of `skip +
  /// limit` documents where there is a limit and an order.
  ///
  /// - Returns: how many documents were looked at.
  /// - Throws: what the closure throws; ``DocumentError`` `corruptData` if the body of one that was
  ///   looked at is damaged.
  @discardableResult
  package func find(_ request: FindRequest, _ body: (FoundDocument) throws -> Bool) throws -> Int {
    guard request.limit > 0 else { return 0 }
    return try find(request, by: FindPlanner(self, request).best(), body)
  }

  /// How many documents a request wants. O(log n) where an index has just those, and what has
  /// expired and is not purged yet; else as ``find(_:_:)``.
  package func count(_ request: FindRequest) throws -> Int {
    var unsorted = request
    unsorted.order = []
    guard request.limit > 0 else { return 0 }
    let plan = try FindPlanner(self, unsorted).best(toCount: true)
    guard plan.isCovered else {
      var count = 0
      _ = try find(unsorted, by: plan) { _ in
        count += 1
        return true
      }
      return count
    }
    let all = plan.candidates - (try expired(among: request.predicate))
    return min(max(0, all - request.skip), request.limit)
  }

  /// How a request would be answered. O(log n) for each index.
  package func explain(_ request: FindRequest) throws(DocumentError) -> FindExplanation {
    try FindPlanner(self, request).explained()
  }

  /// Documents that match, have expired and are not purged yet: most of the time none.
  func expired(among predicate: Predicate) throws -> Int {
    var count = 0
    for id in try expired() {
      let id = String(decoding: id, as: UTF8.self)
      let head = try read(id, in: spaces.documents) { (bytes) throws(DocumentError) in
        try DocumentRecord.Head(bytes)
      }
      guard let head, !head.isDeleted else { continue }
      if try withDocument(id, head, { document in try predicate.matches(document) }) { count += 1 }
    }
    return count
  }

  /// The same by one plan.
  func find(
    _ request: FindRequest, by plan: FindPlan, _ body: (FoundDocument) throws -> Bool
  ) throws -> Int {
    var run = FindRun(self, request, plan)
    return try run.run(body)
  }

  func withDocument<R>(
    _ id: String, _ head: DocumentRecord.Head, _ body: (FoundDocument) throws -> R
  ) throws -> R {
    let result = try withBody(at: head.body) { bytes in
      try bytes.withUnsafeBytes { bytes in
        do {
          return try body(FoundDocument(id, head, bytes))
        } catch let error as FleeceError {
          throw DocumentError(.corruptData, "the body of the document \(id) is damaged: \(error)")
        }
      }
    }
    guard let result else { throw DocumentError(.corruptData, "the body of the document \(id) is missing") }
    return result
  }
}
