import LatewoodBytes
import LatewoodFleece

/// A recursive-descent parser for statements in SQL++, whose depth is limited by `depthLimit`. This
/// file parses the clauses; another one parses expressions.
struct SQLParser {
  /// The maximum depth of nested expressions and of chains of one operator, so that the stack of a
  /// small thread suffices in a debug build.
  static let depthLimit = 20
  /// The maximum length of a statement in bytes. Long lists should be passed as parameters.
  static let lengthLimit = 256 << 10
  /// The maximum number of names, operators and calls in a statement, which limits the cost of
  /// comparing all pairs.
  static let partLimit = 10_000
  /// The maximum number of columns, and of terms of GROUP BY and ORDER BY.
  static let listLimit = 1000
  /// The maximum number of arrays that one statement flattens.
  static let unnestLimit = 8

  private let text: [UInt8]
  private let tokens: [SQLToken]
  private var at = 0
  var nesting = 0
  var partCount = 0

  /// Parses a statement. Throws `invalidStatement`, `unsupported` or `tooDeep` with the position in
  /// the text.
  static func statement(_ text: String) throws(QueryError) -> SQLStatement {
    guard text.utf8.count <= lengthLimit else {
      throw QueryError(
        .invalidStatement,
        "the statement has \(text.utf8.count) bytes; at most \(lengthLimit) are allowed. "
          + "Give long lists as parameters")
    }
    var parser = try SQLParser(Array(text.utf8))
    return try parser.statement(text)
  }

  private init(_ text: [UInt8]) throws(QueryError) {
    self.text = text
    tokens = try SQLTokenizer.tokens(of: text)
  }

  // MARK: Tokens

  var token: SQLToken { tokens[at] }
  var offset: Int { token.range.lowerBound }

  func symbol(ahead: Int = 0) -> SQLSymbol? {
    if case .symbol(let symbol) = tokens[min(at + ahead, tokens.count - 1)].kind { return symbol }
    return nil
  }

  func keyword(ahead: Int = 0) -> SQLKeyword? {
    if case .keyword(let keyword) = tokens[min(at + ahead, tokens.count - 1)].kind { return keyword }
    return nil
  }

  mutating func advance(_ count: Int = 1) { at = min(at + count, tokens.count - 1) }

  mutating func take(_ keyword: SQLKeyword) -> Bool {
    guard self.keyword() == keyword else { return false }
    advance()
    return true
  }

  mutating func take(_ symbol: SQLSymbol) -> Bool {
    guard self.symbol() == symbol else { return false }
    advance()
    return true
  }

  mutating func expect(_ keyword: SQLKeyword, _ clause: String) throws(QueryError) {
    if !take(keyword) { throw unexpected("\(keyword.rawValue.uppercased()) is expected \(clause)") }
  }

  mutating func expect(_ symbol: SQLSymbol, _ clause: String) throws(QueryError) {
    if !take(symbol) { throw unexpected("\(symbol.rawValue) is expected \(clause)") }
  }

  /// Takes a name, with or without backquotes.
  mutating func takeName() -> String? {
    guard case .name(let name) = token.kind else { return nil }
    advance()
    return name
  }

  /// Takes a name where no keyword is allowed.
  mutating func takeAnyName() -> String? {
    if case .keyword = token.kind {
      defer { advance() }
      return String(decoding: text[token.range], as: UTF8.self)
    }
    return takeName()
  }

  func refusal(_ reason: String, at offset: Int, _ kind: QueryError.Kind = .invalidStatement) -> QueryError {
    QueryError(kind, reason, position: TextPosition(offset: offset, in: text))
  }

  /// Returns the error for a token that is not allowed here.
  func unexpected(_ reason: String) -> QueryError {
    switch token.kind {
    case .end: return refusal("the statement ends, but \(reason)", at: offset)
    case .keyword(let word) where SQLParser.unsupported.contains(word):
      return refusal("\(word.rawValue.uppercased()) is not supported here", at: offset, .unsupported)
    case .keyword(let word):
      let name = String(decoding: text[token.range], as: UTF8.self)
      return refusal(
        "\(reason); \(word.rawValue.uppercased()) is a keyword: as a name, write it `\(name)`", at: offset
      )
    default: return refusal(reason, at: offset)
    }
  }

  private static let unsupported: Set<SQLKeyword> = [
    .join, .nest, .union, .intersect, .except, .use, .let, .with,
  ]

  // MARK: Clauses

  private mutating func statement(_ text: String) throws(QueryError) -> SQLStatement {
    var statement = SQLStatement(text: text)
    try expect(.select, "at the beginning, as in SELECT title FROM films")
    statement.isDistinct = take(.distinct)
    if !statement.isDistinct { _ = take(.all) }
    if isRaw {
      advance()
      statement.isRaw = true
      statement.columns = [try rawColumn()]
    } else {
      repeat {
        try checkListLimit(statement.columns.count)
        statement.columns.append(try column())
      } while take(.comma)
    }
    // A statement may end here, such as SELECT 1, and then has one row.
    if token.kind != .end, symbol() != .semicolon {
      try expect(.from, "after the columns")
      try source(into: &statement)
    }
    while let unnest = try unnest() {
      guard statement.unnests.count < SQLParser.unnestLimit else {
        throw refusal("at most \(SQLParser.unnestLimit) UNNEST are allowed", at: unnest.offset, .tooDeep)
      }
      statement.unnests.append(unnest)
    }
    if take(.where) { statement.condition = try expression() }
    if take(.group) {
      try expect(.by, "after GROUP")
      repeat {
        try checkListLimit(statement.groups.count)
        statement.groups.append(try expression())
      } while take(.comma)
    }
    if take(.having) { statement.having = try expression() }
    if take(.order) {
      try expect(.by, "after ORDER")
      repeat {
        try checkListLimit(statement.order.count)
        statement.order.append(try order())
      } while take(.comma)
    }
    // In either order.
    while true {
      if statement.limit == nil, take(.limit) {
        statement.limit = try expression()
      } else if statement.offset == nil, take(.offset) {
        statement.offset = try expression()
      } else {
        break
      }
    }
    _ = take(.semicolon)
    guard token.kind == .end else { throw unexpected("a clause or the end is expected here") }
    return statement
  }

  private func checkListLimit(_ count: Int) throws(QueryError) {
    guard count < SQLParser.listLimit else {
      throw refusal("a clause lists more than \(SQLParser.listLimit) expressions", at: offset, .tooLarge)
    }
  }

  /// Whether RAW, VALUE or ELEMENT is here, which all mean the same. They are keywords only before
  /// an expression, so that members may have these names.
  private var isRaw: Bool {
    guard case .name(let name) = token.kind, text[offset] != UInt8(ascii: "`"),
      ["raw", "value", "element"].contains(name.lowercased())
    else { return false }
    let next = tokens[min(at + 1, tokens.count - 1)]
    switch next.kind {
    case .name, .string, .number, .parameter: return true
    case .keyword(let word):
      switch word {
      case .not:
        // As in `value NOT IN list`.
        let operators: [SQLKeyword?] = [.in, .like, .between]
        return !operators.contains(keyword(ahead: 2))
      case .case, .any, .some, .every, .exists, .null, .missing, .true, .false: return true
      default: return false
      }
    case .symbol(.leftParenthesis), .symbol(.leftBrace): return true
    // Without a space, it is an element of a member with this name.
    case .symbol(.leftBracket): return next.range.lowerBound > token.range.upperBound
    case .symbol, .end: return false
    }
  }

  private mutating func rawColumn() throws(QueryError) -> SQLStatement.Column {
    let column = try column()
    if column.expression == nil || column.isSpread {
      throw refusal("SELECT RAW takes an expression, as in SELECT RAW title FROM films", at: column.offset)
    }
    if symbol() == .comma {
      throw refusal(
        "SELECT RAW takes one expression; several can be an array, as in SELECT RAW [title, year]", at: offset
      )
    }
    return column
  }

  private mutating func column() throws(QueryError) -> SQLStatement.Column {
    let start = offset
    if take(.star) { return SQLStatement.Column(offset: start) }
    let expression = try expression()
    if symbol() == .dot, symbol(ahead: 1) == .star {
      advance(2)
      return SQLStatement.Column(expression: expression, isSpread: true, offset: start)
    }
    return SQLStatement.Column(expression: expression, alias: try alias(), offset: start)
  }

  /// Parses a name after AS, or a bare name.
  private mutating func alias() throws(QueryError) -> String? {
    guard take(.as) else { return takeName() }
    guard let name = takeName() else { throw unexpected("a name is expected after AS") }
    return name
  }

  private mutating func source(into statement: inout SQLStatement) throws(QueryError) {
    guard var name = takeName() else { throw unexpected("the name of a collection is expected after FROM") }
    var scope: String?
    if take(.dot) {
      scope = name
      guard let inScope = takeName() else {
        throw unexpected("the name of a collection is expected after its scope")
      }
      name = inScope
    }
    if symbol() == .dot {
      throw refusal("a collection has only a scope and a name, no third part", at: offset, .unsupported)
    }
    if symbol() == .comma {
      throw refusal(
        "only one collection can be queried; UNNEST flattens its arrays", at: offset, .unsupported)
    }
    statement.collection = SQLStatement.fullName(of: name, in: scope)
    statement.isOfUnderscore = scope == nil && name == "_"
    statement.alias = try alias() ?? name
  }

  private mutating func unnest() throws(QueryError) -> SQLStatement.Unnest? {
    let start = offset
    let isOuter = keyword() == .left
    let words = isOuter ? keyword(ahead: 1) == .outer ? 2 : 1 : keyword() == .inner ? 1 : 0
    guard words > 0 || keyword() == .unnest else { return nil }
    advance(words)
    try expect(.unnest, "here")
    let array = try expression()
    guard let alias = try alias() ?? array.lastName else {
      throw unexpected("a name for the elements is expected, as in UNNEST films.cast AS actor")
    }
    return SQLStatement.Unnest(array: array, alias: alias, isOuter: isOuter, offset: start)
  }

  private mutating func order() throws(QueryError) -> SQLStatement.Order {
    let expression = try expression()
    let isDescending = take(.desc)
    if !isDescending { _ = take(.asc) }
    return SQLStatement.Order(expression: expression, isDescending: isDescending)
  }
}

extension SQLSyntax {
  /// The default name of a column with this expression: the last name of a path.
  var lastName: String? {
    switch form {
    case .name(let name): name
    case .member(_, let name): name
    default: nil
    }
  }
}

extension SQLStatement {
  /// Parses a statement.
  ///
  /// Throws `invalidStatement`, `unsupported` or `tooDeep` with the position in the text.
  package init(parsing text: String) throws(QueryError) { self = try SQLParser.statement(text) }
}
