import LatewoodFleece
import LatewoodQuery

extension MatchedDocument: SQLDocument {
  package func fact(_ fact: SQLFact) -> SQLLiteral {
    switch fact {
    case .id: .string(id)
    case .sequence: .number(.unsigned(head.sequence))
    case .expiration: head.expiry.map { .number(.unsigned($0.multipliedSaturating(by: 1000))) } ?? .null
    case .expirationSeconds: head.expiry.map { .number(.unsigned($0)) } ?? .null
    case .revisionID: .string("\(revision)")
    }
  }
}

extension UInt64 {
  fileprivate func multipliedSaturating(by factor: UInt64) -> UInt64 {
    let (product, overflow) = multipliedReportingOverflow(by: factor)
    return overflow ? .max : product
  }
}

extension DocumentReads {
  /// Calls a closure with each row of a statement, until it returns false.
  ///
  /// Documents are found by the predicate of the program, like those of other requests, and read in
  /// place. Rows come in the order of an index if one has the required order, and are sorted
  /// otherwise; see `SQLRun` for the memory that this takes. If the rows or groups need more, the
  /// documents are read again for each further part of them. A program that only counts documents
  /// reads none if their number is known, and one for the minimum and the maximum of the id or of a
  /// field that an index sorts reads the first or the last document.
  ///
  /// - Returns: the number of examined documents, each counted as often as it is examined.
  /// - Throws: any error of the closure, and of `SQLLimits.check`; `QueryError` `tooLarge` if the
  ///   limits are exceeded; ``DatabaseError`` `corruptData`.
  @discardableResult
  package func query(
    _ program: SQLProgram, limits: SQLLimits = SQLLimits(), _ body: SQLRun.Receiver
  ) throws -> Int {
    guard program.readsDocuments else {
      var run = SQLRun(program, limits: limits)
      try run.runWithoutDocuments(body)
      return 0
    }
    if let summary = program.summary, let read = try summarize(program, summary, limits, body) {
      return read
    }
    let choice = try SQLChoice(self, program, memory: limits.memory)
    var run = SQLRun(
      choice.program, limits: limits, words: StatementWords(self, choice.request, choice.program))
    guard choice.request.limit > 0 else { return 0 }
    var read = 0
    // The plan is the same for each part, and so is the order of the documents.
    repeat {
      read += try find(choice.request, by: choice.plan) { document in try run.add(document, body) }
    } while try run.finish(body)
    return read
  }

  /// Produces the row of a program that only counts documents, and finds the first and the last of
  /// them in some order. Returns the number of examined documents; nil if all of them must be read.
  private func summarize(
    _ program: SQLProgram, _ summary: SQLProgram.Summary, _ limits: SQLLimits, _ body: SQLRun.Receiver
  ) throws -> Int? {
    var run = SQLRun(program, limits: limits)
    var edges: [(id: String, read: Int)] = []
    for edge in summary.edges {
      // Several edges could each read many documents that do not match.
      let mayFilter = summary.edges.count == 1
      guard let found = try self.edge(edge, of: program.predicate, mayFilter) else { return nil }
      edges.append(found)
    }
    // In the order of a scan, which decides between equal values of different forms.
    let ids = Set(edges.map { Array($0.id.utf8) }).filter { !$0.isEmpty }
      .sorted { $0.lexicographicallyPrecedes($1) }
    if summary.counts {
      let planner = try FindPlanner(self, FindRequest(program.predicate))
      let counted = try planner.best(toCount: true)
      guard counted.isExact else { return nil }
      let all = counted.candidates - (try expired(among: planner.request.predicate))
      run.add(documents: all - ids.count)
    }
    for id in ids {
      _ = try withDocument(id) { document in _ = try run.add(document, body) }
    }
    _ = try run.finish(body)
    return edges.reduce(0) { $0 + $1.read }
  }

  /// Returns the id of the document with the least or greatest value of a field, empty if no
  /// document has one, and the number of examined documents. Returns nil if the documents are not
  /// stored in the order of the field, or too many might not match.
  private func edge(
    _ edge: SQLProgram.FieldOrder, of predicate: Predicate, _ mayFilter: Bool
  ) throws -> (id: String, read: Int)? {
    guard let isValued = Predicate.isValued(edge.path) else { return nil }
    var request = FindRequest(.all([predicate, isValued]))
    request.order = [FindRequest.Order(edge.path, isDescending: edge.isDescending)]
    request.limit = 1
    let planner = try FindPlanner(self, request)
    let plan = try planner.best()
    let isEarly =
      request.isByID ? plan.isScan && (mayFilter || plan.isExactScan) : plan.isOrderOfIndex && plan.isCovered
    guard isEarly else { return nil }
    var id = ""
    let read = try find(planner.request, by: plan) { document in
      id = document.id
      return true
    }
    return (id, read)
  }

  /// Returns the plan for the documents of a statement, including the filtering and sorting of its
  /// rows. O(log n) for each index.
  package func explain(_ program: SQLProgram) throws(DatabaseError) -> QueryPlan {
    let choice = try SQLChoice(self, program)
    let planner = try FindPlanner(self, choice.request)
    // The candidates of a plan that was chosen without alternatives have not been counted.
    var explanation =
      choice.plan.mayBeUncounted ? try planner.explained() : try planner.explain(choice.plan)
    explanation.filters = explanation.filters || program.filtersRows
    explanation.sorts = explanation.sorts || choice.program.sortsRows
    explanation.isCovering = explanation.isCovering || choice.isCounted
    return explanation
  }
}

/// The chosen plan for a statement.
private struct SQLChoice {
  let program: SQLProgram
  let request: FindRequest
  let plan: FindPlan
  /// Whether the plan contains exactly the documents to count, so that none must be read.
  let isCounted: Bool

  init(
    _ reads: DocumentReads, _ program: SQLProgram, memory: Int = SQLLimits().memory
  ) throws(DatabaseError) {
    if let sorted = program.inOrderOfScan {
      let planner = try FindPlanner(reads, FindRequest(sorted, memory: memory))
      if let plan = try planner.inOrder() {
        (self.program, request, self.plan, isCounted) = (sorted, planner.request, plan, false)
        return
      }
    }
    self.program = program
    let planner = try FindPlanner(reads, FindRequest(program, memory: memory))
    request = planner.request
    plan = try planner.best(toCount: program.summary?.countsOnly == true)
    isCounted = program.summary?.countsOnly == true && plan.isExact
  }
}

extension FindRequest {
  fileprivate init(_ program: SQLProgram, memory: Int) {
    self.init(program.predicate)
    sortMemory = memory
    order = program.scanOrder.map { FindRequest.Order($0.path, isDescending: $0.isDescending) }
    skip = program.scanSkip
    limit = program.scanLimit
    ranking = program.scanRanking
  }
}
