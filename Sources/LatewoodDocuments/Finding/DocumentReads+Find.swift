import LatewoodFleece
import LatewoodQuery
import LatewoodStore

extension DocumentReads {
  /// Calls a closure with each document that a request finds, until it returns false.
  ///
  /// Without an order, documents are passed by id. The access path (an index or a scan) affects
  /// neither the set of documents nor their order; ``explain(_:)`` describes it. If an index does
  /// not have the requested order, ids or keys are sorted in memory; with a limit and an order,
  /// only those of `skip + limit` documents. If they need more than ``FindRequest/sortMemory``, the
  /// documents or the index are read again for each further part.
  ///
  /// - Returns: the number of examined documents.
  /// - Throws: any error of the closure; ``DatabaseError`` `corruptData` if the body of an examined
  ///   document is damaged.
  @discardableResult
  package func find(_ request: FindRequest, _ body: (MatchedDocument) throws -> Bool) throws -> Int {
    guard request.limit > 0 else { return 0 }
    if let few = try idsForEqualityLookup(request) {
      return try find(request, among: few, isExact: true, body)
    }
    return try find(by: FindPlanner(self, request), body)
  }

  /// Finds the documents of a prepared request.
  @discardableResult
  package func find(_ prepared: PreparedFind, _ body: (MatchedDocument) throws -> Bool) throws -> Int {
    guard prepared.request.limit > 0 else { return 0 }
    if let few = try idsForEqualityLookup(prepared.request) {
      return try find(prepared.request, among: few, isExact: true, body)
    }
    return try find(by: FindPlanner(self, prepared), body)
  }

  private func find(by planner: FindPlanner, _ body: (MatchedDocument) throws -> Bool) throws -> Int {
    if let few = try planner.shortCandidateList() {
      return try find(planner.request, among: few.ids, isExact: few.part.isExact, body)
    }
    let isMany = planner.request.order.isEmpty
    return try find(planner.request, by: planner.best(isMany: isMany), body)
  }

  /// Calls a closure with the id of each document that a prepared request finds, until it returns
  /// false. Documents are not read if an index contains exactly the requested ones.
  package func findIDs(_ prepared: PreparedFind, _ body: (String) throws -> Bool) throws {
    guard prepared.request.limit > 0 else { return }
    let planner = try FindPlanner(self, prepared, [])
    let plan = try planner.best()
    _ = try withoutActuallyEscaping(body) { body in
      try find(planner.request, by: plan, into: IDSink(body: body))
    }
  }

  /// Passes some fields of each document that a prepared request finds to a receiver, until it
  /// returns false.
  ///
  /// If an index contains exactly these documents and all the fields, the values are taken from the
  /// index and documents are not read, unless the receiver needs more than the values. A field is
  /// always read from its document if it is an array, an object or data, or if its key in the index
  /// is cut.
  package func findRows(
    _ prepared: PreparedFind, _ columns: [FieldPath], _ receiver: RowReceiver
  ) throws {
    guard prepared.request.limit > 0 else { return }
    let planner = try FindPlanner(self, prepared, columns)
    try findRows(planner.request, by: planner.best(), columns, receiver)
  }

  /// Finds the rows of a request by a given plan.
  func findRows(
    _ request: FindRequest, by plan: FindPlan, _ columns: [FieldPath], _ receiver: RowReceiver
  ) throws {
    _ = try find(request, by: plan, into: RowSink(columns, receiver))
  }

  /// Returns an integer field of each document that a prepared request finds.
  ///
  /// If an index contains exactly these documents and the field, the integers are taken from the
  /// index.
  ///
  /// - Parameter read: returns the field of a document whose integer an index does not supply.
  package func findIntegers(
    _ prepared: PreparedFind, _ field: FieldPath, _ read: (MatchedDocument) throws -> Int
  ) throws -> [Int] {
    guard prepared.request.limit > 0 else { return [] }
    let planner = try FindPlanner(self, prepared, [field])
    return try findIntegers(planner.request, by: planner.best(), field, read)
  }

  /// Returns an integer field of the documents of a request by a given plan.
  func findIntegers(
    _ request: FindRequest, by plan: FindPlan, _ field: FieldPath, _ read: (MatchedDocument) throws -> Int
  ) throws -> [Int] {
    try withoutActuallyEscaping(read) { read in
      var run = FindRun(self, request, plan, IntegerSink(field, read))
      _ = try run.run()
      return run.sink.integers
    }
  }

  /// Returns the total of the numbers in a field of all documents that a prepared request finds.
  ///
  /// If an index contains exactly these documents and the field, the numbers are taken from the
  /// index. Once sums over one state have read as many entries as the index has, and all its
  /// numbers are whole, further sums over that state take O(log n). The order of addition is not
  /// specified.
  ///
  /// - Parameters:
  ///   - isWhole: whether only whole numbers are accepted.
  ///   - add: adds the field of a document whose number the index does not supply; throws if the
  ///     total does not accept it.
  package func total(
    _ prepared: PreparedFind, of field: FieldPath, isWhole: Bool,
    _ add: (MatchedDocument, inout NumberTotal) throws -> Void
  ) throws -> NumberTotal {
    guard prepared.request.limit > 0 else { return NumberTotal(isWhole: isWhole) }
    let planner = try FindPlanner(self, prepared, [field], isOrdered: false)
    let (request, plan) = (planner.request, try planner.best())
    if let known = try knownTotal(request, by: plan, of: field) { return known }
    return try withoutActuallyEscaping(add) { add in
      var run = FindRun(self, request, plan, TotalSink(field, isWhole: isWhole, add))
      _ = try run.run()
      return run.sink.total
    }
  }

  /// Returns the number of documents that a request finds. If it has conditions only on the id or
  /// none, or an index contains exactly these documents, takes O(log n) for each range plus the
  /// number of expired documents that are not purged yet; otherwise as long as ``find(_:_:)``.
  package func count(_ request: FindRequest) throws -> Int { try counted(request).count }

  /// Returns the number of documents that a request finds, and the number that were examined.
  package func counted(_ request: FindRequest) throws -> (count: Int, read: Int) {
    var unsorted = request
    unsorted.order = []
    unsorted.ranking = nil
    return try counted(FindPlanner(self, unsorted))
  }

  /// Returns the number of documents that a prepared request finds.
  package func count(_ prepared: PreparedFind) throws -> Int {
    guard prepared.request.order.isEmpty, prepared.request.ranking == nil else {
      return try count(prepared.request)
    }
    return try counted(FindPlanner(self, prepared)).count
  }

  private func counted(_ planner: FindPlanner) throws -> (count: Int, read: Int) {
    // The request is not copied, because that takes long.
    let (skip, limit) = (planner.request.skip, planner.request.limit)
    guard limit > 0 else { return (0, 0) }
    let plan = try planner.best(toCount: true)
    guard plan.isExact else {
      var count = 0
      let read = try find(planner.request, by: plan) { _ in
        count += 1
        return true
      }
      return (count, read)
    }
    let all = plan.candidates - (try expired(among: planner.request.predicate))
    return (min(max(0, all - skip), limit), 0)
  }

  /// Returns the plan for a request. O(log n) for each index.
  package func explain(_ request: FindRequest) throws(DatabaseError) -> QueryPlan {
    try FindPlanner(self, request).explained()
  }

  /// Returns the plan for a prepared request.
  ///
  /// - Parameter columns: the fields to find; nil for whole documents.
  package func explain(
    _ prepared: PreparedFind, _ columns: [FieldPath]? = nil
  ) throws(DatabaseError) -> QueryPlan {
    try FindPlanner(self, prepared, columns).explained()
  }

  /// Returns the number of matching documents that have expired but are not purged yet: usually 0.
  func expired(among predicate: Predicate) throws -> Int {
    var count = 0
    for id in try expired() {
      let matches = try source.withValue(id, in: spaces.documents) { record in
        try record.withUnsafeBytes { record in
          let head = try DocumentRecord.Head(record)
          if head.isDeleted { return false }
          return try withDocument(id, head, in: record) { document in try predicate.matches(document) }
        }
      }
      if matches == true { count += 1 }
    }
    return count
  }

  /// Finds the documents of a request by a given plan.
  func find(
    _ request: FindRequest, by plan: FindPlan, _ body: (MatchedDocument) throws -> Bool
  ) throws -> Int {
    try withoutActuallyEscaping(body) { body in
      try find(request, by: plan, into: DocumentSink(body: body))
    }
  }

  private func find(
    _ request: FindRequest, by plan: FindPlan, into sink: some ResultSink
  ) throws -> Int {
    var run = FindRun(self, request, plan, sink)
    return try run.run()
  }

  /// Calls a closure with a document; returns nil if it does not exist or is deleted.
  func withDocument<R>(_ id: some ByteSource, _ body: (MatchedDocument) throws -> R) throws -> R? {
    guard case .state(let state) = source else {
      let result = try withRecord(of: id) { head, record in
        head.isDeleted ? nil : try withDocument(id, head, in: record, body)
      }
      return result ?? nil
    }
    return try id.withBytes { id in
      // SAFETY: the bytes live until the closure returns.
      try state.reading {
        guard let record = try state.value(of: id, in: spaces.documents) else { return nil }
        let head = try DocumentRecord.Head(record)
        if head.isDeleted || hasExpired(head) { return nil }
        guard let stored = try head.body(in: record) ?? storedApart(head, in: state) else {
          throw DocumentReads.missingBody(of: id)
        }
        return try DocumentReads.passing(id, head, stored, to: body)
      }
    }
  }

  /// Returns a body stored outside its record, in a pinned state; nil if it does not exist.
  private func storedApart(
    _ head: DocumentRecord.Head, in state: PinnedState
  ) throws -> UnsafeRawBufferPointer? {
    if head.body == 0 { return nil }
    return try SequenceEntry.Key(head.body).withBytes { key in try state.value(of: key, in: spaces.bodies) }
  }

  /// Calls a closure with a document.
  ///
  /// - Parameter record: the record that `head` was read from.
  func withDocument<R>(
    _ id: some ByteSource, _ head: DocumentRecord.Head, in record: UnsafeRawBufferPointer,
    _ body: (MatchedDocument) throws -> R
  ) throws -> R {
    try id.withBytes { (id) throws -> R in
      let result = try withBody(of: head, in: record) { bytes in
        try DocumentReads.passing(id, head, bytes, to: body)
      }
      guard let result else { throw DocumentReads.missingBody(of: id) }
      return result
    }
  }

  @inline(never) static func missingBody(of id: UnsafeRawBufferPointer) -> DatabaseError {
    DatabaseError(
      .corruptData, "the body of the document \(String(decoding: id, as: UTF8.self)) is missing")
  }

  /// Calls a closure with a document whose body has been found.
  ///
  /// - Parameter stored: the bytes of its body.
  @inline(__always) static func passing<R>(
    _ id: UnsafeRawBufferPointer, _ head: DocumentRecord.Head, _ stored: UnsafeRawBufferPointer,
    to body: (MatchedDocument) throws -> R
  ) throws -> R {
    do {
      return try body(MatchedDocument(id, head, stored))
    } catch let error as FleeceError {
      throw DatabaseError(
        .corruptData,
        "the body of the document \(String(decoding: id, as: UTF8.self)) is damaged: \(error)")
    }
  }
}
