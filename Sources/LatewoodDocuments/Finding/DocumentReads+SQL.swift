import LatewoodFleece
import LatewoodQuery

extension FoundDocument: SQLDocument {
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
  /// otherwise; see `SQLRun` for the memory that this takes. If sorted rows or groups need more,
  /// the documents are read again for each further part of them. A program that only counts
  /// documents reads none if an index contains exactly those documents.
  ///
  /// - Returns: the number of examined documents, each counted as often as it is examined.
  /// - Throws: any error of the closure, and of `SQLLimits.check`; `QueryError` `tooLarge` if the
  ///   limits are exceeded; ``DocumentError`` `corruptData`.
  @discardableResult
  package func query(
    _ program: SQLProgram, limits: SQLLimits = SQLLimits(), _ body: SQLRun.Receiver
  ) throws -> Int {
    let choice = try SQLChoice(self, program, memory: limits.memory)
    var run = SQLRun(choice.program, limits: limits)
    if choice.isCounted {
      run.add(documents: choice.plan.candidates - (try expired(among: choice.request.predicate)))
      _ = try run.finish(body)
      return 0
    }
    guard choice.request.limit > 0 else { return 0 }
    var read = 0
    // The plan is the same for each part, and so is the order of the documents.
    repeat {
      read += try find(choice.request, by: choice.plan) { document in try run.add(document, body) }
    } while try run.finish(body)
    return read
  }

  /// Returns the plan for the documents of a statement, including the filtering and sorting of its
  /// rows. O(log n) for each index.
  package func explain(_ program: SQLProgram) throws(DocumentError) -> FindExplanation {
    let choice = try SQLChoice(self, program)
    let planner = try FindPlanner(self, choice.request)
    // The documents of a scan that was chosen without alternatives have not been counted.
    var explanation = choice.plan.isScan ? try planner.explained() : planner.explain(choice.plan)
    explanation.filters = explanation.filters || program.filtersRows
    explanation.sorts = explanation.sorts || choice.program.sortsRows
    return explanation
  }
}

/// The chosen plan for a statement.
private struct SQLChoice {
  let program: SQLProgram
  let request: FindRequest
  let plan: FindPlan
  /// Whether the plan contains exactly the documents to count, so that none must be read.
  private(set) var isCounted = false

  init(
    _ reads: DocumentReads, _ program: SQLProgram, memory: Int = SQLLimits().memory
  ) throws(DocumentError) {
    if let sorted = program.inOrderOfScan {
      let request = FindRequest(sorted, memory: memory)
      if let plan = try FindPlanner(reads, request).inOrder() {
        (self.program, self.request, self.plan) = (sorted, request, plan)
        return
      }
    }
    self.program = program
    request = FindRequest(program, memory: memory)
    plan = try FindPlanner(reads, request).best(toCount: program.countsOnly)
    isCounted = program.countsOnly && plan.isCovered
  }
}

extension FindRequest {
  fileprivate init(_ program: SQLProgram, memory: Int) {
    self.init(program.predicate)
    sortMemory = memory
    order = program.scanOrder.map { FindRequest.Order($0.path, isDescending: $0.isDescending) }
    skip = program.scanSkip
    limit = program.scanLimit
  }
}
