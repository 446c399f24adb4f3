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
/// larger. The rows of DISTINCT without an order are produced immediately as long as their keys fit
/// into that; the others follow in parts, not in the order of their documents.
package struct SQLRun {
  /// Receives a row, which is an object, or the value itself after SELECT RAW; returns false to end
  /// the run.
  package typealias Receiver = (FleeceBody) throws -> Bool

  /// The number of documents from one check to the next.
  private static let checkInterval = 64

  private let program: SQLProgram
  private let check: @Sendable () throws -> Void
  private var evaluator: SQLEvaluator
  private var groups: SQLGroups?
  private var sorter: PartSorter<SQLRow>?
  /// The number of rows that were offered to the sorter in this part.
  private var offered = 0
  /// The rows so far, for DISTINCT without an order.
  private var distinct: SQLDistinct?
  /// The keys of some rows in the sorter, for DISTINCT with an order: most repeated rows are known
  /// by them.
  private var sorted: Set<[UInt8]> = []
  private var sortedByteCount = 0
  private let memory: Int
  private var unchecked = 0
  private var passed = 0
  private var given = 0
  /// Whether the receiver has ended the run.
  private var isEnded = false

  /// - Parameter words: the words of documents; nil if the program does not use them.
  package init(_ program: SQLProgram, limits: SQLLimits = SQLLimits(), words: (any SQLWords)? = nil) {
    self.program = program
    check = limits.check
    evaluator = SQLEvaluator(limits, words: words)
    memory = limits.memory
    let sortsRows = program.sortsRows && !program.isSortedByGroups
    // Groups share the memory with the rows that are made of them.
    let isShared = program.grouping != nil && (sortsRows || program.isDistinct)
    let share = isShared ? memory / 2 : memory
    groups = program.grouping.map {
      // Sorted rows take the place of their groups if these fit into one part.
      SQLGroups(
        $0, order: program.groupOrder, memory: program.isDistinct ? share : memory, partMemory: share)
    }
    if sortsRows {
      sorter = PartSorter(
        skip: program.skip, limit: program.limit, memory: program.isDistinct ? share - share / 8 : share,
        isDistinct: program.isDistinct)
    } else if program.isDistinct {
      distinct = SQLDistinct(memory: share)
    }
  }

  /// About the memory for all that is kept.
  var keptByteCount: Int {
    sortedByteCount + (distinct?.byteCount ?? 0) + (groups?.byteCount ?? 0) + (sorter?.byteCount ?? 0)
  }

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

  /// Produces the row of a program that reads no documents.
  package mutating func runWithoutDocuments(_ body: Receiver) throws {
    repeat {
      evaluator.begin(groupKeys: [], aggregates: [])
      _ = try row(body)
    } while try finish(body)
  }

  /// Adds documents to the count of a program that only counts.
  package mutating func add(documents count: Int) { groups?.add(rows: count) }

  /// Produces the rows that depend on all documents, as many as fit into memory. Returns whether
  /// all documents must be added again, in the same order, for the rest of the rows.
  package mutating func finish(_ body: Receiver) throws -> Bool {
    if program.limit == 0 || isEnded || hasEnough { return false }
    try check()
    try groups?.endPart()
    while let (keys, aggregates) = groups?.takeNext() {
      evaluator.begin(groupKeys: keys, aggregates: aggregates)
      if let having = program.grouping?.having, try !evaluator.holds(having) { continue }
      if let groups, !groups.isInParts, !program.isDistinct {
        // Rows take the place of the groups that they are made of.
        let rest = max(memory / 16, memory - groups.byteCount)
        sorter?.memory = rest
      }
      if try !project(body) || hasEnough { return false }
    }
    if groups?.beginNextPart() == true || distinct?.beginNextPart() == true { return true }
    for entry in try sorter?.takePart() ?? [] {
      if let row = entry.row, try !body(row) { return false }
    }
    forgetSorted()
    offered = 0
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
    let columns = try columnValues()
    if program.isDistinct {
      var key = CollationKey()
      try append(columns, to: &key)
      guard distinct?.add(key.bytes) == true else { return true }
    }
    if passed < program.skip {
      passed += 1
      return true
    }
    given += 1
    isEnded = try !body(row(of: columns))
    return !isEnded
  }

  private mutating func sort() throws -> Bool {
    var key = CollationKey()
    for term in program.order {
      try key.append(evaluator.value(term.value), isDescending: term.isDescending)
    }
    try evaluator.spend(key.bytes.count)
    var entry = SQLRow(key: key.bytes, number: offered)
    offered += 1
    if program.isDistinct {
      // Equal rows have equal sort keys; sorted by their contents too, they are neighbours.
      guard sorter?.isBeforeEnd(entry) == true else { return true }
      let columns = try columnValues()
      try append(columns, to: &key)
      entry.key = key.bytes
      guard sorter?.wants(entry) == true, isNewToSorter(key.bytes) else { return true }
      entry.row = try row(of: columns)
    } else {
      guard sorter?.wants(entry) == true else { return true }
      if sorter?.keepsContents == true { entry.row = try row(of: columnValues()) }
    }
    try sorter?.add(entry)
    return true
  }

  /// Returns false if a row with a key is known to be in the sorter.
  private mutating func isNewToSorter(_ key: [UInt8]) -> Bool {
    guard sorted.insert(key).inserted else { return false }
    sortedByteCount += key.count + SQLMemory.entry
    if sortedByteCount > memory / 16 { forgetSorted() }
    return true
  }

  private mutating func forgetSorted() {
    sorted = []
    sortedByteCount = 0
  }

  private mutating func columnValues() throws -> [SQLValue] {
    var values: [SQLValue] = []
    values.reserveCapacity(program.columns.count)
    for column in program.columns { values.append(try evaluator.value(column.value)) }
    // A row cannot be missing.
    if program.isRaw, values[0].isMissing { values[0] = .null }
    return values
  }

  /// Appends a key that is the same for equal rows.
  private mutating func append(_ columns: [SQLValue], to key: inout CollationKey) throws {
    let start = key.bytes.count
    if program.columns.contains(where: { $0.name == nil }) {
      // The names of its members are known only from the row.
      try row(of: columns).withRoot { root throws(FleeceError) in try key.append(root) }
    } else {
      for value in columns { try value.append(to: &key) }
    }
    try evaluator.spend(key.bytes.count - start)
  }

  private func row(of columns: [SQLValue]) throws -> FleeceBody {
    var writer = FleeceWriter()
    if program.isRaw {
      try columns[0].write(to: &writer)
      return FleeceBody(written: try writer.finish())
    }
    try writer.beginDictionary()
    for (column, value) in zip(program.columns, columns) {
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

/// A row that is being sorted.
struct SQLRow: SortedEntry {
  var key: [UInt8]
  /// The index of the row among all rows, so that the sort is stable.
  let number: Int
  /// Nil if only the key is kept.
  var row: FleeceBody?

  var byteCount: Int {
    key.count + (row?.bytes.count ?? 0) + MemoryLayout<SQLRow>.stride + SQLMemory.entry
  }

  mutating func keepOnlyKey() { row = nil }

  static func precedes(_ left: SQLRow, _ right: SQLRow) -> Bool {
    left.key == right.key ? left.number < right.number : left.key.lexicographicallyPrecedes(right.key)
  }

  static func repeats(_ row: SQLRow, _ earlier: SQLRow) -> Bool { row.key == earlier.key }
}

extension CollationKey {
  mutating func append(_ value: SQLValue, isDescending: Bool) throws(FleeceError) {
    var part = CollationKey()
    try value.append(to: &part)
    append(part, isDescending: isDescending)
  }
}
