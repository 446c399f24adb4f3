import LatewoodFleece

/// A running total of the numbers in a field. Missing and null values do not count.
package struct NumberTotal: Sendable {
  private let isWhole: Bool
  private var count = 0
  /// The sum of the whole numbers is `integers` plus `carry` times 2^64, in whatever order they
  /// come.
  private var integers = 0
  private var carry = 0
  /// The sum of all other numbers.
  private var rest = 0.0
  /// The part of the sum that `rest` has lost to rounding.
  private var lost = 0.0

  /// - Parameter isWhole: whether only whole numbers are accepted.
  package init(isWhole: Bool) { self.isWhole = isWhole }

  package var sum: Double { Double(carry) * 0x1p64 + Double(integers) + (rest + lost) }
  package var average: Double? { count == 0 ? nil : sum / Double(count) }
  /// The sum of the whole numbers; nil if it does not fit into an `Int`.
  package var whole: Int? { carry == 0 ? integers : nil }

  /// Adds a number. Returns false if the value is not accepted.
  package mutating func add(_ value: ScalarValue) -> Bool {
    switch value {
    case .missing, .null: true
    case .boolean, .string: false
    case .number(let number): add(number)
    }
  }

  /// Adds the next value of a key, read in place. Returns false if the value is not accepted, or
  /// the key does not contain it.
  package mutating func addNext(of key: inout CollationReader, descending: Bool) -> Bool {
    if let number = key.nextNumber(descending: descending) { return add(number) }
    guard let value = key.next(descending: descending) else { return false }
    return add(value)
  }

  @inline(__always) private mutating func add(_ number: FleeceValue.Number) -> Bool {
    guard let integer = number.integral else {
      if isWhole { return false }
      add(number.double)
      return true
    }
    let (sum, overflow) = integers.addingReportingOverflow(integer)
    if overflow { carry += integer < 0 ? -1 : 1 }
    integers = sum
    count += 1
    return true
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
  @inline(__always) package var integral: Int? {
    switch self {
    case .integer(let integer): Int(exactly: integer)
    case .unsigned(let integer): Int(exactly: integer)
    case .double(let double): Int(exactly: double)
    }
  }
}
