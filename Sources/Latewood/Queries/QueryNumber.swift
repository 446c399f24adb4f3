import LatewoodQuery

/// A type of number that a query can add up: `Int`, `Double`, and optionals of them.
public protocol QueryNumber: Decodable, Sendable {
  /// The type of a sum.
  associatedtype Total: Sendable

  /// How queries add up numbers of this type. Only the library uses it.
  static var querySum: QuerySum<Total> { get }
}

extension Int: QueryNumber {
  /// How sums of this type are made.
  public static var querySum: QuerySum<Int> {
    QuerySum(isWhole: true) { numbers in
      guard let whole = numbers.whole else {
        throw DatabaseError(.invalidParameter, "the sum is too large for an Int; use a field of type Double")
      }
      return whole
    }
  }
}

extension Double: QueryNumber {
  /// How sums of this type are made.
  public static var querySum: QuerySum<Double> { QuerySum(isWhole: false) { $0.sum } }
}

extension Optional: QueryNumber where Wrapped: QueryNumber {
  /// How sums of this type are made.
  public static var querySum: QuerySum<Wrapped.Total> { Wrapped.querySum }
}

/// How a query adds up numbers. Only the library creates it.
public struct QuerySum<Total: Sendable>: Sendable {
  /// Whether the numbers are added as whole numbers, exactly.
  let isWhole: Bool
  /// Returns the sum of numbers as the type of the result; throws if it does not fit.
  let total: @Sendable (NumberTotal) throws -> Total
}
