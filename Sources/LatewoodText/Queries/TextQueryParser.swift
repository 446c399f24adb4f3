/// Parses queries for words.
///
/// ```
/// query   = both { "OR" both }
/// both    = without { "AND" without }
/// without = list { "NOT" list }
/// list    = part { part }                       all of them
/// part    = item [ "^" number ]
/// item    = "(" query ")"
///         | name ":" part | "{" name { name } "}" ":" part
///         | "NEAR" "(" phrase { phrase } [ "," number ] ")"
///         | phrase
/// phrase  = text { "+" text } [ "*" ]
/// text    = word | '"' characters '"'           two quotes in quotes stand for one
/// name    = word | '"' characters '"'
/// ```
///
/// This is the syntax of FTS5, with the same precedence, and the boosts of Lucene. A word ends
/// before the next space or one of `" ( ) { } : * ^ + ,`. The operators are written in capitals.
package struct TextQueryParser {
  private var tokens: ArraySlice<Token> = []
  private let length: Int
  private var depth = 0
  private var phraseCount = 0
  /// The names of fields in the query, with their offsets.
  private var fieldNames: [(name: String, offset: Int)] = []

  private struct Token {
    var kind: Kind
    var offset: Int
    /// Whether it follows a space.
    var followsSpace: Bool
  }

  private enum Kind: Equatable {
    case word(String)
    case quoted(String)
    case symbol(UInt8)

    var isText: Bool { if case .symbol = self { false } else { true } }
  }

  /// Parses a query.
  ///
  /// - Throws: ``TextQueryError`` if it is malformed, or exceeds a limit of ``TextQuery``.
  package static func parse(_ text: String) throws(TextQueryError) -> TextQuery {
    var parser = try TextQueryParser(text)
    return try parser.wholeQuery()
  }

  /// Returns the offset at which a query first names a field, in UTF-8; nil if it does not.
  package static func offset(ofField name: String, in text: String) -> Int? {
    do throws(TextQueryError) {
      var parser = try TextQueryParser(text)
      _ = try parser.wholeQuery()
      return parser.fieldNames.first { $0.name == name }?.offset
    } catch { return nil }
  }

  // MARK: Tokens

  private init(_ text: String) throws(TextQueryError) {
    let bytes = Array(text.utf8)
    length = bytes.count
    guard bytes.count <= TextQuery.lengthLimit else {
      throw TextQueryError(
        reason: "a query has at most \(TextQuery.lengthLimit) bytes: shorten it",
        offset: TextQuery.lengthLimit)
    }
    var found: [Token] = []
    var at = 0
    var followsSpace = true
    while at < bytes.count {
      let start = at
      switch bytes[at] {
      case 0...0x20, 0x7F:
        at += 1
        followsSpace = true
        continue
      case UInt8(ascii: "\""):
        var content: [UInt8] = []
        at += 1
        while true {
          guard at < bytes.count else {
            throw TextQueryError(reason: "this quote is not closed: add a second one", offset: start)
          }
          if bytes[at] == UInt8(ascii: "\"") {
            at += 1
            guard at < bytes.count, bytes[at] == UInt8(ascii: "\"") else { break }
          }
          content.append(bytes[at])
          at += 1
        }
        found.append(
          Token(
            kind: .quoted(String(decoding: content, as: UTF8.self)), offset: start, followsSpace: followsSpace
          ))
      case let byte where TextQueryParser.isSymbol(byte):
        at += 1
        found.append(Token(kind: .symbol(byte), offset: start, followsSpace: followsSpace))
      default:
        while at < bytes.count, bytes[at] > 0x20, bytes[at] != 0x7F, bytes[at] != UInt8(ascii: "\""),
          !TextQueryParser.isSymbol(bytes[at])
        {
          at += 1
        }
        let word = String(decoding: bytes[start..<at], as: UTF8.self)
        found.append(Token(kind: .word(word), offset: start, followsSpace: followsSpace))
      }
      followsSpace = false
    }
    tokens = found[...]
  }

  private static func isSymbol(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: ":"),
      UInt8(ascii: "*"), UInt8(ascii: "^"), UInt8(ascii: "+"), UInt8(ascii: ","):
      true
    default: false
    }
  }

  private func error(_ reason: String) -> TextQueryError {
    TextQueryError(reason: reason, offset: tokens.first?.offset ?? length)
  }

  private func isAtSymbol(_ symbol: Unicode.Scalar) -> Bool {
    tokens.first?.kind == .symbol(UInt8(ascii: symbol))
  }

  private func isAt(_ word: String) -> Bool { tokens.first?.kind == .word(word) }

  private mutating func skip(_ symbol: Unicode.Scalar) -> Bool {
    guard isAtSymbol(symbol) else { return false }
    tokens.removeFirst()
    return true
  }

  private var isAtOperator: Bool { isAt("AND") || isAt("OR") || isAt("NOT") }

  // MARK: Grammar

  private mutating func wholeQuery() throws(TextQueryError) -> TextQuery {
    guard !tokens.isEmpty else { return .all([]) }
    let query = try query()
    if isAtSymbol(")") {
      throw error("this parenthesis closes none: remove it, or add \"(\" before it")
    }
    guard tokens.isEmpty else { throw error("expected a word or an operator here") }
    return query
  }

  private mutating func query() throws(TextQueryError) -> TextQuery {
    var parts = [try both()]
    while isAt("OR") {
      tokens.removeFirst()
      parts.append(try both())
    }
    return parts.count == 1 ? parts[0] : .any(parts)
  }

  private mutating func both() throws(TextQueryError) -> TextQuery {
    var parts = [try without()]
    while isAt("AND") {
      tokens.removeFirst()
      parts.append(try without())
    }
    return parts.count == 1 ? parts[0] : .all(parts)
  }

  private mutating func without() throws(TextQueryError) -> TextQuery {
    let first = try list()
    var excluded: [TextQuery] = []
    while isAt("NOT") {
      tokens.removeFirst()
      excluded.append(try list())
    }
    if excluded.isEmpty { return first }
    return .without(first, excluded.count == 1 ? excluded[0] : .any(excluded))
  }

  private mutating func list() throws(TextQueryError) -> TextQuery {
    var parts = [try part()]
    while !tokens.isEmpty, !isAtOperator, !isAtSymbol(")") { parts.append(try part()) }
    return parts.count == 1 ? parts[0] : .all(parts)
  }

  private mutating func part() throws(TextQueryError) -> TextQuery {
    depth += 1
    defer { depth -= 1 }
    guard depth <= TextQuery.depthLimit else {
      throw error("a query has at most \(TextQuery.depthLimit) levels: remove parentheses")
    }
    let item = try item()
    guard skip("^") else { return item }
    guard let factor = try number(), factor.isFinite, factor > 0 else {
      throw error("expected a positive number after \"^\", as in \"word^2\"")
    }
    return .boost(factor, item)
  }

  private mutating func item() throws(TextQueryError) -> TextQuery {
    guard let token = tokens.first else { throw error("expected a word at the end of the query") }
    if skip("(") {
      let inner = try query()
      guard skip(")") else { throw error("a parenthesis is not closed: add \")\"") }
      return inner
    }
    if skip("{") {
      let names = try namesInBraces()
      guard skip(":") else { throw error("expected \":\" after the names of fields") }
      return .fields(names, try part())
    }
    if isAtOperator, case .word(let name) = token.kind {
      throw error("\(name) stands between two words: put it in quotes to search for it")
    }
    let next = tokens.dropFirst().first?.kind
    if isAt("NEAR"), next == .symbol(UInt8(ascii: "(")), tokens.dropFirst().first?.followsSpace == false {
      return try near()
    }
    guard token.kind.isText else { throw error("expected a word here; put other characters in quotes") }
    if next == .symbol(UInt8(ascii: ":")) {
      let name = try fieldName()
      tokens.removeFirst()
      return .fields([name], try part())
    }
    return .phrase(try phrase())
  }

  private mutating func fieldName() throws(TextQueryError) -> String {
    let offset = tokens.first?.offset ?? length
    let name = try text()
    fieldNames.append((name, offset))
    return name
  }

  private mutating func namesInBraces() throws(TextQueryError) -> [String] {
    var names: [String] = []
    while !isAtSymbol("}") {
      guard tokens.first?.kind.isText == true else {
        throw error("expected the name of a field, or \"}\" after the last one")
      }
      names.append(try fieldName())
    }
    guard !names.isEmpty else { throw error("expected the name of a field before \"}\"") }
    tokens.removeFirst()
    return names
  }

  private mutating func near() throws(TextQueryError) -> TextQuery {
    tokens.removeFirst(2)
    var phrases: [TextQuery.Phrase] = []
    while !isAtSymbol(")"), !isAtSymbol(",") {
      guard tokens.first?.kind.isText == true else { throw error("expected a word in NEAR, or \")\"") }
      phrases.append(try phrase())
    }
    var distance = TextQuery.usualDistance
    if skip(",") {
      guard let number = try number(), number >= 0, number <= 1_000_000, number == number.rounded() else {
        throw error("expected a whole number of words after the comma of NEAR")
      }
      distance = Int(number)
    }
    guard skip(")") else { throw error("NEAR is not closed: add \")\"") }
    guard !phrases.isEmpty else { throw error("expected words in the parentheses of NEAR") }
    return .near(phrases, distance: distance)
  }

  private mutating func phrase() throws(TextQueryError) -> TextQuery.Phrase {
    phraseCount += 1
    guard phraseCount <= TextQuery.phraseLimit else {
      throw error("a query has at most \(TextQuery.phraseLimit) words: remove some")
    }
    var phrase = TextQuery.Phrase(try text())
    while skip("+") {
      guard tokens.first?.kind.isText == true else { throw error("expected a word after \"+\"") }
      phrase.text += " " + (try text())
    }
    // FTS5 also accepts a star after a space.
    phrase.isPrefix = skip("*")
    return phrase
  }

  private mutating func text() throws(TextQueryError) -> String {
    switch tokens.first?.kind {
    case .word(let text), .quoted(let text):
      tokens.removeFirst()
      return text
    default: throw error("expected a word here")
    }
  }

  /// Reads a number in decimal digits; nil if there is none.
  private mutating func number() throws(TextQueryError) -> Double? {
    guard case .word(let text)? = tokens.first?.kind, text.utf8.count <= 20,
      text.utf8.allSatisfy({ $0 == UInt8(ascii: ".") || 0x30...0x39 ~= $0 }), let number = Double(text)
    else { return nil }
    tokens.removeFirst()
    return number
  }
}
