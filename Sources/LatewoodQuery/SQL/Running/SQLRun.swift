import LatewoodFleece

/// One run of a program: takes documents and produces rows.
///
/// ```
/// document -> filter -> UNNEST -> filter -> group -> HAVING
///          -> columns -> DISTINCT -> sort -> OFFSET, LIMIT
/// ```
///
/// Without groups and order, each document's rows are produced immediately, and no more documents
/// are read when there are enough rows. Sorted rows and groups are produced when all documents have
/// been added, in parts that fit into memory: for each further part, all documents are added again.
///
/// ```
/// repeat { add all documents } while finish()
/// ```
///
/// All that is kept takes about `SQLLimits.memory` bytes, except a single row or group that is
/// larger. Two things are not kept in parts, and throw `tooLarge` beyond that: the keys of DISTINCT
/// without an order, and the distinct values of one group.
package struct SQLRun {
  /// Receives a row, which is an object; returns false to end the run.
  package typealias Receiver = (FleeceBody) throws -> Bool

  /// The number of documents from one check to the next.
  private static let checkInterval = 64

  private let program: SQLProgram
  private let check: @Sendable () throws -> Void
  private var evaluator: SQLEvaluator
  private var memory: SQLMemory
  private var groups: SQLGroups?
  private var sorter: SQLSorter?
  /// The keys of the rows so far, for DISTINCT without an order.
  private var known: Set<[UInt8]> = []
  private var unchecked = 0
  private var passed = 0
  private var given = 0

  package init(_ program: SQLProgram, limits: SQLLimits = SQLLimits()) {
    self.program = program
    check = limits.check
    evaluator = SQLEvaluator(limits)
    // Groups share the memory with the rows that are made of them.
    let isShared = program.grouping != nil && (program.sortsRows || program.isDistinct)
    let share = isShared ? limits.memory / 2 : limits.memory
    memory = SQLMemory(limit: share)
    groups = program.grouping.map { SQLGroups($0, memory: share) }
    if program.sortsRows {
      sorter = SQLSorter(
        skip: program.skip, limit: program.limit, memory: share, isDistinct: program.isDistinct)
    }
  }

  /// About the memory for all that is kept.
  var keptByteCount: Int { memory.used + (groups?.byteCount ?? 0) + (sorter?.byteCount ?? 0) }

  /// Whether further rows are not needed.
  private var hasEnough: Bool { sorter == nil && given >= program.limit }

  /// Whether further documents cannot change the rows.
  private var isComplete: Bool { program.limit == 0 || groups == nil && hasEnough }

  /// Adds a document that the predicate of the program accepts. Returns false when no more
  /// documents are needed.
  package mutating func add(_ document: some SQLDocument, _ body: Receiver) throws -> Bool {
    if isComplete { return false }
    unchecked += 1
    if unchecked == SQLRun.checkInterval {
      unchecked = 0
      try check()
    }
    evaluator.begin(document)
    defer { evaluator.end() }
    for condition in program.documentFilter where try !evaluator.holds(condition) { return true }
    return try unnest(0, body) && !isComplete
  }

  /// Adds documents to the count of a program that only counts.
  package mutating func add(documents count: Int) { groups?.add(rows: count) }

  /// Produces the rows that depend on all documents, as many as fit into memory. Returns whether
  /// all documents must be added again, in the same order, for the rest of the rows.
  package mutating func finish(_ body: Receiver) throws -> Bool {
    if program.limit == 0 { return false }
    try check()
    if let part = groups?.takePart() {
      for (keys, aggregates) in part {
        evaluator.begin(groupKeys: keys, aggregates: aggregates)
        if let having = program.grouping?.having, try !evaluator.holds(having) { continue }
        if try !project(body) || hasEnough { return false }
      }
      if groups?.beginNextPart() == true { return true }
    }
    for row in sorter?.takePart() ?? [] where try !body(row) { return false }
    return sorter?.beginNextPart() == true
  }

  // MARK: Rows

  /// Recurses into each element of each UNNEST. The depth is limited by `SQLParser.unnestLimit`.
  private mutating func unnest(_ level: Int, _ body: Receiver) throws -> Bool {
    guard level < program.unnests.count else { return try row(body) }
    let unnest = program.unnests[level]
    let array = try evaluator.value(unnest.array)
    let count = try array.elementCount() ?? 0
    if count == 0 {
      return unnest.isOuter ? try self.unnest(.missing, level, body) : true
    }
    for index in 0..<count {
      if try !self.unnest(array.element(at: Int64(index)), level, body) || isComplete { return false }
    }
    return true
  }

  private mutating func unnest(_ element: SQLValue, _ level: Int, _ body: Receiver) throws -> Bool {
    try evaluator.spend(1)
    evaluator.push(element)
    defer { evaluator.pop() }
    return try unnest(level + 1, body)
  }

  private mutating func row(_ body: Receiver) throws -> Bool {
    for condition in program.rowFilter where try !evaluator.holds(condition) { return true }
    guard groups == nil else {
      try groups?.add(&evaluator)
      return true
    }
    return try project(body)
  }

  private mutating func project(_ body: Receiver) throws -> Bool {
    guard sorter == nil else { return try sort() }
    // Skipped rows need not be created, unless DISTINCT must compare them.
    if !program.isDistinct, passed < program.skip {
      passed += 1
      return true
    }
    let row = try makeRow()
    guard try isNew(row) else { return true }
    if passed < program.skip {
      passed += 1
      return true
    }
    given += 1
    return try body(row)
  }

  private mutating func sort() throws -> Bool {
    var key = CollationKey()
    for term in program.order {
      try key.append(evaluator.value(term.value), isDescending: term.isDescending)
    }
    try evaluator.spend(key.bytes.count)
    guard var position = sorter?.position(key.bytes) else { return true }
    if program.isDistinct {
      // Equal rows have equal sort keys; sorted by their contents too, they are neighbours.
      guard sorter?.isBeforeEnd(position) == true else { return true }
      let row = try makeRow()
      try row.withRoot { root throws(FleeceError) in try key.append(root) }
      position = SQLSorter.Position(key: key.bytes, place: position.place)
      sorter?.add(position, row)
    } else if sorter?.wants(position) == true {
      let row = sorter?.keepsRows == true ? try makeRow() : nil
      sorter?.add(position, row)
    }
    return true
  }

  private mutating func isNew(_ row: FleeceBody) throws -> Bool {
    guard program.isDistinct else { return true }
    var key = CollationKey()
    try row.withRoot { root throws(FleeceError) in try key.append(root) }
    guard known.insert(key.bytes).inserted else { return false }
    try memory.take(key.bytes.count + SQLMemory.entry)
    return true
  }

  private mutating func makeRow() throws -> FleeceBody {
    var values: [SQLValue] = []
    for column in program.columns { values.append(try evaluator.value(column.value)) }
    var writer = FleeceWriter()
    try writer.beginDictionary()
    for (column, value) in zip(program.columns, values) {
      if let name = column.name {
        guard !value.isMissing else { continue }
        try writer.key(name)
        try value.write(to: &writer)
      } else {
        try SQLRun.spread(value, into: &writer)
      }
    }
    try writer.endDictionary()
    return FleeceBody(written: try writer.finish())
  }

  /// Writes the members of an object into the row.
  private static func spread(
    _ value: SQLValue, into writer: inout FleeceWriter
  ) throws(FleeceError) {
    guard case .stored(let value) = value else {
      // The value does not depend on a document.
      guard let members = try value.element?.members() else { return }
      for member in members {
        try writer.key(member.key)
        try member.value.write(to: &writer)
      }
      return
    }
    guard var members = try value.dictionary()?.members() else { return }
    while let member = try members.next() {
      try writer.key(String(decoding: member.key, as: UTF8.self))
      try writer.value(member.value)
    }
  }
}

extension CollationKey {
  mutating func append(_ value: SQLValue, isDescending: Bool) throws(FleeceError) {
    var part = CollationKey()
    try value.append(to: &part)
    append(part, isDescending: isDescending)
  }
}
