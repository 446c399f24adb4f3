import LatewoodBytes
import LatewoodFleece
import LatewoodText

/// Resolves the names of a statement and checks that its parts are allowed at their positions.
///
/// A name refers to, in this order: a column's alias (in ORDER BY only), a variable of ANY, EVERY
/// or UNNEST, the collection's alias, otherwise a member of the document. After GROUP BY, an
/// expression may use only values that all rows of a group share: the expressions of GROUP BY, and
/// aggregates.
struct SQLBinder {
  private let statement: SQLStatement
  private let parameters: [String: SQLLiteral]
  /// The names of variables by number: those of UNNEST, then those of quantifiers.
  private var variables: [String] = []
  private var unnestCount = 0
  private var isInAggregate = false
  /// The variables of the quantifiers around an aggregate, which its argument cannot use.
  private var outerVariables: [String] = []
  /// Evaluates expressions without names.
  private var evaluator = SQLEvaluator()

  var isGrouped = false
  private(set) var groupKeys: [SQLExpression] = []
  private(set) var aggregates: [SQLAggregate] = []
  /// The aliases that ORDER BY may use.
  var columns: [String: SQLExpression] = [:]
  /// Whether the condition of WHERE is bound, the only place of MATCH.
  var isInWhere = false
  /// The indexes of the conditions with MATCH.
  private var matchedIndexes: Set<String> = []
  /// The uses of an index that need a condition with MATCH, which can follow them in WHERE.
  private var usedIndexes: [(index: String, function: String, offset: Int)] = []
  /// Whether a variable of UNNEST was used since this was last set to false.
  var usesUnnest = false

  init(_ statement: SQLStatement, _ parameters: [String: SQLLiteral]) {
    self.statement = statement
    self.parameters = parameters
  }

  mutating func addUnnest(_ unnest: SQLStatement.Unnest) throws(QueryError) {
    if unnest.alias == statement.alias || variables.contains(unnest.alias) {
      throw refusal("the name \(unnest.alias) is already taken; give another one after AS", unnest.offset)
    }
    variables.append(unnest.alias)
    unnestCount += 1
  }

  mutating func addGroupKey(_ syntax: SQLSyntax) throws(QueryError) { groupKeys.append(try bind(syntax)) }

  private func refusal(
    _ reason: String, _ offset: Int, _ kind: QueryError.Kind = .invalidStatement
  ) -> QueryError { statement.refusal(kind, reason, at: offset) }

  // MARK: Expressions

  mutating func bind(_ syntax: SQLSyntax) throws(QueryError) -> SQLExpression {
    if isGrouped, !isInAggregate, let shared = try shared(syntax) { return shared }
    switch syntax.form {
    case .literal(let literal): return .literal(literal)
    case .parameter(let name):
      guard let value = parameters[name] else {
        throw refusal("the parameter $\(name) has no value", syntax.offset)
      }
      return .literal(value)
    case .name(let name): return try lookUp(name, syntax.offset)
    case .member(let inner, let name):
      try checkFact(inner, name, syntax.offset)
      return try append(.member(FieldPath.Step(name)), to: bind(inner))
    case .element(let inner, let index): return try element(inner, index)
    case .call(let call): return try bind(call, syntax)
    case .quantified(let quantifier, let variable, let array, let condition):
      return try quantified(quantifier, variable, array, condition)
    case .choice(let subject, let branches, let otherwise):
      return try choice(subject, branches, otherwise)
    case .object(let members):
      var bound: [SQLMember] = []
      for member in members { bound.append(SQLMember(key: member.key, value: try bind(member.value))) }
      return fold(.object(bound), bound.map(\.value))
    case .array(let parts):
      let parts = try bindAll(parts)
      return fold(.array(parts), parts)
    default: return try operation(syntax.form)
    }
  }

  private mutating func operation(_ form: SQLSyntax.Form) throws(QueryError) -> SQLExpression {
    switch form {
    case .negate(let inner): return try unary(inner) { .negate($0) }
    case .not(let inner): return try unary(inner) { .not($0) }
    case .exists(let inner): return try unary(inner) { .exists($0) }
    case .test(let test, let inner): return try unary(inner) { .test(test, $0) }
    case .all(let parts):
      let parts = try bindAll(parts)
      return fold(.all(parts), parts)
    case .any(let parts):
      let parts = try bindAll(parts)
      return fold(.any(parts), parts)
    case .between(let value, let low, let high):
      let parts = try bindAll([value, low, high])
      return fold(.between(parts[0], parts[1], parts[2]), parts)
    case .infix(let infix, let left, let right):
      let parts = try bindAll([left, right])
      return fold(SQLBinder.operation(infix, parts[0], parts[1]), parts)
    default: return .literal(.missing)
    }
  }

  private static func operation(
    _ infix: SQLInfix, _ left: SQLExpression, _ right: SQLExpression
  ) -> SQLExpression {
    switch infix {
    case .compare(let comparison): .compare(comparison, left, right)
    case .calculate(let operation): .calculate(operation, left, right)
    case .concat: .call(.concat, [left, right])
    case .like: .like(left, right)
    case .among: SQLConstants(right).map { .amongConstants(left, $0) } ?? .among(left, right)
    }
  }

  private mutating func bindAll(_ parts: [SQLSyntax]) throws(QueryError) -> [SQLExpression] {
    var bound: [SQLExpression] = []
    for part in parts { bound.append(try bind(part)) }
    return bound
  }

  private mutating func unary(
    _ inner: SQLSyntax, _ make: (SQLExpression) -> SQLExpression
  ) throws(QueryError) -> SQLExpression {
    let inner = try bind(inner)
    return fold(make(inner), [inner])
  }

  /// Evaluates an expression if all its parts are constants. If that fails, the expression stays
  /// unchanged, and fails where it is used.
  private mutating func fold(_ expression: SQLExpression, _ parts: [SQLExpression]) -> SQLExpression {
    guard parts.allSatisfy({ $0.literal != nil }) else { return expression }
    do { return .literal(try evaluator.value(expression).literal()) } catch { return expression }
  }

  // MARK: Names

  private mutating func lookUp(_ name: String, _ offset: Int) throws(QueryError) -> SQLExpression {
    if let column = columns[name] { return column }
    if let index = variables.lastIndex(of: name) {
      if isGrouped, !isInAggregate {
        // Variables of UNNEST belong to individual rows.
        guard index >= unnestCount else { throw notShared(name, offset) }
        return .variable(index - unnestCount, [])
      }
      if index < unnestCount { usesUnnest = true }
      return .variable(index, [])
    }
    if outerVariables.contains(name) {
      throw refusal("an aggregate is computed from rows, but \(name) is an element of a whole group", offset)
    }
    if isGrouped, !isInAggregate { throw notShared(name, offset) }
    try checkSource(of: name, offset)
    return name == statement.alias ? .document([]) : .document([.member(FieldPath.Step(name))])
  }

  private func checkSource(of name: String, _ offset: Int) throws(QueryError) {
    guard !statement.readsDocuments else { return }
    throw refusal("FROM is expected after the columns, because \(name) is read from documents", offset)
  }

  private func notShared(_ name: String, _ offset: Int) -> QueryError {
    refusal(
      "\(name) is not the same for all rows of a group: use it in GROUP BY or in an aggregate such as MIN",
      offset)
  }

  private func append(_ step: SQLStep, to base: SQLExpression) -> SQLExpression {
    switch base {
    case .document(let steps): return .document(steps + [step])
    case .variable(let index, let steps): return .variable(index, steps + [step])
    case .follow(let inner, let steps): return .follow(inner, steps + [step])
    case .object(let members):
      guard case .member(let name) = step else { return .literal(.missing) }
      return members.last { FieldPath.Step($0.key) == name }?.value ?? .literal(.missing)
    default: return .follow(base, [step])
    }
  }

  private mutating func element(
    _ inner: SQLSyntax, _ index: SQLSyntax
  ) throws(QueryError) -> SQLExpression {
    let (inner, index) = (try bind(inner), try bind(index))
    switch index.literal {
    case .number(.integer(let place)): return append(.element(place), to: inner)
    case .string(let name): return append(.member(FieldPath.Step(name)), to: inner)
    default: return fold(.element(inner, index), [inner, index])
    }
  }

  private mutating func quantified(
    _ quantifier: SQLQuantifier, _ variable: String, _ array: SQLSyntax, _ condition: SQLSyntax
  ) throws(QueryError) -> SQLExpression {
    let array = try bind(array)
    variables.append(variable)
    defer { variables.removeLast() }
    // The variable hides an alias with the same name.
    let hidden = columns.removeValue(forKey: variable)
    defer { columns[variable] = hidden }
    let condition = try bind(condition)
    let isOfGroup = isGrouped && !isInAggregate
    let index = variables.count - 1 - (isOfGroup ? unnestCount : 0)
    return .quantified(quantifier, variable: index, array, condition)
  }

  private mutating func choice(
    _ subject: SQLSyntax?, _ branches: [(when: SQLSyntax, then: SQLSyntax)], _ otherwise: SQLSyntax?
  ) throws(QueryError) -> SQLExpression {
    var wanted: SQLExpression?
    if let subject { wanted = try bind(subject) }
    var bound: [SQLBranch] = []
    for branch in branches {
      bound.append(SQLBranch(condition: try bind(branch.when), value: try bind(branch.then)))
    }
    var rest = SQLExpression.literal(.null)
    if let otherwise { rest = try bind(otherwise) }
    return .choice(wanted, bound, otherwise: rest)
  }

  // MARK: Calls

  private mutating func bind(_ call: SQLCall, _ syntax: SQLSyntax) throws(QueryError) -> SQLExpression {
    if let kind = SQLAggregate.Kind(rawValue: call.name.lowercased()) {
      return try aggregate(kind, call, syntax.offset)
    }
    if call.name.lowercased() == "meta" { return try meta(call, syntax.offset) }
    if let function = WordFunction(rawValue: call.name.lowercased()) {
      return try words(function, call, syntax.offset)
    }
    guard let function = SQLFunction(name: call.name) else {
      let advice = Suggestion.best(for: call.name.lowercased(), among: SQLFunction.names)
      throw refusal(
        advice.map { "unknown function \(call.name); did you mean \($0.uppercased())?" }
          ?? "unknown function \(call.name)", syntax.offset)
    }
    if call.hasStar || call.isDistinct {
      throw refusal(
        "\(call.hasStar ? "*" : "DISTINCT") is only for aggregates such as COUNT", syntax.offset)
    }
    guard function.arity.contains(call.arguments.count) else {
      let (least, most) = (function.arity.lowerBound, function.arity.upperBound)
      let wanted = least == most ? "\(least)" : "\(least) to \(most)"
      throw refusal(
        "\(call.name.uppercased()) takes \(wanted) argument\(wanted == "1" ? "" : "s"), "
          + "not \(call.arguments.count)", syntax.offset)
    }
    let arguments = try bindAll(call.arguments)
    return fold(.call(function, arguments), arguments)
  }

  private func meta(_ call: SQLCall, _ offset: Int) throws(QueryError) -> SQLExpression {
    try checkSource(of: "meta()", offset)
    if let argument = call.arguments.first {
      guard case .name(statement.alias) = argument.form, call.arguments.count == 1 else {
        throw refusal("the argument of meta() is the collection: meta(\(statement.alias))", argument.offset)
      }
    }
    if isGrouped, !isInAggregate { throw notShared("meta()", offset) }
    return .object(SQLFact.allCases.map { SQLMember(key: $0.rawValue, value: .fact($0)) })
  }

  private func checkFact(_ inner: SQLSyntax, _ name: String, _ offset: Int) throws(QueryError) {
    guard case .call(let call) = inner.form, call.name.lowercased() == "meta",
      SQLFact(rawValue: name) == nil
    else { return }
    let known = SQLFact.allCases.map(\.rawValue).joined(separator: ", ")
    throw refusal("meta() has no member \(name); it has \(known)", offset)
  }

  private mutating func aggregate(
    _ kind: SQLAggregate.Kind, _ call: SQLCall, _ offset: Int
  ) throws(QueryError) -> SQLExpression {
    let name = call.name.uppercased()
    if isInAggregate { throw refusal("\(name) is inside another aggregate", offset) }
    guard isGrouped else {
      throw refusal(
        "\(name) is computed from many rows, and can only be in SELECT, HAVING and ORDER BY", offset)
    }
    guard kind == .count || !call.hasStar, call.arguments.count == (call.hasStar ? 0 : 1) else {
      let advice =
        kind == .min ? "; LEAST compares several" : kind == .max ? "; GREATEST compares several" : ""
      throw refusal("\(name) takes one argument\(advice)", offset)
    }
    isInAggregate = true
    defer { isInAggregate = false }
    let (hidden, around) = (columns, variables)
    columns = [:]
    variables.removeSubrange(unnestCount...)
    outerVariables = Array(around.dropFirst(unnestCount))
    defer { (columns, variables, outerVariables) = (hidden, around, []) }
    var argument: SQLExpression?
    if let first = call.arguments.first { argument = try bind(first) }
    let aggregate = SQLAggregate(kind: kind, argument: argument, isDistinct: call.isDistinct)
    if let index = aggregates.firstIndex(of: aggregate) { return .aggregate(index) }
    aggregates.append(aggregate)
    return .aggregate(aggregates.count - 1)
  }

  // MARK: Words

  /// The functions that use a full-text index.
  enum WordFunction: String, CaseIterable {
    case match, rank, snippet

    var usage: String {
      switch self {
      case .match: "MATCH takes the name of a full-text index and the text of a query"
      case .rank: "RANK takes the name of a full-text index"
      case .snippet:
        "SNIPPET takes the name of a full-text index, and can take the marks before and after found words and a number of words"
      }
    }
  }

  private mutating func words(
    _ function: WordFunction, _ call: SQLCall, _ offset: Int
  ) throws(QueryError) -> SQLExpression {
    guard let first = call.arguments.first, let index = indexName(first), !call.hasStar, !call.isDistinct
    else { throw refusal(function.usage, offset) }
    try checkSource(of: call.name, offset)
    var rest: [SQLLiteral] = []
    for argument in call.arguments.dropFirst() {
      guard let literal = try bind(argument).literal else {
        throw refusal("this argument of \(call.name.uppercased()) must be a constant", argument.offset)
      }
      rest.append(literal)
    }
    if isGrouped, !isInAggregate { throw notShared(call.name.uppercased(), offset) }
    switch function {
    case .match:
      guard rest.count == 1, case .string(let query) = rest[0] else { throw refusal(function.usage, offset) }
      guard isInWhere else { throw refusal("MATCH is a condition of WHERE", offset) }
      do throws(TextQueryError) { _ = try TextQueryParser.parse(query) } catch {
        throw refusal(error, in: query, call.arguments[1].offset)
      }
      matchedIndexes.insert(index)
      return .words(.match(index: index, query: query))
    case .rank, .snippet:
      usedIndexes.append((index, call.name.uppercased(), offset))
      guard function == .snippet || rest.isEmpty else { throw refusal(function.usage, offset) }
      return function == .rank ? .words(.rank(index: index)) : try snippet(index, rest, offset)
    }
  }

  /// Returns the error of a malformed query, at its place in the statement. A query in a parameter,
  /// or in a string with escapes, has its own place in the message instead.
  ///
  /// - Parameter offset: the offset of the argument.
  private func refusal(_ error: TextQueryError, in query: String, _ offset: Int) -> QueryError {
    // After the quote.
    let rest = statement.text.utf8.dropFirst(offset + 1)
    if rest.starts(with: query.utf8) {
      return refusal("the full-text query is not valid: \(error.reason)", offset + 1 + error.offset)
    }
    return refusal("the full-text query is not valid: \(error.description)", offset)
  }

  /// Throws the error of RANK or SNIPPET without a MATCH.
  func checkUsesOfWords() throws(QueryError) {
    for use in usedIndexes where !matchedIndexes.contains(use.index) {
      throw refusal("\(use.function) needs a MATCH with the index \(use.index) in WHERE", use.offset)
    }
  }

  private func snippet(
    _ index: String, _ rest: [SQLLiteral], _ offset: Int
  ) throws(QueryError) -> SQLExpression {
    var (marks, wordCount) = (["[", "]"], 24)
    switch rest.count {
    case 0: break
    case 2, 3:
      guard case .string(let opening) = rest[0], case .string(let closing) = rest[1] else {
        throw refusal(WordFunction.snippet.usage, offset)
      }
      marks = [opening, closing]
      if rest.count == 3 {
        guard case .number(.integer(let count)) = rest[2], (1...1000).contains(count) else {
          throw refusal("SNIPPET takes a number of words from 1 to 1000", offset)
        }
        wordCount = Int(count)
      }
    default: throw refusal(WordFunction.snippet.usage, offset)
    }
    return .words(.snippet(index: index, opening: marks[0], closing: marks[1], wordCount: wordCount))
  }

  /// Returns the name of an index: a name, one after the name of the collection, or a string.
  private func indexName(_ syntax: SQLSyntax) -> String? {
    switch syntax.form {
    case .name(let name): name
    case .literal(.string(let name)): name
    case .parameter(let name): if case .string(let text)? = parameters[name] { text } else { nil }
    case .member(let inner, let name):
      if case .name(statement.alias) = inner.form { name } else { nil }
    default: nil
    }
  }

  // MARK: Groups

  /// Returns the bound form of an expression of GROUP BY or a constant; nil for other expressions.
  private mutating func shared(_ syntax: SQLSyntax) throws(QueryError) -> SQLExpression? {
    if case .name(let name) = syntax.form, columns[name] != nil { return nil }
    if syntax.hasAggregate { return nil }
    isInAggregate = true
    defer { isInAggregate = false }
    let expression = try bind(syntax)
    if let index = groupKeys.firstIndex(of: expression) { return .groupKey(index) }
    return expression.literal.map { .literal($0) }
  }
}

extension SQLSyntax {
  /// Whether the expression contains an aggregate.
  var hasAggregate: Bool {
    switch form {
    case .literal, .parameter, .name: false
    case .call(let call):
      SQLAggregate.Kind(rawValue: call.name.lowercased()) != nil
        || call.arguments.contains { $0.hasAggregate }
    case .member(let inner, _), .negate(let inner), .not(let inner), .exists(let inner), .test(_, let inner):
      inner.hasAggregate
    case .element(let left, let right), .infix(_, let left, let right),
      .quantified(_, _, let left, let right):
      left.hasAggregate || right.hasAggregate
    case .between(let value, let low, let high):
      value.hasAggregate || low.hasAggregate || high.hasAggregate
    case .all(let parts), .any(let parts), .array(let parts): parts.contains { $0.hasAggregate }
    case .object(let members): members.contains { $0.value.hasAggregate }
    case .choice(let subject, let branches, let otherwise):
      subject?.hasAggregate == true || otherwise?.hasAggregate == true
        || branches.contains { $0.when.hasAggregate || $0.then.hasAggregate }
    }
  }
}
