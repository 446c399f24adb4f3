import LatewoodFleece

/// A parsed expression, before its names are resolved.
struct SQLSyntax: Sendable {
  indirect enum Form: Sendable {
    case literal(SQLLiteral)
    case parameter(String)
    case name(String)
    case member(SQLSyntax, String)
    case element(SQLSyntax, SQLSyntax)
    case call(SQLCall)
    case negate(SQLSyntax)
    case not(SQLSyntax)
    case exists(SQLSyntax)
    case infix(SQLInfix, SQLSyntax, SQLSyntax)
    case all([SQLSyntax])
    case any([SQLSyntax])
    case between(SQLSyntax, SQLSyntax, SQLSyntax)
    case test(SQLTest, SQLSyntax)
    case quantified(SQLQuantifier, variable: String, SQLSyntax, SQLSyntax)
    /// CASE: the value to compare with, if any; the conditions and values; and ELSE.
    case choice(SQLSyntax?, [(when: SQLSyntax, then: SQLSyntax)], otherwise: SQLSyntax?)
    case array([SQLSyntax])
    case object([(key: String, value: SQLSyntax)])
  }

  let form: Form
  /// The byte offset of its beginning in the text.
  let offset: Int
  /// The number of levels of nested expressions.
  let depth: Int
}

struct SQLCall: Sendable {
  let name: String
  let arguments: [SQLSyntax]
  var isDistinct = false
  /// Whether the argument is a star, as in `COUNT(*)`.
  var hasStar = false
}

enum SQLInfix: Sendable, Equatable {
  case compare(Comparison)
  case calculate(SQLArithmetic)
  case concat, like, among
}

enum SQLArithmetic: Sendable { case add, subtract, multiply, divide, remainder }

enum SQLTest: Sendable { case isNull, isNotNull, isMissing, isNotMissing, isValued, isNotValued }

enum SQLQuantifier: Sendable {
  case any
  /// Is also true for an empty array.
  case every
  case anyAndEvery
}

/// A parsed statement, before its names are resolved by `SQLProgram`.
package struct SQLStatement: Sendable {
  struct Column: Sendable {
    /// The expression; nil for `*`.
    var expression: SQLSyntax?
    /// Whether the members of the value become columns, as in `films.*`.
    var isSpread = false
    var alias: String?
    var offset: Int
  }

  struct Unnest: Sendable {
    var array: SQLSyntax
    var alias: String
    /// Whether it is a LEFT UNNEST, which keeps documents without elements.
    var isOuter: Bool
    var offset: Int
  }

  struct Order: Sendable {
    var expression: SQLSyntax
    var isDescending: Bool
  }

  package internal(set) var text: String
  /// The full name of the collection after FROM; empty without FROM.
  package internal(set) var collection = ""
  /// Whether the collection is written as `_` alone, which lets a caller choose it.
  package internal(set) var isOfUnderscore = false
  /// Whether there is a FROM. Without it, a statement has one row and cannot use members.
  package var readsDocuments: Bool { !collection.isEmpty }
  /// The name that stands for a document.
  var alias = ""
  var isDistinct = false
  /// Whether rows are the values of the only column instead of objects.
  var isRaw = false
  var columns: [Column] = []
  var unnests: [Unnest] = []
  var condition: SQLSyntax?
  var groups: [SQLSyntax] = []
  var having: SQLSyntax?
  var order: [Order] = []
  var limit: SQLSyntax?
  var offset: SQLSyntax?

  /// Whether the only column is `*`.
  package var isStar: Bool { columns.count == 1 && columns[0].expression == nil && unnests.isEmpty }

  /// Returns the full name of a collection. `_` is the default collection or scope.
  static func fullName(of name: String, in scope: String?) -> String {
    let standard = "_default"
    let name = name == "_" ? standard : name
    return scope.map { $0 == standard || $0 == "_" ? name : "\($0).\(name)" } ?? name
  }

  func refusal(_ kind: QueryError.Kind = .invalidStatement, _ reason: String, at offset: Int) -> QueryError {
    QueryError(kind, reason, position: TextPosition(offset: offset, in: Array(text.utf8)))
  }
}
