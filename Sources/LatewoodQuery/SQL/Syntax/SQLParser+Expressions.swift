import LatewoodFleece

/// Parses expressions, with operators in the order of their precedence:
///
/// ```
/// OR   AND   NOT   = < IN LIKE BETWEEN IS   + -   * / %   - (sign)   ||   . []
/// ```
extension SQLParser {
  private enum Strength: Int {
    case none, or, and, not, comparison, sum, product, sign, concat
  }

  mutating func expression() throws(QueryError) -> SQLSyntax { try expression(above: .none) }

  /// Parses an expression whose operators all have a higher precedence than `least`.
  private mutating func expression(above least: Strength) throws(QueryError) -> SQLSyntax {
    nesting += 1
    defer { nesting -= 1 }
    guard nesting <= SQLParser.depthLimit else { throw tooDeep() }
    var left = try operand()
    while let strength = infixStrength(), strength.rawValue > least.rawValue {
      switch strength {
      case .or: left = try chain(left, .or, above: .or)
      case .and: left = try chain(left, .and, above: .and)
      case .comparison: left = try comparison(left)
      default: left = try infix(left, strength)
      }
    }
    return left
  }

  private func infixStrength() -> Strength? {
    switch token.kind {
    case .keyword(.or): return .or
    case .keyword(.and): return .and
    case .keyword(.is), .keyword(.in), .keyword(.like), .keyword(.between): return .comparison
    case .keyword(.not):
      switch keyword(ahead: 1) {
      case .in, .like, .between: return .comparison
      default: return nil
      }
    case .symbol(let symbol):
      switch symbol {
      case .equal, .equalTwice, .notEqual, .lessOrGreater, .less, .lessOrEqual, .greater, .greaterOrEqual:
        return .comparison
      case .plus, .minus: return .sum
      case .star, .slash, .percent: return .product
      case .bars: return .concat
      default: return nil
      }
    default: return nil
    }
  }

  private func tooDeep() -> QueryError {
    refusal("expressions are nested more than \(SQLParser.depthLimit) levels deep", at: offset, .tooDeep)
  }

  mutating func node(
    _ form: SQLSyntax.Form, _ start: Int, _ parts: SQLSyntax...
  ) throws(QueryError) -> SQLSyntax { try node(form, start, of: parts) }

  /// Creates a node. Throws `tooDeep`, because the depth of a chain of operators equals its length,
  /// and `tooLarge` if there are too many nodes other than literals, which cost only their length.
  mutating func node(
    _ form: SQLSyntax.Form, _ start: Int, of parts: [SQLSyntax]
  ) throws(QueryError) -> SQLSyntax {
    if case .literal = form {} else { partCount += 1 }
    guard partCount <= SQLParser.partLimit else {
      throw refusal(
        "the statement has more than \(SQLParser.partLimit) names, operators and calls. "
          + "Give long lists as parameters", at: start, .tooLarge)
    }
    var depth = 0
    for part in parts { depth = max(depth, part.depth) }
    guard depth < SQLParser.depthLimit else { throw tooDeep() }
    return SQLSyntax(form: form, offset: start, depth: depth + 1)
  }

  // MARK: Operators

  /// Parses a chain of AND or OR, whose depth does not grow with the number of conditions.
  private mutating func chain(
    _ first: SQLSyntax, _ word: SQLKeyword, above strength: Strength
  ) throws(QueryError) -> SQLSyntax {
    var parts = [first]
    while take(word) { parts.append(try expression(above: strength)) }
    return try node(word == .or ? .any(parts) : .all(parts), first.offset, of: parts)
  }

  private mutating func infix(_ left: SQLSyntax, _ strength: Strength) throws(QueryError) -> SQLSyntax {
    let operation: SQLInfix =
      switch symbol() {
      case .plus: .calculate(.add)
      case .minus: .calculate(.subtract)
      case .star: .calculate(.multiply)
      case .slash: .calculate(.divide)
      case .percent: .calculate(.remainder)
      default: .concat
      }
    advance()
    let right = try expression(above: strength)
    return try node(.infix(operation, left, right), left.offset, left, right)
  }

  private mutating func comparison(_ left: SQLSyntax) throws(QueryError) -> SQLSyntax {
    if take(.is) { return try test(left) }
    let isNegated = take(.not)
    let word = keyword()
    let comparison = symbol().flatMap { SQLParser.comparisons[$0] }
    advance()
    let result: SQLSyntax
    if word == .between {
      let low = try expression(above: .comparison)
      try expect(.and, "between the bounds of BETWEEN")
      let high = try expression(above: .comparison)
      result = try node(.between(left, low, high), left.offset, left, low, high)
    } else {
      let right = try expression(above: .comparison)
      let operation = comparison.map { SQLInfix.compare($0) } ?? (word == .like ? .like : .among)
      result = try node(.infix(operation, left, right), left.offset, left, right)
    }
    return isNegated ? try node(.not(result), left.offset, result) : result
  }

  private static let comparisons: [SQLSymbol: Comparison] = [
    .equal: .equal, .equalTwice: .equal, .notEqual: .notEqual, .lessOrGreater: .notEqual, .less: .less,
    .lessOrEqual: .lessOrEqual, .greater: .greater, .greaterOrEqual: .greaterOrEqual,
  ]

  /// Parses the rest of a test after IS.
  private mutating func test(_ left: SQLSyntax) throws(QueryError) -> SQLSyntax {
    let isNegated = take(.not)
    let test: SQLTest
    if take(.null) {
      test = isNegated ? .isNotNull : .isNull
    } else if take(.missing) {
      test = isNegated ? .isNotMissing : .isMissing
    } else if case .name(let name) = token.kind, ["valued", "known"].contains(name.lowercased()) {
      advance()
      test = isNegated ? .isNotValued : .isValued
    } else {
      throw unexpected("NULL, MISSING or VALUED is expected after IS")
    }
    return try node(.test(test, left), left.offset, left)
  }

  // MARK: Operands

  private mutating func operand() throws(QueryError) -> SQLSyntax {
    let start = offset
    if take(.not) {
      let inner = try expression(above: .not)
      return try node(.not(inner), start, inner)
    }
    if take(.minus) {
      let inner = try expression(above: .sign)
      return try node(.negate(inner), start, inner)
    }
    if take(.plus) { return try expression(above: .sign) }
    var value = try primary()
    while true {
      // A star after a dot belongs to the list of columns.
      if symbol() == .dot, symbol(ahead: 1) != .star {
        advance()
        guard let name = takeAnyName() else { throw unexpected("a name is expected after the dot") }
        value = try node(.member(value, name), start, value)
      } else if take(.leftBracket) {
        let index = try expression()
        try expect(.rightBracket, "after the index")
        value = try node(.element(value, index), start, value, index)
      } else {
        return value
      }
    }
  }

  private mutating func primary() throws(QueryError) -> SQLSyntax {
    let start = offset
    switch token.kind {
    case .string(let text):
      advance()
      return try node(.literal(.string(text)), start)
    case .number(let number):
      advance()
      return try node(.literal(.number(number)), start)
    case .parameter(let name):
      advance()
      return try node(.parameter(name), start)
    case .name(let name):
      advance()
      return symbol() == .leftParenthesis ? try call(name, start) : try node(.name(name), start)
    case .symbol(.leftParenthesis): return try group()
    case .symbol(.leftBracket): return try array(start)
    case .symbol(.leftBrace): return try object(start)
    case .keyword(let word): return try primary(word, start)
    default: throw unexpected("an expression is expected here")
    }
  }

  private mutating func group() throws(QueryError) -> SQLSyntax {
    advance()
    if keyword() == .select {
      throw refusal("a SELECT inside another is not supported", at: offset, .unsupported)
    }
    let inner = try expression()
    try expect(.rightParenthesis, "here")
    return inner
  }

  private mutating func primary(_ word: SQLKeyword, _ start: Int) throws(QueryError) -> SQLSyntax {
    let literal: SQLLiteral? =
      switch word {
      case .null: .null
      case .missing: .missing
      case .true: .boolean(true)
      case .false: .boolean(false)
      default: nil
      }
    if let literal {
      advance()
      return try node(.literal(literal), start)
    }
    switch word {
    case .any, .some, .every: return try quantified(start)
    case .case: return try choice(start)
    case .exists:
      advance()
      let inner = try expression(above: .comparison)
      return try node(.exists(inner), start, inner)
    default: throw unexpected("an expression is expected here")
    }
  }

  private mutating func call(_ name: String, _ start: Int) throws(QueryError) -> SQLSyntax {
    advance()
    if take(.star) {
      try expect(.rightParenthesis, "after the star")
      return try node(.call(SQLCall(name: name, arguments: [], hasStar: true)), start)
    }
    let isDistinct = take(.distinct)
    let arguments = try list(until: .rightParenthesis)
    return try node(
      .call(SQLCall(name: name, arguments: arguments, isDistinct: isDistinct)), start, of: arguments)
  }

  /// Parses expressions separated by commas, and the closing bracket.
  private mutating func list(until end: SQLSymbol) throws(QueryError) -> [SQLSyntax] {
    var parts: [SQLSyntax] = []
    if take(end) { return parts }
    repeat { parts.append(try expression()) } while take(.comma)
    try expect(end, "or a comma here")
    return parts
  }

  private mutating func array(_ start: Int) throws(QueryError) -> SQLSyntax {
    advance()
    let parts = try list(until: .rightBracket)
    return try node(.array(parts), start, of: parts)
  }

  private mutating func object(_ start: Int) throws(QueryError) -> SQLSyntax {
    advance()
    var members: [(key: String, value: SQLSyntax)] = []
    if !take(.rightBrace) {
      repeat {
        guard case .string(let key) = token.kind else {
          throw unexpected("the name of a member is expected, in quotes")
        }
        advance()
        try expect(.colon, "after the name of a member")
        members.append((key, try expression()))
      } while take(.comma)
      try expect(.rightBrace, "or a comma here")
    }
    return try node(.object(members), start, of: members.map(\.value))
  }

  private mutating func quantified(_ start: Int) throws(QueryError) -> SQLSyntax {
    var quantifier = keyword() == .every ? SQLQuantifier.every : .any
    advance()
    if keyword() == .and, keyword(ahead: 1) == .every {
      advance(2)
      quantifier = .anyAndEvery
    }
    guard let name = takeName() else { throw unexpected("a name for the elements is expected here") }
    try expect(.in, "after the name for the elements")
    let array = try expression()
    try expect(.satisfies, "after the array")
    let condition = try expression()
    try expect(.end, "after the condition")
    return try node(.quantified(quantifier, variable: name, array, condition), start, array, condition)
  }

  private mutating func choice(_ start: Int) throws(QueryError) -> SQLSyntax {
    advance()
    let subject = keyword() == .when ? nil : try expression()
    var branches: [(when: SQLSyntax, then: SQLSyntax)] = []
    var parts = subject.map { [$0] } ?? []
    repeat {
      try expect(.when, "in CASE")
      let condition = try expression()
      try expect(.then, "after the condition")
      branches.append((condition, try expression()))
      parts += [branches[branches.count - 1].when, branches[branches.count - 1].then]
    } while keyword() == .when
    let otherwise = take(.else) ? try expression() : nil
    if let otherwise { parts.append(otherwise) }
    try expect(.end, "after CASE")
    return try node(.choice(subject, branches, otherwise: otherwise), start, of: parts)
  }
}
