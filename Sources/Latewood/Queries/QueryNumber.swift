import LatewoodFleece
import LatewoodQuery

/// A type of number that a query can add up: `Int`, `Double`, and optionals of them.
public protocol QueryNumber: Decodable, Sendable {
  /// The type of a sum.
  associatedtype Total: Sendable

  // Not for use outside of this module.

  static var _isWhole: Bool { get }
  static func _total(_ total: QueryTotal) throws -> Total
}

extension Int: QueryNumber {
  public static var _isWhole: Bool { true }
  public static func _total(_ total: QueryTotal) throws -> Int {
    guard let whole = total.whole else {
      throw DatabaseError(.invalidParameter, "the sum is too large for an Int; ask for one of Double")
    }
    return whole
  }
}

extension Double: QueryNumber {
  public static var _isWhole: Bool { false }
  public static func _total(_ total: QueryTotal) -> Double { total.sum }
}

extension Optional: QueryNumber where Wrapped: QueryNumber {
  public static var _isWhole: Bool { Wrapped._isWhole }
  public static func _total(_ total: QueryTotal) throws -> Wrapped.Total { try Wrapped._total(total) }
}

/// A running total of numbers. Not useful on its own.
public struct QueryTotal: Sendable {
  private var count = 0
  /// The sum of the whole numbers, as long as it fits into an `Int`. All other numbers are in
  /// `rest`.
  private var integers = 0
  private var rest = 0.0
  /// The part of the sum that `rest` has lost to rounding.
  private var lost = 0.0
  private var isTooLarge = false

  init() {}

  var sum: Double { Double(integers) + (rest + lost) }
  var average: Double? { count == 0 ? nil : sum / Double(count) }
  /// The sum of the whole numbers; nil if it does not fit into an `Int`.
  var whole: Int? { isTooLarge ? nil : integers }

  /// Adds a number; missing and null values are skipped. Returns false if the value is not a
  /// number, or not a whole number although `wholeOnly` is set.
  mutating func add(_ value: ScalarValue, wholeOnly: Bool) -> Bool {
    switch value {
    case .missing, .null: return true
    case .boolean, .string: return false
    case .number(let number):
      guard let integer = number.whole else {
        if wholeOnly { return false }
        add(number.double)
        return true
      }
      let (sum, overflow) = integers.addingReportingOverflow(integer)
      if overflow {
        isTooLarge = true
        add(Double(integer))
      } else {
        integers = sum
        count += 1
      }
      return true
    }
  }

  /// Adds a number to `rest` with Neumaier's compensated summation.
  private mutating func add(_ number: Double) {
    let sum = rest + number
    lost += abs(rest) >= abs(number) ? (rest - sum) + number : (number - sum) + rest
    rest = sum
    count += 1
  }
}

extension FleeceValue.Number {
  /// The number as an `Int`, if it is one.
  var whole: Int? {
    switch self {
    case .integer(let integer): Int(exactly: integer)
    case .unsigned(let integer): Int(exactly: integer)
    case .double(let double): Int(exactly: double)
    }
  }

  fileprivate var double: Double {
    switch self {
    case .integer(let integer): Double(integer)
    case .unsigned(let integer): Double(integer)
    case .double(let double): double
    }
  }
}
