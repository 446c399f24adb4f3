import LatewoodFleece

/// An executable statement: its names are resolved, its parameters have values, and its condition
/// is split into a predicate and the remaining conditions, which must be evaluated.
package struct SQLProgram: Sendable {
  struct Column: Sendable {
    /// The name of the column; nil if the members of the value become columns.
    var name: String?
    var value: SQLExpression
  }

  struct Unnest: Sendable {
    var array: SQLExpression
    var isOuter: Bool
  }

  struct Grouping: Sendable {
    var keys: [SQLExpression]
    var aggregates: [SQLAggregate]
    var having: SQLExpression?
  }

  /// An expression of GROUP BY in the order of the groups.
  struct GroupOrder: Sendable {
    /// The number of the expression.
    var key: Int
    var isDescending: Bool
  }

  struct Order: Sendable {
    var value: SQLExpression
    var isDescending: Bool
  }

  /// A field to sort documents by.
  package struct FieldOrder: Sendable, Equatable {
    package let path: FieldPath
    package let isDescending: Bool
  }

  /// The maximum number of rows that the search may sort; it keeps their keys in memory.
  private static let scanOrderLimit = 100_000

  /// The name of the collection; without FROM, the name of the default collection.
  package let collection: String
  /// Whether there is a FROM. Without it, the program has one row.
  package let readsDocuments: Bool
  /// A predicate that is false for documents that cannot produce a row.
  package private(set) var predicate = Predicate.always(true)
  /// The order of the documents; empty for the order of ids.
  package private(set) var scanOrder: [FieldOrder] = []
  /// The full-text index by whose scores the documents are ordered instead, the best first.
  package private(set) var scanRanking: String?
  /// The number of documents to skip at the beginning, and the maximum number to return.
  package private(set) var scanSkip = 0
  package private(set) var scanLimit = Int.max

  /// The rest of the condition, for documents and for rows.
  private(set) var documentFilter: [SQLExpression] = []
  private(set) var rowFilter: [SQLExpression] = []
  private(set) var unnests: [Unnest] = []
  private(set) var grouping: Grouping?
  private(set) var columns: [Column] = []
  private(set) var order: [Order] = []
  let isDistinct: Bool
  /// Whether rows are the values of the only column instead of objects.
  package let isRaw: Bool
  private(set) var skip = 0
  private(set) var limit = Int.max

  /// - Parameter parameters: the values by name, without the dollar sign.
  ///
  /// Throws `invalidStatement` with the position in the text.
  package init(
    _ statement: SQLStatement, parameters: [String: FleeceElement] = [:]
  ) throws(QueryError) {
    readsDocuments = statement.readsDocuments
    collection = readsDocuments ? statement.collection : SQLStatement.fullName(of: "_", in: nil)
    isDistinct = statement.isDistinct
    isRaw = statement.isRaw
    var binder = SQLBinder(statement, try SQLProgram.literals(parameters, statement))
    for unnest in statement.unnests {
      unnests.append(Unnest(array: try binder.bind(unnest.array), isOuter: unnest.isOuter))
      try binder.addUnnest(unnest)
    }
    if let condition = statement.condition { try split(condition, &binder) }
    for group in statement.groups { try binder.addGroupKey(group) }
    binder.isGrouped = statement.isGrouped
    columns = try SQLProgram.columns(statement, &binder)
    var having: SQLExpression?
    if let syntax = statement.having { having = try binder.bind(syntax) }
    try bindOrder(statement, &binder)
    try binder.checkUsesOfWords()
    if statement.isGrouped {
      grouping = Grouping(keys: binder.groupKeys, aggregates: binder.aggregates, having: having)
    }
    limit = try SQLProgram.count(statement.limit, "LIMIT", statement, binder) ?? .max
    skip = try SQLProgram.count(statement.offset, "OFFSET", statement, binder) ?? 0
    pushOrderDownToScan()
  }

  private static func literals(
    _ parameters: [String: FleeceElement], _ statement: SQLStatement
  ) throws(QueryError) -> [String: SQLLiteral] {
    var literals: [String: SQLLiteral] = [:]
    for (name, element) in parameters {
      do throws(FleeceError) {
        literals[name] = try SQLLiteral(element)
      } catch {
        throw QueryError(.invalidStatement, "the value of the parameter $\(name) cannot be read: \(error)")
      }
    }
    return literals
  }

  // MARK: Clauses

  /// Splits a condition into the predicate and the filters.
  private mutating func split(_ condition: SQLSyntax, _ binder: inout SQLBinder) throws(QueryError) {
    var parts = [condition]
    if case .all(let more) = condition.form { parts = more }
    var predicates: [Predicate] = []
    binder.isInWhere = true
    defer { binder.isInWhere = false }
    for part in parts {
      binder.usesUnnest = false
      let expression = try binder.bind(part)
      if let predicate = expression.predicate(where: true) {
        predicates.append(predicate)
      } else {
        if let hint = expression.hint() { predicates.append(hint) }
        if binder.usesUnnest { rowFilter.append(expression) } else { documentFilter.append(expression) }
      }
    }
    predicates += elementHints
    predicate = predicates.count == 1 ? predicates[0] : predicates.isEmpty ? .always(true) : .all(predicates)
  }

  /// The conditions on rows, as conditions on documents: a flattened array must contain a matching
  /// element. Does not apply to LEFT UNNEST, where a document without elements also produces a row.
  private var elementHints: [Predicate] {
    var predicates: [Predicate] = []
    for (index, unnest) in unnests.enumerated() where !unnest.isOuter {
      guard let path = unnest.array.path(from: .document) else { continue }
      let hints = rowFilter.compactMap { $0.hint(of: .variable(index)) }
      if !hints.isEmpty {
        predicates.append(.field(path, .anyElement(hints.count == 1 ? hints[0] : .all(hints))))
      }
    }
    return predicates
  }

  private static func columns(
    _ statement: SQLStatement, _ binder: inout SQLBinder
  ) throws(QueryError) -> [Column] {
    var columns: [Column] = []
    var names: Set<String> = []
    var unnamed = 0
    for column in statement.columns {
      var added: [Column] = []
      if let syntax = column.expression {
        let value = try binder.bind(syntax)
        var name = column.alias ?? syntax.lastName
        if name == nil, !column.isSpread {
          unnamed += 1
          name = "$\(unnamed)"
        }
        added = [Column(name: column.isSpread ? nil : name, value: value)]
      } else {
        guard statement.readsDocuments else {
          throw statement.refusal(
            "FROM is expected after the columns, because * stands for documents", at: column.offset)
        }
        // A star stands for the document and the elements of its arrays.
        for name in [statement.alias] + statement.unnests.map(\.alias) {
          let syntax = SQLSyntax(form: .name(name), offset: column.offset, depth: 1)
          added.append(Column(name: name, value: try binder.bind(syntax)))
        }
      }
      for name in added.compactMap(\.name) where !names.insert(name).inserted {
        throw statement.refusal(
          "two columns have the name \(name); rename one with AS", at: column.offset)
      }
      columns += added
    }
    return columns
  }

  private mutating func bindOrder(
    _ statement: SQLStatement, _ binder: inout SQLBinder
  ) throws(QueryError) {
    for (column, bound) in zip(statement.columns, columns) {
      if let alias = column.alias { binder.columns[alias] = bound.value }
    }
    defer { binder.columns = [:] }
    for term in statement.order {
      let value = try binder.bind(term.expression)
      if isDistinct, !columns.contains(where: { $0.value.determines(value) }) {
        throw statement.refusal(
          "SELECT DISTINCT sorts only by its columns: add this as a column, and sort by its name",
          at: term.expression.offset)
      }
      order.append(Order(value: value, isDescending: term.isDescending))
    }
  }

  private static func count(
    _ syntax: SQLSyntax?, _ clause: String, _ statement: SQLStatement, _ binder: SQLBinder
  ) throws(QueryError) -> Int? {
    guard let syntax else { return nil }
    var binder = binder
    binder.isGrouped = false
    switch try binder.bind(syntax).literal {
    case .number(.integer(let count))? where count >= 0: return Int(clamping: count)
    case .number(.unsigned)?: return .max
    default: throw statement.refusal("\(clause) takes a whole number of at least 0", at: syntax.offset)
    }
  }

  // MARK: Order and number of documents

  /// Passes order, skip and limit to the search if each document produces one row, so that it
  /// returns only the necessary documents, in the order of the rows.
  private mutating func pushOrderDownToScan() {
    if isOneToOne, let index = bestFirst {
      scanRanking = index
      return takeOrder([])
    }
    guard isOneToOne, let fields = fieldOrder else { return }
    if !fields.isEmpty {
      let (needed, overflow) = skip.addingReportingOverflow(limit)
      guard !overflow, needed <= SQLProgram.scanOrderLimit else { return }
    }
    takeOrder(fields)
  }

  private mutating func takeOrder(_ fields: [FieldOrder]) {
    (scanOrder, scanSkip, scanLimit) = (fields, skip, limit)
    (order, skip, limit) = ([], 0, .max)
  }

  /// The index of `ORDER BY RANK(index) DESC` alone, if all documents have words of its MATCH.
  private var bestFirst: String? {
    guard order.count == 1, order[0].isDescending, case .words(.rank(let index)) = order[0].value,
      Conjunction(predicate).parts.contains(where: {
        if case .text(let condition) = $0 { condition.index == index } else { false }
      })
    else { return nil }
    return index
  }

  /// Whether each document produces one row.
  private var isOneToOne: Bool {
    unnests.isEmpty && grouping == nil && !isDistinct && documentFilter.isEmpty && rowFilter.isEmpty
  }

  /// The terms of ORDER BY as fields of documents; nil if it sorts by anything else.
  private var fieldOrder: [FieldOrder]? {
    var fields: [FieldOrder] = []
    for term in order {
      guard let path = term.value.path(from: .document) else { return nil }
      fields.append(FieldOrder(path: path, isDescending: term.isDescending))
    }
    return fields
  }

  /// The same program for an index with the order of the rows, which are then produced without
  /// sorting them in memory. Nil if the rows are not sorted, or no index can have the order.
  package var inOrderOfScan: SQLProgram? {
    guard !order.isEmpty, unnests.isEmpty, grouping == nil, !isDistinct, let fields = fieldOrder else {
      return nil
    }
    var program = self
    if isOneToOne {
      program.takeOrder(fields)
    } else {
      // Some documents do not produce a row, so the limit applies to rows.
      (program.scanOrder, program.order) = (fields, [])
    }
    return program
  }

  /// The order in which groups are made: the terms of ORDER BY if these are expressions of GROUP
  /// BY, then the other expressions.
  var groupOrder: [GroupOrder] {
    guard let grouping else { return [] }
    var order: [GroupOrder] = []
    for term in isSortedByGroups ? self.order : [] {
      guard case .groupKey(let key) = term.value, !order.contains(where: { $0.key == key }) else { continue }
      order.append(GroupOrder(key: key, isDescending: term.isDescending))
    }
    for key in grouping.keys.indices where !order.contains(where: { $0.key == key }) {
      order.append(GroupOrder(key: key, isDescending: false))
    }
    return order
  }

  /// Whether the rows are in order if the groups are.
  var isSortedByGroups: Bool {
    guard grouping != nil, !isDistinct else { return false }
    return order.allSatisfy { if case .groupKey = $0.value { true } else { false } }
  }

  /// Returns the query of the first MATCH with an index in the conditions that no predicate
  /// expresses, unless it is negated.
  package func firstMatch(in index: String) -> String? {
    (documentFilter + rowFilter).lazy.compactMap { $0.firstMatch(in: index) }.first
  }

  /// The names of the columns in the order of SELECT; nil for `name.*`, whose members are columns.
  package var columnNames: [String?] { columns.map(\.name) }

  /// Whether rows are sorted in memory.
  package var sortsRows: Bool { !order.isEmpty }

  /// Whether a part of the condition must be evaluated for each document or row.
  package var filtersRows: Bool { !documentFilter.isEmpty || !rowFilter.isEmpty }

  /// The facts about all documents that a program asks for.
  package struct Summary: Sendable {
    /// Whether it counts documents.
    package fileprivate(set) var counts = false
    /// The fields with a minimum, or in descending order with a maximum, to find.
    package fileprivate(set) var edges: [FieldOrder] = []

    package var countsOnly: Bool { edges.isEmpty }
  }

  /// The aggregates over all documents, if the program needs only their number, and the minimum and
  /// maximum of fields; nil otherwise.
  package var summary: Summary? {
    guard let grouping, grouping.keys.isEmpty, unnests.isEmpty, !filtersRows else { return nil }
    var summary = Summary()
    for aggregate in grouping.aggregates {
      switch aggregate.kind {
      case .count where aggregate.countsAll: summary.counts = true
      case .min, .max:
        guard let path = aggregate.argument?.path(from: .document) else { return nil }
        let edge = FieldOrder(path: path, isDescending: aggregate.kind == .max)
        if !summary.edges.contains(edge) { summary.edges.append(edge) }
      default: return nil
      }
    }
    return summary
  }
}

extension SQLStatement {
  /// Whether the statement groups its rows.
  fileprivate var isGrouped: Bool {
    if !groups.isEmpty || having != nil { return true }
    return columns.contains { $0.expression?.hasAggregate == true }
      || order.contains { $0.expression.hasAggregate }
  }

  func refusal(_ reason: String, at offset: Int) -> QueryError {
    refusal(.invalidStatement, reason, at: offset)
  }
}

extension SQLExpression {
  /// Returns the query of the first MATCH with an index that makes this condition true.
  fileprivate func firstMatch(in index: String) -> String? {
    switch self {
    case .words(.match(index, let query)): query
    case .all(let parts), .any(let parts): parts.lazy.compactMap { $0.firstMatch(in: index) }.first
    default: nil
    }
  }

  /// Returns whether rows with equal values of this expression have equal values of another.
  fileprivate func determines(_ other: SQLExpression) -> Bool {
    if self == other || other.literal != nil { return true }
    switch (self, other) {
    case (.document(let prefix), .document(let steps)): return steps.starts(with: prefix)
    case (.variable(let index, let prefix), .variable(let other, let steps)):
      return index == other && steps.starts(with: prefix)
    default: return false
    }
  }
}
