/// A strict schema for JSON output of the tool: a missing or unknown member does not fit.
///
/// A shape is written in JSON itself. `"text"`, `"number"`, `"boolean"`, `"null"` and `"any"` stand
/// for values of that kind; `"=a|b"` for one of these texts; `[X]` for an array of X; `{"|": [X,
/// Y]}` for one of several shapes. Any other object stands for an object with exactly these
/// members; a name that ends in `?` is optional.
struct JSONShape {
  let tree: JSONTree

  /// Returns the path at which `value` does not fit, and the reason; nil if it fits.
  func fault(in value: JSONTree) -> String? { Self.fault(in: value, against: tree, at: "$") }

  private static func fault(in value: JSONTree, against shape: JSONTree, at path: String) -> String? {
    switch shape {
    case .text(let word): return fits(value, word) ? nil : "\(path) is \(value.kind), not \(word)"
    case .array(let shapes):
      guard case .array(let elements) = value, shapes.count == 1 else {
        return "\(path) is \(value.kind), not an array"
      }
      return elements.enumerated().lazy.compactMap {
        fault(in: $0.element, against: shapes[0], at: "\(path)[\($0.offset)]")
      }.first
    case .object(let members):
      if members.count == 1, case .array(let choices)? = members["|"] {
        let faults = choices.map { fault(in: value, against: $0, at: path) }
        return faults.contains { $0 == nil } ? nil : faults.compactMap { $0 }.joined(separator: "; ")
      }
      guard case .object(let found) = value else { return "\(path) is \(value.kind), not an object" }
      return fault(in: found, againstMembers: members, at: path)
    case .number, .boolean, .null: return "the shape has a \(shape.kind) at \(path)"
    }
  }

  private static func fault(
    in found: [String: JSONTree], againstMembers members: [String: JSONTree], at path: String
  ) -> String? {
    var known: Set<String> = []
    for (name, shape) in members.sorted(by: { $0.key < $1.key }) {
      let isOptional = name.hasSuffix("?")
      let name = isOptional ? String(name.dropLast()) : name
      known.insert(name)
      guard let member = found[name] else {
        if isOptional { continue }
        return "\(path).\(name) is missing"
      }
      if let fault = fault(in: member, against: shape, at: "\(path).\(name)") { return fault }
    }
    return Set(found.keys).subtracting(known).sorted().first.map { "\(path).\($0) is not known" }
  }

  private static func fits(_ value: JSONTree, _ word: String) -> Bool {
    if word.hasPrefix("="), case .text(let text) = value {
      return word.dropFirst().split(separator: "|").contains { $0 == text }
    }
    return word == "any" || word == value.kind
  }
}

/// A parsed JSON text.
enum JSONTree: Decodable, Equatable {
  case null
  case boolean(Bool)
  case number(Double)
  case text(String)
  case array([JSONTree])
  case object([String: JSONTree])

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .boolean(value)
    } else if let value = try? container.decode(Double.self) {
      self = .number(value)
    } else if let value = try? container.decode(String.self) {
      self = .text(value)
    } else if let value = try? container.decode([JSONTree].self) {
      self = .array(value)
    } else {
      self = .object(try container.decode([String: JSONTree].self))
    }
  }

  var kind: String {
    switch self {
    case .null: "null"
    case .boolean: "boolean"
    case .number: "number"
    case .text: "text"
    case .array: "array"
    case .object: "object"
    }
  }
}
