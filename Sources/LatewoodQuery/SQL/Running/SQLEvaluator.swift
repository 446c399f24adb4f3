import LatewoodFleece

/// Evaluates expressions, for a document or for a group of rows.
///
/// Null and missing work as in Couchbase: the result of an operator is missing if an operand is
/// missing, otherwise null if one is null or of a type that the operator does not accept. AND and
/// OR use four-valued logic.
struct SQLEvaluator {
  /// The current document; nil for constants and groups.
  private var document: (any SQLDocument)?
  /// The elements of UNNEST, then the elements of the quantifiers being evaluated.
  private var variables: [SQLValue] = []
  private var groupKeys: [SQLLiteral] = []
  private var aggregates: [SQLLiteral] = []

  /// The words of documents; nil if the statement does not use them.
  private let words: (any SQLWords)?
  private let limits: SQLLimits
  private var steps: Int
  /// The number of steps until the next check for cancellation.
  private var unchecked = QuerySteps.interval

  init(_ limits: SQLLimits = SQLLimits(), words: (any SQLWords)? = nil) {
    self.words = words
    self.limits = limits
    steps = limits.steps
  }

  /// Switches to a document.
  mutating func begin(_ document: any SQLDocument) {
    self.document = document
    variables.removeAll(keepingCapacity: true)
    steps = limits.steps
  }

  /// Releases the document, whose bytes may become invalid.
  mutating func end() {
    document = nil
    variables.removeAll(keepingCapacity: true)
  }

  /// Switches to a group.
  mutating func begin(groupKeys: [SQLLiteral], aggregates: [SQLLiteral]) {
    end()
    self.groupKeys = groupKeys
    self.aggregates = aggregates
    steps = limits.steps
  }

  mutating func push(_ variable: SQLValue) { variables.append(variable) }
  mutating func pop() { variables.removeLast() }

  /// Uses up steps. Throws `tooLarge` when no steps are left.
  mutating func spend(_ count: Int) throws {
    steps -= count
    unchecked -= count
    if unchecked <= 0 {
      unchecked = QuerySteps.interval
      try limits.check()
    }
    if steps < 0 {
      throw QueryError(
        .tooLarge,
        "the statement needs more than \(limits.steps) steps for one document or group")
    }
  }

  // MARK: Values

  mutating func value(_ expression: SQLExpression) throws -> SQLValue {
    try spend(1)
    switch expression {
    case .literal(let literal): return .literal(literal)
    case .document(let steps): return try field(steps)
    case .variable(let index, let steps): return try part(of: variables[index], steps)
    case .fact(let fact): return document.map { .literal($0.fact(fact)) } ?? .missing
    case .words(let use):
      guard let document, let words else { return .missing }
      return .literal(try words.value(use, of: document))
    case .groupKey(let index): return .literal(groupKeys[index])
    case .aggregate(let index): return .literal(aggregates[index])
    case .follow(let inner, let steps): return try part(of: try value(inner), steps)
    case .element(let inner, let index): return try element(inner, index)
    case .negate, .calculate: return try calculated(expression)
    case .not, .all, .any, .compare, .between, .test, .like, .among, .amongConstants,
      .exists:
      return try condition(expression)
    case .quantified(let quantifier, let variable, let array, let condition):
      return try quantified(quantifier, variable, array, condition)
    case .choice(let subject, let branches, let otherwise):
      return try choice(subject, branches, otherwise)
    case .call(let function, let arguments): return try call(function, arguments)
    case .array(let parts): return try array(parts)
    case .object(let members): return try object(members)
    }
  }

  private mutating func values(_ expressions: [SQLExpression]) throws -> [SQLValue] {
    var values: [SQLValue] = []
    for expression in expressions { values.append(try value(expression)) }
    return values
  }

  private mutating func field(_ steps: [SQLStep]) throws -> SQLValue {
    guard let document else { return .missing }
    return try part(of: .stored(document.body), steps)
  }

  private mutating func part(of value: SQLValue, _ path: [SQLStep]) throws -> SQLValue {
    let part = try value.follow(path)
    // Includes the cost of copying a string.
    try spend(path.count + part.size / 16)
    return part
  }

  private mutating func element(_ inner: SQLExpression, _ index: SQLExpression) throws -> SQLValue {
    let (whole, index) = (try value(inner), try value(index))
    if case .integer(let place)? = index.number { return try whole.element(at: place) }
    if let name = index.string { return try whole.member(FieldPath.Step(name)) }
    return .missing
  }

  private mutating func calculated(_ expression: SQLExpression) throws -> SQLValue {
    switch expression {
    case .negate(let inner):
      let value = try value(inner)
      return try SQLCalculation.run(.subtract, .literal(.integer(0)), value)
    case .calculate(let operation, let left, let right):
      let (left, right) = (try value(left), try value(right))
      return try SQLCalculation.run(operation, left, right)
    default: return .missing
    }
  }

  private mutating func array(_ parts: [SQLExpression]) throws -> SQLValue {
    let values = try values(parts)
    for value in values { try spendWriting(value) }
    var writer = FleeceWriter()
    try writer.beginArray()
    for value in values { try value.write(to: &writer) }
    try writer.endArray()
    return try made(writer.finish())
  }

  private mutating func object(_ members: [SQLMember]) throws -> SQLValue {
    let values = try values(members.map(\.value))
    for value in values { try spendWriting(value) }
    var writer = FleeceWriter()
    try writer.beginDictionary()
    for (member, value) in zip(members, values) where !value.isMissing {
      try writer.key(member.key)
      try value.write(to: &writer)
    }
    try writer.endDictionary()
    return try made(writer.finish())
  }

  /// Uses up the steps of copying a value in advance. The copy of a value in a document may be much
  /// longer than its bytes; its length is known only afterwards, and is limited by
  /// `FleeceLimits.expansion`.
  private mutating func spendWriting(_ value: SQLValue) throws { try spend(value.size) }

  private mutating func made(_ bytes: [UInt8]) throws -> SQLValue {
    try spend(bytes.count)
    return .literal(.element(try FleeceBody(written: bytes).root))
  }

  // MARK: Conditions

  /// Returns whether an expression is true.
  mutating func holds(_ condition: SQLExpression) throws -> Bool { try truth(of: value(condition)) == .yes }

  func truth(of value: SQLValue) throws -> SQLTruth {
    switch value {
    case .literal(.missing): return .missing
    case .literal(.null): return .null
    case .literal(.boolean(let answer)): return answer ? .yes : .no
    case .literal(.number(let number)):
      return NumberKey(number) == NumberKey(.integer(0)) ? .no : .yes
    case .literal(.string(let text)): return text.isEmpty ? .no : .yes
    case .literal(.element), .stored:
      let isEmpty = try value.withCollection { value throws(FleeceError) in
        if let array = try value.array() { return array.count == 0 }
        if let object = try value.dictionary() { return try object.count() == 0 }
        return try value.data()?.isEmpty != false
      }
      return isEmpty == true ? .no : .yes
    }
  }

  private mutating func condition(_ expression: SQLExpression) throws -> SQLValue {
    switch expression {
    case .not(let inner): return try truth(of: value(inner)).opposite.value
    case .all(let parts): return try allHold(parts)
    case .any(let parts): return try anyHolds(parts)
    case .compare(let comparison, let left, let right):
      let (left, right) = (try value(left), try value(right))
      return try compared(comparison, left, right).value
    case .between(let inner, let low, let high):
      let value = try value(inner)
      let (low, high) = (try self.value(low), try self.value(high))
      let above = try compared(.greaterOrEqual, value, low)
      let below = try compared(.lessOrEqual, value, high)
      return SQLTruth.all(above, below).value
    case .test(let test, let inner): return try tested(test, value(inner))
    case .like(let left, let right):
      let (left, right) = (try value(left), try value(right))
      return try like(left, right)
    case .among(let left, let right):
      let (left, right) = (try value(left), try value(right))
      return try among(left, right)
    case .amongConstants(let inner, let constants):
      let value = try value(inner)
      return try among(value, constants)
    case .exists(let inner):
      let value = try value(inner)
      if value.isMissing { return .missing }
      guard let count = try value.elementCount() else { return .null }
      return .boolean(count > 0)
    default: return .missing
    }
  }

  private mutating func allHold(_ parts: [SQLExpression]) throws -> SQLValue {
    var answer = SQLTruth.yes
    for part in parts {
      answer = SQLTruth.all(answer, try truth(of: value(part)))
      if answer == .no { break }
    }
    return answer.value
  }

  private mutating func anyHolds(_ parts: [SQLExpression]) throws -> SQLValue {
    var answer = SQLTruth.no
    for part in parts {
      answer = SQLTruth.any(answer, try truth(of: value(part)))
      if answer == .yes { break }
    }
    return answer.value
  }

  /// Returns missing or null if one of two operands is missing or null; nil otherwise.
  private func unknown(_ left: SQLValue, _ right: SQLValue) -> SQLTruth? {
    left.isMissing || right.isMissing ? .missing : left.isNull || right.isNull ? .null : nil
  }

  mutating func compared(
    _ comparison: Comparison, _ left: SQLValue, _ right: SQLValue
  ) throws -> SQLTruth {
    if let unknown = unknown(left, right) { return unknown }
    let (order, work) = try SQLValue.compare(left, right)
    try spend(work)
    return comparison.accepts(order) ? .yes : .no
  }

  private func tested(_ test: SQLTest, _ value: SQLValue) -> SQLValue {
    switch test {
    case .isNull: value.isMissing ? .missing : .boolean(value.isNull)
    case .isNotNull: value.isMissing ? .missing : .boolean(!value.isNull)
    case .isMissing: .boolean(value.isMissing)
    case .isNotMissing: .boolean(!value.isMissing)
    case .isValued: .boolean(value.isValued)
    case .isNotValued: .boolean(!value.isValued)
    }
  }

  private mutating func like(_ left: SQLValue, _ right: SQLValue) throws -> SQLValue {
    if left.isMissing || right.isMissing { return .missing }
    guard let text = left.string, let pattern = right.string else { return .null }
    try spend(text.utf8.count + pattern.utf8.count)
    guard let answer = try SQLPattern(pattern).matches(text, steps: &steps, limits.check) else {
      try spend(1)
      return .null
    }
    return .boolean(answer)
  }

  private mutating func among(_ left: SQLValue, _ right: SQLValue) throws -> SQLValue {
    if left.isMissing || right.isMissing { return .missing }
    guard let count = try right.elementCount(), !left.isNull else { return .null }
    var answer = SQLTruth.no
    for index in 0..<count {
      answer = SQLTruth.any(answer, try compared(.equal, left, right.element(at: Int64(index))))
      if answer == .yes { break }
    }
    return answer.value
  }

  private mutating func among(_ value: SQLValue, _ constants: SQLConstants) throws -> SQLValue {
    if value.isMissing { return .missing }
    if value.isNull { return .null }
    var key = CollationKey()
    try value.append(to: &key)
    let (isThere, work) = constants.contains(key.bytes)
    try spend(work)
    return isThere ? .boolean(true) : constants.hasUnknown ? .null : .boolean(false)
  }

  private mutating func quantified(
    _ quantifier: SQLQuantifier, _ variable: Int, _ array: SQLExpression, _ condition: SQLExpression
  ) throws -> SQLValue {
    let array = try value(array)
    if array.isMissing { return .missing }
    guard let count = try array.elementCount() else { return .null }
    let around = variables.count == variable ? nil : variables
    defer { if let around { variables = around } }
    if around != nil {
      // The number of variables can differ from the number at binding: an alias of a column inside
      // other quantifiers has more, and a condition on a document before its arrays are flattened
      // has fewer.
      variables.removeLast(max(0, variables.count - variable))
      while variables.count < variable { variables.append(.missing) }
    }
    for index in 0..<count {
      push(try array.element(at: Int64(index)))
      defer { pop() }
      let isMet = try holds(condition)
      if isMet == (quantifier == .any) { return .boolean(isMet) }
    }
    return .boolean(quantifier == .every || (quantifier == .anyAndEvery && count > 0))
  }

  private mutating func choice(
    _ subject: SQLExpression?, _ branches: [SQLBranch], _ otherwise: SQLExpression
  ) throws -> SQLValue {
    let wanted = try subject.map { expression in try value(expression) }
    for branch in branches {
      let given = try value(branch.condition)
      let isMet = try wanted.map { wanted in try compared(.equal, wanted, given) } ?? truth(of: given)
      if isMet == .yes { return try value(branch.value) }
    }
    return try value(otherwise)
  }

  private mutating func call(_ function: SQLFunction, _ arguments: [SQLExpression]) throws -> SQLValue {
    let values = try values(arguments)
    for value in values { try spend(value.size) }
    let result = try function.run(values, &self)
    try spend(result.size)
    return result
  }
}

/// The truth value of a condition.
enum SQLTruth: Equatable {
  case yes, no, null, missing

  var value: SQLValue {
    switch self {
    case .yes: .boolean(true)
    case .no: .boolean(false)
    case .null: .null
    case .missing: .missing
    }
  }

  var opposite: SQLTruth {
    switch self {
    case .yes: .no
    case .no: .yes
    case .null, .missing: self
    }
  }

  static func all(_ left: SQLTruth, _ right: SQLTruth) -> SQLTruth {
    for answer in [SQLTruth.no, .missing, .null] where left == answer || right == answer { return answer }
    return .yes
  }

  static func any(_ left: SQLTruth, _ right: SQLTruth) -> SQLTruth {
    for answer in [SQLTruth.yes, .null, .missing] where left == answer || right == answer { return answer }
    return .no
  }
}
