import LatewoodFleece

/// A running total of the numbers in a field. Missing and null values do not count.
@usableFromInline package struct NumberTotal: Sendable {
  private let isWhole: Bool
  @usableFromInline var count = 0
  /// The low and high words of the sum of the whole numbers: `integers` plus `carry` times 2^64.
  @usableFromInline var integers = 0
  @usableFromInline var carry = 0
  /// The sum of all other numbers.
  private var rest = 0.0
  /// The part of the sum that `rest` has lost to rounding.
  private var lost = 0.0

  /// - Parameter isWhole: whether only whole numbers are accepted.
  package init(isWhole: Bool) { self.isWhole = isWhole }

  package var sum: Double { Double(wholeSum) + (rest + lost) }
  package var average: Double? { count == 0 ? nil : sum / Double(count) }
  /// The sum of the whole numbers; nil if it does not fit into an `Int`.
  package var whole: Int? { carry == 0 ? integers : nil }
  /// The exact sum of the whole numbers of 64 bits, signed or unsigned.
  package var wholeSum: Int128 { Int128(carry) << 64 + Int128(integers) }

  /// Adds a number. Returns false if the value is not accepted.
  package mutating func add(_ value: ScalarValue) -> Bool {
    switch value {
    case .missing, .null: true
    case .boolean, .string: false
    case .number(let number): add(number)
    }
  }

  /// Adds the next value of a key. Returns false if the value is not accepted, or the key does not
  /// contain it.
  package mutating func addNext(of key: inout CollationReader, descending: Bool) -> Bool {
    if let number = key.nextNumber(descending: descending) { return add(number) }
    guard let value = key.next(descending: descending) else { return false }
    return add(value)
  }

  /// Adds a number. Returns false if it is not accepted.
  @discardableResult
  @inline(__always) package mutating func add(_ number: FleeceValue.Number) -> Bool {
    guard let integer = number.integral else {
      if isWhole { return false }
      if case .unsigned(let integer) = number {
        add(whole: Int(truncatingIfNeeded: integer))
        carry += 1
      } else {
        add(number.double)
      }
      return true
    }
    add(whole: integer)
    return true
  }

  /// Adds a whole number, which every total accepts.
  @inlinable @inline(__always) package mutating func add(whole integer: Int) {
    let (sum, overflow) = integers.addingReportingOverflow(integer)
    if overflow { carry += integer < 0 ? -1 : 1 }
    integers = sum
    count += 1
  }

  /// Adds the numbers of another total.
  package mutating func add(_ other: NumberTotal) {
    let (sum, overflow) = integers.addingReportingOverflow(other.integers)
    carry += other.carry + (overflow ? (other.integers < 0 ? -1 : 1) : 0)
    integers = sum
    count += other.count
    rest += other.rest
    lost += other.lost
  }

  /// Subtracts another total, all of whose numbers must be whole and contained in this one.
  package mutating func subtract(_ other: NumberTotal) {
    let (difference, overflow) = integers.subtractingReportingOverflow(other.integers)
    carry += (overflow ? (other.integers < 0 ? 1 : -1) : 0) - other.carry
    integers = difference
    count -= other.count
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
  /// The number as an `Int`; nil if it is not a whole number in that range.
  @inline(__always) package var integral: Int? {
    switch self {
    case .integer(let integer): Int(exactly: integer)
    case .unsigned(let integer): Int(exactly: integer)
    case .double(let double): Int(exactly: double)
    }
  }
}
