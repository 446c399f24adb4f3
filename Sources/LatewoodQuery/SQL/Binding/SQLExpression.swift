import LatewoodFleece

/// An expression whose names have been resolved. Equal expressions have the same value for every
/// document.
indirect enum SQLExpression: Sendable, Equatable {
  case literal(SQLLiteral)
  /// The document or a part of it.
  case document([SQLStep])
  /// An element of UNNEST, ANY or EVERY, or a part of it.
  case variable(Int, [SQLStep])
  case fact(SQLFact)
  case words(SQLWordUse)
  /// The value of an expression of GROUP BY.
  case groupKey(Int)
  case aggregate(Int)
  case follow(SQLExpression, [SQLStep])
  /// The element of an array, or the member of an object, that another expression selects.
  case element(SQLExpression, SQLExpression)
  case negate(SQLExpression)
  case not(SQLExpression)
  case all([SQLExpression])
  case any([SQLExpression])
  case compare(Comparison, SQLExpression, SQLExpression)
  case between(SQLExpression, SQLExpression, SQLExpression)
  case calculate(SQLArithmetic, SQLExpression, SQLExpression)
  case test(SQLTest, SQLExpression)
  case like(SQLExpression, SQLExpression)
  case among(SQLExpression, SQLExpression)
  case amongConstants(SQLExpression, SQLConstants)
  case exists(SQLExpression)
  case quantified(SQLQuantifier, variable: Int, SQLExpression, SQLExpression)
  case choice(SQLExpression?, [SQLBranch], otherwise: SQLExpression)
  case call(SQLFunction, [SQLExpression])
  case array([SQLExpression])
  case object([SQLMember])

  var literal: SQLLiteral? { if case .literal(let literal) = self { literal } else { nil } }
}

/// The use of a full-text index in a statement.
package enum SQLWordUse: Sendable, Equatable {
  /// Whether the document has the words of a query.
  case match(index: String, query: String)
  /// The score of the document for the words that it was found by.
  case rank(index: String)
  /// The part of its texts that has the most of these words.
  case snippet(index: String, opening: String, closing: String, wordCount: Int)
}

struct SQLBranch: Sendable, Equatable {
  var condition: SQLExpression
  var value: SQLExpression
}

struct SQLMember: Sendable, Equatable {
  var key: String
  var value: SQLExpression
}

/// An aggregate over the rows of a group.
struct SQLAggregate: Sendable, Equatable {
  enum Kind: String, CaseIterable { case count, sum, avg, min, max }

  var kind: Kind
  /// Nil for `COUNT(*)`.
  var argument: SQLExpression?
  var isDistinct: Bool

  /// Whether every row counts: for `COUNT(*)`, `COUNT(1)` and `COUNT(meta().id)`.
  var countsAll: Bool {
    guard kind == .count, !isDistinct else { return false }
    switch argument {
    case nil, .fact(.id): return true
    case .literal(let literal): return literal.isValued
    default: return false
    }
  }
}
