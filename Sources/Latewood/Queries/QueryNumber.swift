import LatewoodQuery

/// A type of number that a query can add up: `Int`, `Double`, and optionals of them.
public protocol QueryNumber: Decodable, Sendable {
  /// The type of a sum.
  associatedtype Total: Sendable

  // Not for use outside this module.

  static var _isWhole: Bool { get }
  static func _total(_ total: QueryTotal) throws -> Total
}

extension Int: QueryNumber {
  public static var _isWhole: Bool { true }
  public static func _total(_ total: QueryTotal) throws -> Int {
    guard let whole = total.numbers.whole else {
      throw DatabaseError(.invalidParameter, "the sum is too large for an Int; use a field of type Double")
    }
    return whole
  }
}

extension Double: QueryNumber {
  public static var _isWhole: Bool { false }
  public static func _total(_ total: QueryTotal) -> Double { total.numbers.sum }
}

extension Optional: QueryNumber where Wrapped: QueryNumber {
  public static var _isWhole: Bool { Wrapped._isWhole }
  public static func _total(_ total: QueryTotal) throws -> Wrapped.Total { try Wrapped._total(total) }
}

/// A running total of numbers. Not useful on its own.
public struct QueryTotal: Sendable {
  let numbers: NumberTotal

  init(_ numbers: NumberTotal) { self.numbers = numbers }
}
