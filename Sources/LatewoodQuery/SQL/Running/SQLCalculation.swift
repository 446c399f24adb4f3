import LatewoodFleece

/// Arithmetic on numbers. Integers stay integers if they fit into 64 bits, and otherwise become
/// doubles; the quotient of two integers is an integer, as in Couchbase Lite. A result that is not
/// a number, such as a quotient by zero, is null.
enum SQLCalculation {
  static func run(_ operation: SQLArithmetic, _ left: SQLValue, _ right: SQLValue) throws -> SQLValue {
    if left.isMissing || right.isMissing { return .missing }
    guard let left = left.number, let right = right.number else { return .null }
    return .literal(run(operation, left, right))
  }

  static func run(
    _ operation: SQLArithmetic, _ left: FleeceValue.Number, _ right: FleeceValue.Number
  ) -> SQLLiteral {
    guard let a = left.whole, let b = right.whole else {
      return inDoubles(operation, left.double, right.double)
    }
    switch operation {
    case .add: return number(a + b)
    case .subtract: return number(a - b)
    case .multiply:
      let (product, overflow) = a.multipliedReportingOverflow(by: b)
      return overflow ? .double(left.double * right.double) : number(product)
    case .divide: return b == 0 ? .null : number(a / b)
    case .remainder: return b == 0 ? .null : number(a % b)
    }
  }

  static func inDoubles(_ operation: SQLArithmetic, _ left: Double, _ right: Double) -> SQLLiteral {
    switch operation {
    case .add: .double(left + right)
    case .subtract: .double(left - right)
    case .multiply: .double(left * right)
    case .divide: .double(left / right)
    case .remainder: right == 0 ? .null : .double(left.truncatingRemainder(dividingBy: right))
    }
  }

  static func number(_ value: Int128) -> SQLLiteral {
    if let integer = Int64(exactly: value) { return .number(.integer(integer)) }
    if let unsigned = UInt64(exactly: value) { return .number(.unsigned(unsigned)) }
    return .double(Double(value))
  }
}

extension FleeceValue.Number {
  /// The number if it is stored as an integer; nil otherwise.
  var whole: Int128? {
    switch self {
    case .integer(let value): Int128(value)
    case .unsigned(let value): Int128(value)
    case .double: nil
    }
  }

  var double: Double {
    switch self {
    case .integer(let value): Double(value)
    case .unsigned(let value): Double(value)
    case .double(let value): value
    }
  }
}
