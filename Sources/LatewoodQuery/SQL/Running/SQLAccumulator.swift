import LatewoodFleece

/// An aggregate over the rows of a group. Null and missing values do not count; integers are summed
/// exactly.
struct SQLAccumulator {
  private let kind: SQLAggregate.Kind
  /// The keys of the values so far, if only distinct values count.
  private var known: Set<[UInt8]>?
  private var count = 0
  private var whole: Int128 = 0
  private var fraction = 0.0
  private var hasFraction = false
  private var best: (key: [UInt8], value: SQLLiteral)?

  init(_ kind: SQLAggregate.Kind, isDistinct: Bool) {
    self.kind = kind
    known = isDistinct ? [] : nil
  }

  /// Adds a number of rows, regardless of their contents.
  mutating func addRows(_ number: Int) { count += number }

  /// Adds a value. Returns the number of bytes by which the accumulator grows.
  mutating func add(_ value: SQLValue) throws -> Int {
    guard value.isValued else { return 0 }
    var growth = 0
    if known != nil {
      var key = CollationKey()
      try value.append(to: &key)
      guard known?.insert(key.bytes).inserted == true else { return 0 }
      growth = key.bytes.count + SQLMemory.entry
    }
    switch kind {
    case .count: count += 1
    case .sum, .avg: if let number = value.number { add(number) }
    case .min, .max: growth += try keep(value)
    }
    return growth
  }

  private mutating func add(_ number: FleeceValue.Number) {
    count += 1
    if let more = number.whole {
      // 2^63 rows of 64 bits each cannot overflow.
      whole += more
    } else {
      hasFraction = true
      fraction += number.double
    }
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
      return hasFraction ? .double(Double(whole) + fraction) : SQLCalculation.number(whole)
    case .avg: return count == 0 ? .null : .double((Double(whole) + fraction) / Double(count))
    case .min, .max: return best?.value ?? .null
    }
  }
}
