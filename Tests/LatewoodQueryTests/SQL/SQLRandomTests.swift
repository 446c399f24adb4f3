import LatewoodFleece
import LatewoodSimulation
import Testing

@testable import LatewoodQuery

/// Random statements, compared with a plain model of their meaning.
@Suite struct SQLRandomTests {
  /// A scalar, an array of scalars, or nothing.
  private enum Plain: Equatable {
    case missing, null
    case boolean(Bool)
    case number(Int)
    case string(String)
    case array([Plain])

    var rank: Int {
      switch self {
      case .missing: 0
      case .null: 1
      case .boolean(let value): value ? 3 : 2
      case .number: 4
      case .string: 5
      case .array: 6
      }
    }

    var json: String {
      switch self {
      case .missing, .null: "null"
      case .boolean(let value): "\(value)"
      case .number(let value): "\(value)"
      case .string(let value): "\"\(value)\""
      case .array(let values): "[" + values.map(\.json).joined(separator: ",") + "]"
      }
    }

    static func compare(_ a: Plain, _ b: Plain) -> Int {
      switch (a, b) {
      case (.number(let x), .number(let y)): return x - y
      case (.string(let x), .string(let y)): return x == y ? 0 : x < y ? -1 : 1
      case (.array(let x), .array(let y)):
        for (p, q) in zip(x, y) where compare(p, q) != 0 { return compare(p, q) }
        return x.count - y.count
      default: return a.rank - b.rank
      }
    }
  }

  private typealias Row = [String: Plain]

  /// A condition: its text and its meaning.
  private struct Condition {
    let text: String
    let answer: (Row) -> Plain
  }

  private static let fields = ["a", "b", "d"]

  private static func scalar(_ random: inout SeededRandom) -> Plain {
    switch random.below(10) {
    case 0: .null
    case 1: .boolean(random.oneIn(2))
    case 2, 3, 4: .string(random.pick(["", "x", "xy", "xyz", "y"]))
    default: .number(random.below(5))
    }
  }

  private static func row(_ random: inout SeededRandom) -> Row {
    var row: Row = [:]
    for field in fields where !random.oneIn(4) {
      row[field] =
        random.oneIn(4) ? .array((0..<random.below(4)).map { _ in scalar(&random) }) : scalar(&random)
    }
    return row
  }

  private static func known(_ values: Plain...) -> Plain? {
    values.contains(.missing) ? .missing : values.contains(.null) ? .null : nil
  }

  private static func condition(_ random: inout SeededRandom, _ depth: Int) -> Condition {
    let field = random.pick(fields)
    let value = scalar(&random)
    switch depth > 0 ? random.below(13) : random.below(9) {
    case 0, 1, 2:
      let (sign, holds) = random.pick(comparisons)
      let isMirrored = random.oneIn(3)
      return Condition(text: isMirrored ? "\(value.json) \(sign) \(field)" : "\(field) \(sign) \(value.json)")
      {
        let own = $0[field] ?? .missing
        if let unknown = known(own, value) { return unknown }
        return .boolean(holds(isMirrored ? Plain.compare(value, own) : Plain.compare(own, value)))
      }
    case 3:
      let tests: [(String, (Plain) -> Plain)] = [
        ("IS NULL", { $0 == .missing ? .missing : .boolean($0 == .null) }),
        ("IS NOT NULL", { $0 == .missing ? .missing : .boolean($0 != .null) }),
        ("IS MISSING", { .boolean($0 == .missing) }), ("IS NOT MISSING", { .boolean($0 != .missing) }),
        ("IS VALUED", { .boolean($0.rank > 1) }), ("IS NOT VALUED", { .boolean($0.rank < 2) }),
      ]
      let (text, test) = random.pick(tests)
      return Condition(text: "\(field) \(text)") { test($0[field] ?? .missing) }
    case 4:
      let (low, high) = (scalar(&random), scalar(&random))
      let isNegated = random.oneIn(2)
      return Condition(text: "\(field) \(isNegated ? "NOT " : "")BETWEEN \(low.json) AND \(high.json)") {
        let own = $0[field] ?? .missing
        let first = known(own, low) ?? .boolean(Plain.compare(own, low) >= 0)
        let second = known(own, high) ?? .boolean(Plain.compare(own, high) <= 0)
        let both = all([first, second])
        return isNegated ? not(both) : both
      }
    case 5:
      let list = (0..<random.below(4)).map { _ in scalar(&random) }
      let isNegated = random.oneIn(2)
      let text = "[" + list.map(\.json).joined(separator: ", ") + "]"
      return Condition(text: "\(field) \(isNegated ? "NOT " : "")IN \(text)") {
        let own = $0[field] ?? .missing
        if let unknown = known(own) { return unknown }
        let found: Plain =
          list.contains(own) ? .boolean(true) : list.contains(.null) ? .null : .boolean(false)
        return isNegated ? not(found) : found
      }
    case 6:
      let prefix = random.pick(["", "x", "xy"])
      let form = random.below(3)
      return Condition(text: "\(field) LIKE '\(prefix)\(["%", "", "%z"][form])'") {
        let own = $0[field] ?? .missing
        guard case .string(let text) = own else { return own == .missing ? .missing : .null }
        switch form {
        case 0: return .boolean(text.hasPrefix(prefix))
        case 1: return .boolean(text == prefix)
        default: return .boolean(text.hasPrefix(prefix) && text.hasSuffix("z"))
        }
      }
    case 7:
      return Condition(text: "\(value.json) IN \(field)") {
        let own = $0[field] ?? .missing
        if own == .missing { return .missing }
        guard case .array(let elements) = own, value != .null else { return .null }
        return elements.contains(value) ? .boolean(true) : elements.contains(.null) ? .null : .boolean(false)
      }
    case 8:
      let (sign, holds) = random.pick(comparisons)
      let kind = random.pick(["ANY", "EVERY", "ANY AND EVERY"])
      return Condition(text: "\(kind) x IN \(field) SATISFIES x \(sign) \(value.json) END") {
        let own = $0[field] ?? .missing
        if own == .missing { return .missing }
        guard case .array(let elements) = own else { return .null }
        let met = elements.map { known($0, value) == nil && holds(Plain.compare($0, value)) }
        let isEvery = !met.contains(false) && (kind == "EVERY" || !met.isEmpty)
        return .boolean(kind == "ANY" ? met.contains(true) : isEvery)
      }
    case 9:
      let inner = condition(&random, depth - 1)
      return Condition(text: "NOT (\(inner.text))") { not(inner.answer($0)) }
    default:
      let parts = (0..<2 + random.below(2)).map { _ in condition(&random, depth - 1) }
      let isAll = random.oneIn(2)
      return Condition(text: parts.map { "(\($0.text))" }.joined(separator: isAll ? " AND " : " OR ")) {
        row in
        let answers = parts.map { $0.answer(row) }
        return isAll ? all(answers) : not(all(answers.map(not), orElse: true))
      }
    }
  }

  private static let comparisons: [(String, @Sendable (Int) -> Bool)] = [
    ("<", { $0 < 0 }), ("<=", { $0 <= 0 }), ("=", { $0 == 0 }), ("!=", { $0 != 0 }), (">=", { $0 >= 0 }),
    (">", { $0 > 0 }),
  ]

  private static func not(_ value: Plain) -> Plain {
    if case .boolean(let answer) = value { return .boolean(!answer) }
    return value
  }

  /// - Parameter orElse: whether it is an OR, which prefers null to missing.
  private static func all(_ values: [Plain], orElse: Bool = false) -> Plain {
    if values.contains(.boolean(false)) { return .boolean(false) }
    for unknown in orElse ? [Plain.null, .missing] : [.missing, .null] where values.contains(unknown) {
      return unknown
    }
    return .boolean(true)
  }

  @Test func `random statements agree with a plain model`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    for _ in 0..<400 {
      let rows = (0..<12).map { _ in Self.row(&random) }
      let texts = rows.map { row in
        "{" + row.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value.json)" }.joined(separator: ",")
          + "}"
      }
      let bench = try SQLBench(texts)
      let condition = Self.condition(&random, 2)
      let found = rows.indices.filter { condition.answer(rows[$0]) == .boolean(true) }
      let (field, isDescending) = (random.pick(Self.fields), random.oneIn(2))
      let (skip, limit) = (random.below(4), random.below(8))
      let window = " LIMIT \(limit) OFFSET \(skip)"
      let order = "ORDER BY \(field)\(isDescending ? " DESC" : "")"
      let sorted = found.sorted { left, right in
        let result = Plain.compare(rows[left][field] ?? .missing, rows[right][field] ?? .missing)
        return result == 0 ? left < right : isDescending ? result > 0 : result < 0
      }
      let note = Comment(rawValue: "\(condition.text) \(order) \(window) \(texts) \(random.replay)")
      let id = { (index: Int) in "{\"id\":\"\(String(UnicodeScalar(UInt8(ascii: "a") + UInt8(index))))\"}" }
      let head = "SELECT meta().id FROM c WHERE \(condition.text)"
      #expect(try bench.rows(head) == found.map(id), note)
      #expect(try bench.rows("\(head) \(window)") == found.dropFirst(skip).prefix(limit).map(id), note)
      #expect(try bench.rows("\(head) \(order)") == sorted.map(id), note)
      #expect(
        try bench.rows("\(head) \(order) \(window)") == sorted.dropFirst(skip).prefix(limit).map(id), note)
      // The same as a filter that no predicate can express.
      let hidden =
        "SELECT meta().id FROM c WHERE IFMISSINGORNULL(\(condition.text), false) \(order) \(window)"
      #expect(try bench.rows(hidden) == sorted.dropFirst(skip).prefix(limit).map(id), note)
      let groups = Dictionary(grouping: found) {
        (rows[$0][field] ?? .missing).json + "\(rows[$0][field] == nil)"
      }
      let counts = try bench.rows(
        "SELECT COUNT(*) AS n FROM c WHERE \(condition.text) GROUP BY \(field) ORDER BY n")
      #expect(counts == groups.values.map(\.count).sorted().map { "{\"n\":\($0)}" }, note)
      let distinct = try bench.rows("SELECT DISTINCT \(field) FROM c WHERE \(condition.text)")
      #expect(distinct.count == groups.count, note)
      let whole = found.reduce(0) { if case .number(let n)? = rows[$1][field] { $0 + n } else { $0 } }
      let sum = try bench.rows("SELECT SUM(\(field)) AS s FROM c WHERE \(condition.text)")
      let hasNumber = found.contains { if case .number? = rows[$0][field] { true } else { false } }
      #expect(sum == ["{\"s\":\(hasNumber ? "\(whole)" : "null")}"], note)
    }
  }
}
