import LatewoodFleece
import LatewoodSimulation

/// A minimal value, with a second, very simple implementation of the order of values.
indirect enum PlainOrder {
  case missing, null
  case boolean(Bool)
  case integer(Int64)
  case unsigned(UInt64)
  case double(Double)
  case string([UInt8])
  case data([UInt8])
  case array([PlainOrder])
  case object([(name: [UInt8], value: PlainOrder)])

  private var rank: Int {
    switch self {
    case .missing: 0
    case .null: 1
    case .boolean(let value): value ? 3 : 2
    case .integer, .unsigned, .double: 4
    case .string: 5
    case .data: 6
    case .array: 7
    case .object: 8
    }
  }

  static func compare(_ left: PlainOrder, _ right: PlainOrder) -> Int {
    if left.rank != right.rank { return left.rank - right.rank }
    switch (left, right) {
    case (.string(let a), .string(let b)), (.data(let a), .data(let b)): return order(a, b)
    case (.array(let a), .array(let b)):
      for (x, y) in zip(a, b) {
        let result = compare(x, y)
        if result != 0 { return result }
      }
      return a.count - b.count
    case (.object(let a), .object(let b)):
      for (x, y) in zip(a, b) {
        let names = order(x.name, y.name)
        if names != 0 { return names }
        let values = compare(x.value, y.value)
        if values != 0 { return values }
      }
      return a.count - b.count
    default: return numbers(left, right)
    }
  }

  private static func order(_ a: [UInt8], _ b: [UInt8]) -> Int {
    a == b ? 0 : a.lexicographicallyPrecedes(b) ? -1 : 1
  }

  /// Compares by integral part and fraction, which are exact for integers of 128 bits and doubles
  /// below 2^64.
  private static func numbers(_ left: PlainOrder, _ right: PlainOrder) -> Int {
    let (a, b) = (left.parts, right.parts)
    if let a, let b {
      if a.whole != b.whole { return a.whole < b.whole ? -1 : 1 }
      return a.fraction == b.fraction ? 0 : a.fraction < b.fraction ? -1 : 1
    }
    let (x, y) = (left.magnitude, right.magnitude)
    return x == y ? 0 : x < y ? -1 : 1
  }

  private var magnitude: Double {
    switch self {
    case .integer(let value): Double(value)
    case .unsigned(let value): Double(value)
    case .double(let value): value
    default: 0
    }
  }

  /// The integral part and the fraction; nil if the number is beyond 2^100.
  private var parts: (whole: Int128, fraction: Double)? {
    switch self {
    case .integer(let value): return (Int128(value), 0)
    case .unsigned(let value): return (Int128(value), 0)
    case .double(let value):
      guard abs(value) < 0x1p100 else { return nil }
      let whole = value.rounded(.towardZero)
      return (Int128(whole), value - whole)
    default: return (0, 0)
    }
  }

  // MARK: Random values

  static func random(_ random: inout SeededRandom, depth: Int = 0) -> PlainOrder {
    switch random.below(depth > 2 ? 10 : 13) {
    case 0: return depth == 0 ? .missing : .null
    case 1: return .boolean(random.oneIn(2))
    case 2...5: return number(&random)
    case 6...8: return .string(text(&random))
    case 9: return .data(bytes(&random))
    case 10, 11: return .array((0..<random.below(4)).map { _ in .random(&random, depth: depth + 1) })
    default:
      var names: Set<[UInt8]> = []
      for _ in 0..<random.below(4) { names.insert(text(&random)) }
      let sorted = names.sorted { $0.lexicographicallyPrecedes($1) }
      return .object(sorted.map { (name: $0, value: .random(&random, depth: depth + 1)) })
    }
  }

  /// Returns a number near the limits of encodings: integral or not, 2^53, 2^63, 2^64, zero of both
  /// signs, the least and the greatest.
  static func number(_ random: inout SeededRandom) -> PlainOrder {
    let near = Int64(random.below(9)) - 4
    switch random.below(10) {
    case 0: return .integer(near)
    case 1: return .double(Double(near) / 2)
    case 2: return .integer((1 << 53 + near) * (random.oneIn(2) ? 1 : -1))
    case 3: return .double((0x1p53 + Double(2 * near)) * (random.oneIn(2) ? 1 : -1))
    case 4: return .integer(random.oneIn(2) ? .max - 4 + near : .min + 4 + near)
    case 5: return .unsigned(UInt64(1) << 63 + UInt64(4 + near) * (random.oneIn(2) ? 1 : 1024))
    case 6:
      let edges: [Double] = [
        0.0, -0.0, 0x1p63, -0x1p63, 0x1p64, 0x1p63.nextDown, 0x1p64.nextDown, .leastNonzeroMagnitude,
      ]
      return .double(random.pick(edges))
    case 7:
      return .double(random.pick([.greatestFiniteMagnitude, -.greatestFiniteMagnitude, 1e300, -1e-300]))
    case 8: return .integer(Int64(bitPattern: random.next()) >> Int64(random.below(64)))
    default:
      let value = Double(bitPattern: random.next())
      return .double(value.isFinite ? value : 1)
    }
  }

  private static func text(_ random: inout SeededRandom) -> [UInt8] {
    let parts = ["", "a", "b", "A", "\0", "\u{1}", "é", "\u{FFFF}", "👋", "aa"]
    return (0..<random.below(4)).flatMap { _ in Array(random.pick(parts).utf8) }
  }

  private static func bytes(_ random: inout SeededRandom) -> [UInt8] {
    (0..<random.below(4)).map { _ in random.pick([0, 1, 0xFE, 0xFF]) }
  }

  // MARK: As Fleece

  /// Returns the value as Fleece; nil for a missing value.
  func fleece() throws -> FleeceBody? {
    if case .missing = self { return nil }
    var writer = FleeceWriter()
    try write(to: &writer)
    return FleeceBody(written: try writer.finish())
  }

  private func write(to writer: inout FleeceWriter) throws(FleeceError) {
    switch self {
    case .missing, .null: try writer.null()
    case .boolean(let value): try writer.boolean(value)
    case .integer(let value): try writer.integer(value)
    case .unsigned(let value): try writer.unsigned(value)
    case .double(let value): try writer.double(value)
    case .string(let value): try writer.string(String(decoding: value, as: UTF8.self))
    case .data(let value): try writer.data(value)
    case .array(let values):
      try writer.beginArray()
      for value in values { try value.write(to: &writer) }
      try writer.endArray()
    case .object(let members):
      try writer.beginDictionary()
      for member in members {
        try writer.key(String(decoding: member.name, as: UTF8.self))
        try member.value.write(to: &writer)
      }
      try writer.endDictionary()
    }
  }
}
