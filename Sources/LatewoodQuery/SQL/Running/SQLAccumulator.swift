import LatewoodFleece

/// An aggregate over the rows of a group. Null and missing values do not count; integers are summed
/// exactly.
struct SQLAccumulator {
  private let kind: SQLAggregate.Kind
  /// The keys of the values that are not added yet, if only distinct values count. They are added
  /// together, because there may be too many for one part.
  private var known: Set<[UInt8]> = []
  /// Whether only distinct values count. A minimum or maximum is the same either way.
  let isDistinct: Bool
  /// The number of values that count.
  private var count = 0
  private var total = NumberTotal(isWhole: false)
  /// Whether a value is stored as a floating-point number. The sum is then one, too.
  private var isFloatingPoint = false
  private var best: (key: [UInt8], value: SQLLiteral)?

  init(_ kind: SQLAggregate.Kind, isDistinct: Bool) {
    self.kind = kind
    self.isDistinct = isDistinct && kind != .min && kind != .max
  }

  /// Adds a number of rows, regardless of their contents.
  mutating func addRows(_ number: Int) { count += number }

  /// Adds a value. Returns the number of bytes by which the accumulator grows.
  mutating func add(_ value: SQLValue) throws -> Int {
    guard value.isValued else { return 0 }
    switch kind {
    case .count: count += 1
    case .sum, .avg: if let number = value.number { add(number) }
    case .min, .max: return try keep(value)
    }
    return 0
  }

  // MARK: Distinct values

  /// Keeps a value whose key is in a range, if it is new. Returns the number of bytes by which the
  /// accumulator grows.
  mutating func addDistinct(_ value: SQLValue, from start: [UInt8], to end: [UInt8]?) throws -> Int {
    guard value.isValued, kind == .count || value.number != nil else { return 0 }
    var key = CollationKey()
    try value.append(to: &key)
    if Constant.order(key.bytes, start) < 0 { return 0 }
    if let end, Constant.order(key.bytes, end) >= 0 { return 0 }
    return known.insert(key.bytes).inserted ? SQLAccumulator.byteCount(ofKey: key.bytes) : 0
  }

  /// About the memory of a distinct value, in bytes.
  static func byteCount(ofKey key: [UInt8]) -> Int { key.count + SQLMemory.entry }

  /// The keys of the distinct values that are kept.
  var distinctKeys: Set<[UInt8]> { known }

  /// Drops the distinct values from a key on. Returns the number of bytes that they took.
  mutating func dropDistinct(from bound: [UInt8]) -> Int {
    var dropped = 0
    known = known.filter { key in
      if Constant.order(key, bound) < 0 { return true }
      dropped += SQLAccumulator.byteCount(ofKey: key)
      return false
    }
    return dropped
  }

  /// Adds the distinct values that are kept, and releases them. Returns the number of bytes that
  /// they took.
  mutating func addDistinctTogether() -> Int {
    var released = 0
    if kind == .count {
      count += known.count
      for key in known { released += SQLAccumulator.byteCount(ofKey: key) }
    } else {
      // In order, so that the last digits of a sum do not depend on the parts.
      for key in known.sorted(by: { Constant.order($0, $1) < 0 }) {
        released += SQLAccumulator.byteCount(ofKey: key)
        key.withUnsafeBytes { bytes in
          var reader = CollationReader(bytes)
          if let number = reader.nextNumber(descending: false) { add(number) }
        }
      }
    }
    known = []
    return released
  }

  private mutating func add(_ number: FleeceValue.Number) {
    count += 1
    total.add(number)
    if case .double = number { isFloatingPoint = true }
  }

  private mutating func keep(_ value: SQLValue) throws -> Int {
    var key = CollationKey()
    try value.append(to: &key)
    let before = best?.key.count ?? 0
    if let best {
      let isLess = key.bytes.lexicographicallyPrecedes(best.key)
      if key.bytes == best.key || isLess != (kind == .min) { return 0 }
    }
    best = (key.bytes, try value.literal())
    return 2 * (key.bytes.count - before)
  }

  var result: SQLLiteral {
    switch kind {
    case .count: return .integer(count)
    case .sum:
      if count == 0 { return .null }
      return isFloatingPoint ? .double(total.sum) : SQLCalculation.number(total.wholeSum)
    case .avg: return total.average.map { .double($0) } ?? .null
    case .min, .max: return best?.value ?? .null
    }
  }
}
