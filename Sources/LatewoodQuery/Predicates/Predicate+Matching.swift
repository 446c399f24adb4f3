import LatewoodFleece

extension Predicate {
  /// Returns whether a document or value matches the predicate. Throws `damaged` if the bytes that
  /// it reads are damaged.
  package func matches(_ source: some FieldSource) throws(FleeceError) -> Bool {
    switch self {
    case .always(let answer): return answer
    case .all(let parts): return try Predicate.all(parts, match: source)
    case .any(let parts): return try Predicate.any(parts, match: source)
    case .not(let part): return try !part.matches(source)
    case .field(let path, let test):
      return try source.withField(path) { lookup throws(FleeceError) in try test.accepts(lookup) }
    case .fields: return try matchesFields(source)
    case .text: return try matchesWords(source)
    }
  }
}

/// Separate functions, so that nested conditions on elements need less stack.
extension Predicate {
  private static func all(_ parts: [Predicate], match source: some FieldSource) throws(FleeceError) -> Bool {
    for part in parts where try !part.matches(source) { return false }
    return true
  }

  private static func any(_ parts: [Predicate], match source: some FieldSource) throws(FleeceError) -> Bool {
    for part in parts where try part.matches(source) { return true }
    return false
  }

  private func matchesWords(_ source: some FieldSource) throws(FleeceError) -> Bool {
    guard case .text(let condition) = self else { return false }
    return try condition.matches(source)
  }

  private func matchesFields(_ source: some FieldSource) throws(FleeceError) -> Bool {
    guard case .fields(let left, let comparison, let right) = self else { return false }
    return try source.withField(left) { first throws(FleeceError) in
      try source.withField(right) { second throws(FleeceError) in
        try comparison.accepts(first.value, second.value)
      }
    }
  }
}

extension Comparison {
  fileprivate func accepts(_ count: Int?, _ number: Int) -> Bool {
    guard let count else { return false }
    return accepts(count < number ? -1 : count == number ? 0 : 1)
  }

  fileprivate func accepts(_ left: FleeceValue?, _ right: FleeceValue?) throws(FleeceError) -> Bool {
    let areNothing = (CollationTag(left) <= .null, CollationTag(right) <= .null)
    guard areNothing == (false, false) else {
      switch self {
      case .equal: return areNothing == (true, true)
      case .notEqual: return areNothing != (true, true)
      default: return false
      }
    }
    var keys = (CollationKey(), CollationKey())
    try keys.0.append(left)
    try keys.1.append(right)
    let isLess = keys.0.bytes.lexicographicallyPrecedes(keys.1.bytes)
    return accepts(isLess ? -1 : keys.0.bytes == keys.1.bytes ? 0 : 1)
  }
}

extension FieldTest {
  func accepts(_ lookup: Lookup) throws(FleeceError) -> Bool {
    switch lookup {
    case .value(let value): return try accepts(value)
    case .missing:
      if case .isMissing = self { return true }
      return false
    case .blocked: return false
    }
  }

  /// Only what conditions inside each other recurse through, so that the stack of a small thread
  /// suffices in a debug build.
  private func accepts(_ value: FleeceValue) throws(FleeceError) -> Bool {
    switch self {
    case .anyElement(let predicate): try FieldTest.elements(of: value, any: predicate)
    case .everyElement(let predicate): try FieldTest.elements(of: value, every: predicate)
    case .anyKey(let predicate): try FieldTest.keys(of: value, any: predicate)
    case .fails(let test): try !test.accepts(value)
    default: try acceptsAlone(value)
    }
  }

  /// The tests without a condition inside.
  private func acceptsAlone(_ value: FleeceValue) throws(FleeceError) -> Bool {
    switch self {
    case .compare(let comparison, let constant): return comparison.accepts(try constant.compare(value))
    case .isAmong(let constants): return try FieldTest.isAmong(value, constants)
    case .equalsAny(let constants): return try constants.contains(value)
    case .exists: return true
    case .isMissing: return false
    case .hasType(let type): return ValueType(value) == type
    case .hasCount(let count): return try value.array()?.count == count
    case .countIs(let comparison, let number):
      return comparison.accepts(try value.array()?.count, number)
    case .lengthIs(let comparison, let number):
      return comparison.accepts(try value.string()?.count, number)
    case .hasRemainder(let remainder, let divisor):
      return try FieldTest.remainder(value, divisor) == remainder
    case .begins(let prefix): return try prefix.begins(value)
    case .matches(let pattern):
      guard let text = try value.provenText() else { return false }
      return try pattern.matches(text)
    case .containsAll(let constants): return try FieldTest.containsAll(value, constants)
    case .anyElement, .everyElement, .anyKey, .fails: return try accepts(value)
    }
  }

  private static func isAmong(
    _ value: FleeceValue, _ constants: ConstantSet
  ) throws(FleeceError) -> Bool {
    guard let array = try value.array() else { return try constants.contains(value) }
    for index in 0..<array.count where try constants.contains(array.value(at: index)) { return true }
    return false
  }

  private static func containsAll(
    _ value: FleeceValue, _ constants: ConstantSet
  ) throws(FleeceError) -> Bool {
    guard let array = try value.array() else { return false }
    if constants.listed.count == 1, constants.listed[0].tag == .array, try constants.contains(value) {
      return true
    }
    return try constants.areAll(in: array)
  }

  private static func remainder(_ value: FleeceValue, _ divisor: Int64) throws(FleeceError) -> Int64? {
    switch try value.number() {
    case .integer(let number)?:
      // The only division that overflows has no remainder.
      let (remainder, overflow) = number.remainderReportingOverflow(dividingBy: divisor)
      return overflow ? 0 : remainder
    case .unsigned(let number)?:
      let remainder = number % divisor.magnitude
      return Int64(exactly: remainder)
    case .double?, nil: return nil
    }
  }

  private static func elements(of value: FleeceValue, every predicate: Predicate) throws(FleeceError) -> Bool
  {
    guard let array = try value.array(), array.count > 0 else { return false }
    for index in 0..<array.count {
      try QuerySteps.count(index)
      if try !predicate.matches(array.value(at: index)) { return false }
    }
    return true
  }

  private static func elements(of value: FleeceValue, any predicate: Predicate) throws(FleeceError) -> Bool {
    guard let array = try value.array() else { return false }
    for index in 0..<array.count {
      try QuerySteps.count(index)
      if try predicate.matches(array.value(at: index)) { return true }
    }
    return false
  }

  private static func keys(of value: FleeceValue, any predicate: Predicate) throws(FleeceError) -> Bool {
    guard var members = try value.dictionary()?.members() else { return false }
    while let member = try members.next() {
      var writer = FleeceWriter()
      try writer.string(String(decoding: member.key, as: UTF8.self))
      let name = FleeceBody(written: try writer.finish())
      if try name.withRoot({ root throws(FleeceError) in try predicate.matches(root) }) { return true }
    }
    return false
  }
}
