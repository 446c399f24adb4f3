import LatewoodFleece

extension SQLFunction {
  /// The maximum length of a function's result in bytes.
  private static let lengthLimit = 16 << 20

  func run(_ arguments: [SQLValue], _ evaluator: inout SQLEvaluator) throws -> SQLValue {
    switch self {
    case .isArray, .isAtom, .isBoolean, .isNumber, .isObject, .isString, .type, .toBoolean, .toNumber,
      .toString:
      return try typed(arguments[0], evaluator)
    case .ifMissing: return arguments.first { !$0.isMissing } ?? .null
    case .ifNull: return arguments.first { !$0.isNull } ?? .null
    case .ifMissingOrNull: return arguments.first { $0.isValued } ?? .null
    case .missingIf: return try replaced(arguments, by: .missing, &evaluator)
    case .nullIf: return try replaced(arguments, by: .null, &evaluator)
    case .greatest, .least: return try extreme(arguments, &evaluator)
    default: break
    }
    if arguments.contains(where: { $0.isMissing }) { return .missing }
    switch self {
    case .lower, .upper, .length, .trim, .ltrim, .rtrim, .contains, .position, .replace, .substr, .concat:
      return try textual(arguments)
    case .abs, .sign, .ceil, .floor, .trunc, .round, .sqrt, .div, .idiv: return numeric(arguments)
    default: return try ofArray(arguments, &evaluator)
    }
  }

  /// Returns the first of two values, or a replacement if they are equal.
  private func replaced(
    _ arguments: [SQLValue], by other: SQLValue, _ evaluator: inout SQLEvaluator
  ) throws -> SQLValue {
    switch try evaluator.compared(.equal, arguments[0], arguments[1]) {
    case .yes: return other
    case .no: return arguments[0]
    case .null: return .null
    case .missing: return .missing
    }
  }

  private func extreme(_ arguments: [SQLValue], _ evaluator: inout SQLEvaluator) throws -> SQLValue {
    var best: SQLValue?
    for argument in arguments where argument.isValued {
      guard let known = best else {
        best = argument
        continue
      }
      if try evaluator.compared(self == .least ? .less : .greater, argument, known) == .yes {
        best = argument
      }
    }
    return best ?? .null
  }

  // MARK: Types

  private func typed(_ value: SQLValue, _ evaluator: SQLEvaluator) throws -> SQLValue {
    if self == .type { return .literal(.string(try SQLFunction.typeName(value))) }
    if value.isMissing { return .missing }
    if value.isNull { return .null }
    let tag = try value.tag()
    switch self {
    case .isArray: return .boolean(tag == .array)
    case .isAtom: return .boolean(tag == .yes || tag == .no || tag == .number || tag == .string)
    case .isBoolean: return .boolean(tag == .yes || tag == .no)
    case .isNumber: return .boolean(tag == .number)
    case .isObject: return .boolean(tag == .object)
    case .isString: return .boolean(tag == .string)
    case .toBoolean: return .boolean(try evaluator.truth(of: value) == .yes)
    case .toNumber: return SQLFunction.number(value)
    default: return try SQLFunction.text(value, tag)
    }
  }

  private static func typeName(_ value: SQLValue) throws -> String {
    switch try value.tag() {
    case .missing: "missing"
    case .null: "null"
    case .no, .yes: "boolean"
    case .number: "number"
    case .string: "string"
    case .data: "binary"
    case .array: "array"
    case .object: "object"
    }
  }

  private static func number(_ value: SQLValue) -> SQLValue {
    if value.number != nil { return value }
    if let boolean = value.boolean { return .literal(.integer(boolean ? 1 : 0)) }
    guard let text = value.string else { return .null }
    if let integer = Int64(text) { return .literal(.number(.integer(integer))) }
    return Double(text).map { .literal(.double($0)) } ?? .null
  }

  private static func text(_ value: SQLValue, _ tag: CollationTag) throws -> SQLValue {
    switch tag {
    case .string: return value
    case .yes, .no, .number:
      var writer = FleeceWriter()
      try value.write(to: &writer)
      return .literal(.string(String(decoding: try JSON.text(of: writer.finish()), as: UTF8.self)))
    default: return .null
    }
  }

  // MARK: Strings

  private func textual(_ arguments: [SQLValue]) throws -> SQLValue {
    guard let text = arguments[0].string else { return .null }
    switch self {
    case .lower: return .literal(.string(text.lowercased()))
    case .upper: return .literal(.string(text.uppercased()))
    case .length: return .literal(.integer(text.unicodeScalars.count))
    case .trim, .ltrim, .rtrim:
      return .literal(.string(SQLText.trimmed(text, start: self != .rtrim, end: self != .ltrim)))
    case .substr: return SQLFunction.part(of: text, arguments)
    case .concat: return try SQLFunction.joined(arguments)
    default: break
    }
    guard let needle = arguments[1].string else { return .null }
    if self == .replace { return try SQLFunction.replaced(needle, in: text, arguments) }
    let bytes = Array(text.utf8)
    let found = SQLText.find(Array(needle.utf8), in: bytes)
    if self == .contains { return .boolean(found != nil) }
    return .literal(.integer(found.map { SQLText.scalarCount(bytes[..<$0]) } ?? -1))
  }

  private static func joined(_ arguments: [SQLValue]) throws -> SQLValue {
    var length = 0
    for argument in arguments {
      guard let text = argument.string else { return .null }
      length += text.utf8.count
    }
    try checkLength(length)
    return .literal(.string(arguments.reduce(into: "") { $0 += $1.string ?? "" }))
  }

  private static func replaced(
    _ needle: String, in text: String, _ arguments: [SQLValue]
  ) throws -> SQLValue {
    guard let other = arguments[2].string else { return .null }
    var most = Int.max
    if arguments.count > 3 {
      guard case .integer(let count)? = arguments[3].number else { return .null }
      if count >= 0 { most = Int(clamping: count) }
    }
    let (old, new, bytes) = (Array(needle.utf8), Array(other.utf8), Array(text.utf8))
    if old.isEmpty { return arguments[0] }
    var result: [UInt8] = []
    var (at, count) = (0, 0)
    while count < most, let found = SQLText.find(old, in: bytes, from: at) {
      result += bytes[at..<found]
      result += new
      at = found + old.count
      count += 1
      try checkLength(result.count)
    }
    result += bytes[at...]
    try checkLength(result.count)
    return .literal(.string(String(decoding: result, as: UTF8.self)))
  }

  /// Returns the substring from an index, which counts from 0 or, if negative, from the end.
  private static func part(of text: String, _ arguments: [SQLValue]) -> SQLValue {
    guard case .integer(let place)? = arguments[1].number else { return .null }
    var length = Int64.max
    if arguments.count > 2 {
      guard case .integer(let count)? = arguments[2].number, count >= 0 else { return .null }
      length = count
    }
    let scalars = text.unicodeScalars
    let count = Int64(scalars.count)
    let start = place < 0 ? place + count : place
    guard start >= 0, start <= count else { return .null }
    let part = scalars.dropFirst(Int(start)).prefix(Int(min(length, count)))
    return .literal(.string(String(part)))
  }

  private static func checkLength(_ length: Int) throws(QueryError) {
    if length > lengthLimit {
      throw QueryError(.tooLarge, "a function returns a string of more than \(lengthLimit) bytes")
    }
  }

  // MARK: Numbers

  private func numeric(_ arguments: [SQLValue]) -> SQLValue {
    guard let number = arguments[0].number else { return .null }
    switch self {
    case .div, .idiv:
      guard let divisor = arguments[1].number else { return .null }
      if self == .div {
        return .literal(SQLCalculation.inDoubles(.divide, number.double, divisor.double))
      }
      let quotient = SQLCalculation.run(.divide, number, divisor)
      guard case .number(.double(let value)) = quotient else { return .literal(quotient) }
      return .literal(.double(value.rounded(.towardZero)))
    case .sqrt: return .literal(.double(number.double.squareRoot()))
    case .sign:
      let sign = number.double
      return .literal(.integer(sign > 0 ? 1 : sign < 0 ? -1 : 0))
    case .abs:
      if let whole = number.whole { return .literal(SQLCalculation.number(whole < 0 ? -whole : whole)) }
      return .literal(.double(Swift.abs(number.double)))
    default: return rounded(number, arguments)
    }
  }

  private func rounded(_ number: FleeceValue.Number, _ arguments: [SQLValue]) -> SQLValue {
    let rule: FloatingPointRoundingRule =
      switch self {
      case .ceil: .up
      case .floor: .down
      case .trunc: .towardZero
      default: .toNearestOrAwayFromZero
      }
    var digits: Int64 = 0
    if arguments.count > 1 {
      guard case .integer(let count)? = arguments[1].number else { return .null }
      digits = count
    }
    if number.whole != nil, digits >= 0 { return arguments[0] }
    var scale = 1.0
    for _ in 0..<min(digits.magnitude, 308) { scale *= 10 }
    let value = number.double
    let scaled = digits < 0 ? value / scale : value * scale
    // Doubles have no fractions beyond 2^53.
    guard scaled.magnitude < 0x1p53 else { return arguments[0] }
    let whole = scaled.rounded(rule)
    return .literal(.double(digits < 0 ? whole * scale : whole / scale))
  }

  // MARK: Arrays

  private func ofArray(_ arguments: [SQLValue], _ evaluator: inout SQLEvaluator) throws -> SQLValue {
    guard let count = try arguments[0].elementCount() else { return .null }
    if self == .arrayLength { return .literal(.integer(count)) }
    if self == .arrayContains {
      if arguments[1].isNull { return .null }
      for index in 0..<count {
        let element = try arguments[0].element(at: Int64(index))
        if try evaluator.compared(.equal, element, arguments[1]) == .yes { return .boolean(true) }
      }
      return .boolean(false)
    }
    let kind: SQLAggregate.Kind =
      switch self {
      case .arrayCount: .count
      case .arraySum: .sum
      case .arrayAverage: .avg
      case .arrayLeast: .min
      default: .max
      }
    var accumulator = SQLAccumulator(kind, isDistinct: false)
    for index in 0..<count {
      let element = try arguments[0].element(at: Int64(index))
      try evaluator.spend(1 + element.size)
      _ = try accumulator.add(element)
    }
    return .literal(accumulator.result)
  }
}
