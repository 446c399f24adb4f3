import LatewoodSimulation

@testable import LatewoodFleece

/// A minimal JSON value, which random tests generate and compare with.
indirect enum PlainValue {
  case null
  case boolean(Bool)
  case integer(Int64)
  case unsigned(UInt64)
  case double(Double)
  case string(String)
  case array([PlainValue])
  case object([String: PlainValue])

  static func random(_ random: inout SeededRandom, depth: Int = 0) -> PlainValue {
    switch random.below(depth > 5 ? 8 : 12) {
    case 0: return .null
    case 1: return .boolean(random.oneIn(2))
    case 2: return .integer(Int64(random.below(10_000)) - 5000)
    case 3: return .integer(Int64(bitPattern: random.next()) >> Int64(random.below(64)))
    case 4:
      return .unsigned(random.next() | 1 << 63)
    case 5: return .double(Double(random.below(2_000_000) - 1_000_000) / Double(1 + random.below(1000)) + 0.1)
    case 6, 7: return .string(string(&random))
    case 8, 9:
      let count = random.oneIn(30) ? random.below(3000) : random.below(8)
      return .array((0..<count).map { _ in .random(&random, depth: count > 8 ? 9 : depth + 1) })
    default:
      var members: [String: PlainValue] = [:]
      let count = random.oneIn(30) ? random.below(300) : random.below(8)
      for _ in 0..<count {
        members[string(&random)] = .random(&random, depth: count > 8 ? 9 : depth + 1)
      }
      return .object(members)
    }
  }

  private static func string(_ random: inout SeededRandom) -> String {
    let parts = [
      "a", "b", "key", "é", "日本", "👋🏽", "\"", "\\", "\n", "\u{1}", "/", "\u{7F}", "longer text ", "\u{FFFF}",
    ]
    return (0..<random.below(random.oneIn(20) ? 60 : 5)).map { _ in random.pick(parts) }.joined()
  }

  /// The canonical text, made without any code of the module.
  var text: String {
    switch self {
    case .null: return "null"
    case .boolean(let value): return "\(value)"
    case .integer(let value): return "\(value)"
    case .unsigned(let value): return "\(value)"
    case .double(let value):
      return value.rounded() == value && abs(value) < 1e15 ? "\(Int64(value))" : "\(value)"
    case .string(let value): return PlainValue.quoted(value)
    case .array(let values): return "[" + values.map(\.text).joined(separator: ",") + "]"
    case .object(let members):
      let sorted = members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
      return "{" + sorted.map { PlainValue.quoted($0.key) + ":" + $0.value.text }.joined(separator: ",") + "}"
    }
  }

  private static func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": quoted += "\\\""
      case "\\": quoted += "\\\\"
      case "\n": quoted += "\\n"
      case "\u{1}": quoted += "\\u0001"
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }

  /// Returns the same value in another spelling: members in any order, some repeated, white space,
  /// unnecessary escapes.
  func disguised(_ random: inout SeededRandom) -> String {
    func space(_ random: inout SeededRandom) -> String {
      random.oneIn(3) ? random.pick([" ", "\n", "\t", "\r\n", "          "]) : ""
    }
    switch self {
    case .string(let value): return PlainValue.escaped(value, &random)
    case .array(let values):
      let parts = values.map { space(&random) + $0.disguised(&random) + space(&random) }
      return "[" + parts.joined(separator: ",") + space(&random) + "]"
    case .object(let members):
      var parts: [String] = []
      for (key, value) in members.shuffled(using: &random) {
        if random.oneIn(10) { parts.append(PlainValue.escaped(key, &random) + ":[1,\"gone\"]") }
        parts.append(
          space(&random) + PlainValue.escaped(key, &random) + space(&random) + ":" + space(&random)
            + value.disguised(&random))
      }
      return "{" + parts.joined(separator: ",") + space(&random) + "}"
    default: return text
    }
  }

  private static func escaped(_ text: String, _ random: inout SeededRandom) -> String {
    guard random.oneIn(3) else { return quoted(text) }
    var escaped = "\""
    for unit in text.utf16 {
      let digits = String(unit, radix: 16, uppercase: random.oneIn(2))
      escaped += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }
    return escaped + "\""
  }
}
