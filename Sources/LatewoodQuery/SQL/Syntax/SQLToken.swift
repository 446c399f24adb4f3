import LatewoodFleece

/// A word, literal or symbol of a statement, with its position.
struct SQLToken {
  enum Kind: Equatable {
    /// A name that is not a keyword, or is in backquotes.
    case name(String)
    case keyword(SQLKeyword)
    case string(String)
    case number(FleeceValue.Number)
    /// The name of a parameter without its dollar sign.
    case parameter(String)
    case symbol(SQLSymbol)
    case end
  }

  let kind: Kind
  /// The range of bytes in the text.
  let range: Range<Int>
}

/// The reserved words, which are names only in backquotes or after a dot. Case-insensitive.
enum SQLKeyword: String, CaseIterable {
  case select, distinct, all, from, unnest, left, inner, outer, `where`, group, by, having, order, asc, desc
  case limit, offset, `as`, and, or, not, `in`, like, between, `is`, null, missing, `true`, `false`
  case any, some, every, satisfies, end, `case`, when, then, `else`, exists
  // These are reserved only to report that they are not supported.
  case join, nest, union, intersect, except, use, `let`, with

  static let byName = Dictionary(uniqueKeysWithValues: allCases.map { ($0.rawValue, $0) })
}

enum SQLSymbol: String, CaseIterable {
  case leftParenthesis = "("
  case rightParenthesis = ")"
  case leftBracket = "["
  case rightBracket = "]"
  case leftBrace = "{"
  case rightBrace = "}"
  case comma = ","
  case dot = "."
  case colon = ":"
  case semicolon = ";"
  case star = "*"
  case slash = "/"
  case percent = "%"
  case plus = "+"
  case minus = "-"
  case bars = "||"
  case equal = "="
  case equalTwice = "=="
  case notEqual = "!="
  case lessOrGreater = "<>"
  case less = "<"
  case lessOrEqual = "<="
  case greater = ">"
  case greaterOrEqual = ">="

  static let byText = Dictionary(uniqueKeysWithValues: allCases.map { (Array($0.rawValue.utf8), $0) })
}
