import LatewoodFleece

/// Splits the text of a statement into tokens.
///
/// ```
/// films, `first name`      names; a backquote in a name is doubled
/// 'Anna', "Anna"           strings, with the escapes of JSON; the enclosing quote may be doubled
/// 12, 1.5, 2e10            numbers
/// $year                    a parameter
/// -- ..., /* ... */        comments
/// ```
struct SQLTokenizer {
  private let text: [UInt8]
  private var at = 0

  init(_ text: [UInt8]) { self.text = text }

  /// Returns all tokens; the last is `end`.
  static func tokens(of text: [UInt8]) throws(QueryError) -> [SQLToken] {
    var tokenizer = SQLTokenizer(text)
    var tokens: [SQLToken] = []
    while true {
      let token = try tokenizer.next()
      tokens.append(token)
      if token.kind == .end { return tokens }
    }
  }

  private func byte(_ offset: Int = 0) -> UInt8? { at + offset < text.count ? text[at + offset] : nil }

  private mutating func next() throws(QueryError) -> SQLToken {
    try skipBlanks()
    let start = at
    let kind = try kind()
    return SQLToken(kind: kind, range: start..<at)
  }

  private mutating func kind() throws(QueryError) -> SQLToken.Kind {
    guard let first = byte() else { return .end }
    switch first {
    case UInt8(ascii: "`"): return .name(try quotedName())
    case UInt8(ascii: "'"), UInt8(ascii: "\""): return .string(try string(in: first))
    case UInt8(ascii: "0")...UInt8(ascii: "9"): return .number(try number())
    case UInt8(ascii: "$"):
      at += 1
      guard byte().map(isLetter) == true else { throw refusal("a parameter is a name after a $", at - 1) }
      return .parameter(word())
    case let letter where isLetter(letter):
      let word = word()
      return SQLKeyword.byName[word.lowercased()].map { .keyword($0) } ?? .name(word)
    default: return .symbol(try symbol())
    }
  }

  private mutating func symbol() throws(QueryError) -> SQLSymbol {
    for length in [2, 1] where at + length <= text.count {
      if let symbol = SQLSymbol.byText[Array(text[at..<at + length])] {
        at += length
        return symbol
      }
    }
    throw refusal("\"\(Unicode.Scalar(text[at]))\" has no meaning here")
  }

  private mutating func skipBlanks() throws(QueryError) {
    while let first = byte() {
      switch (first, byte(1)) {
      case (UInt8(ascii: " "), _), (UInt8(ascii: "\t"), _), (UInt8(ascii: "\n"), _), (UInt8(ascii: "\r"), _):
        at += 1
      case (UInt8(ascii: "-"), UInt8(ascii: "-")):
        while let next = byte(), next != UInt8(ascii: "\n") { at += 1 }
      case (UInt8(ascii: "/"), UInt8(ascii: "*")):
        let start = at
        at += 2
        while byte() != UInt8(ascii: "*") || byte(1) != UInt8(ascii: "/") {
          guard at < text.count else { throw refusal("this comment has no end", start) }
          at += 1
        }
        at += 2
      default: return
      }
    }
  }

  // MARK: Words

  /// Returns whether a byte is a letter, digit or underscore; everything outside ASCII counts as a
  /// letter.
  private func isLetter(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), 0x80...0xFF:
      true
    default: false
    }
  }

  private mutating func word() -> String {
    let start = at
    while let next = byte(), isLetter(next) { at += 1 }
    return String(decoding: text[start..<at], as: UTF8.self)
  }

  private mutating func quotedName() throws(QueryError) -> String {
    let start = at
    let quote = UInt8(ascii: "`")
    var name: [UInt8] = []
    at += 1
    while let next = byte() {
      at += 1
      if next == quote {
        guard byte() == quote else {
          guard !name.isEmpty else { throw refusal("a name is empty", start) }
          return String(decoding: name, as: UTF8.self)
        }
        at += 1
      }
      name.append(next)
    }
    throw refusal("the backquote of this name is not closed", start)
  }

  // MARK: Numbers

  private mutating func digits() {
    while let next = byte(), next >= UInt8(ascii: "0"), next <= UInt8(ascii: "9") { at += 1 }
  }

  private mutating func number() throws(QueryError) -> FleeceValue.Number {
    let start = at
    digits()
    if byte() == UInt8(ascii: "."), let next = byte(1), next >= UInt8(ascii: "0"), next <= UInt8(ascii: "9") {
      at += 1
      digits()
    }
    if byte() == UInt8(ascii: "e") || byte() == UInt8(ascii: "E") {
      at += 1
      if byte() == UInt8(ascii: "+") || byte() == UInt8(ascii: "-") { at += 1 }
      digits()
    }
    let written = String(decoding: text[start..<at], as: UTF8.self)
    if byte().map(isLetter) != true {
      if let integer = Int64(written) { return .integer(integer) }
      if let unsigned = UInt64(written) { return .unsigned(unsigned) }
      if let double = Double(written), double.isFinite { return .double(double) }
    }
    throw refusal("this is not a number that can be stored", start)
  }

  // MARK: Strings

  private mutating func string(in quote: UInt8) throws(QueryError) -> String {
    let start = at
    var bytes: [UInt8] = []
    at += 1
    while let next = byte() {
      at += 1
      switch next {
      case quote:
        guard byte() == quote else { return String(decoding: bytes, as: UTF8.self) }
        at += 1
        bytes.append(quote)
      case UInt8(ascii: "\\"): bytes.append(contentsOf: try escaped())
      default: bytes.append(next)
      }
    }
    throw refusal("the quote of this string is not closed", start)
  }

  /// Returns the bytes of an escape, whose backslash has been read.
  private mutating func escaped() throws(QueryError) -> [UInt8] {
    let start = at - 1
    guard let escape = byte() else { throw refusal("the quote of this string is not closed", start) }
    at += 1
    switch escape {
    case UInt8(ascii: "b"): return [0x08]
    case UInt8(ascii: "f"): return [0x0C]
    case UInt8(ascii: "n"): return [0x0A]
    case UInt8(ascii: "r"): return [0x0D]
    case UInt8(ascii: "t"): return [0x09]
    case UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "'"), UInt8(ascii: "\""): return [escape]
    // Escapes of LIKE stay unchanged.
    case UInt8(ascii: "%"), UInt8(ascii: "_"): return [UInt8(ascii: "\\"), escape]
    case UInt8(ascii: "u"):
      var code = try codeUnit(start)
      if code & 0xFC00 == 0xD800, byte() == UInt8(ascii: "\\"), byte(1) == UInt8(ascii: "u") {
        at += 2
        let low = try codeUnit(start)
        guard low & 0xFC00 == 0xDC00 else { throw refusal("half of a character is missing", start) }
        code = 0x10000 + (code & 0x3FF) << 10 + low & 0x3FF
      }
      guard let scalar = Unicode.Scalar(code) else { throw refusal("half of a character is missing", start) }
      return Array(String(Character(scalar)).utf8)
    default: throw refusal("unknown escape sequence; write two backslashes for one", start)
    }
  }

  /// Reads four hexadecimal digits.
  private mutating func codeUnit(_ start: Int) throws(QueryError) -> UInt32 {
    let digits = text[at..<min(at + 4, text.count)]
    guard digits.count == 4, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
      let code = UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
    else { throw refusal("\\u must be followed by four hexadecimal digits", start) }
    at += 4
    return code
  }

  private func refusal(_ reason: String, _ offset: Int? = nil) -> QueryError {
    QueryError(.invalidStatement, reason, position: TextPosition(offset: offset ?? at, in: text))
  }
}
