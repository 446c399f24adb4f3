import LatewoodFleece

/// A path into a document: the name of a member, or the index of an element, for each level.
///
/// ```
/// address.city      the member `city` of the member `address`
/// phones.0          the first element of `phones`; `phones[0]` is the same
/// a\.b              the member with a dot in its name
/// ```
package struct FieldPath: Sendable, Hashable {
  /// The maximum number of levels in a path. Documents are never deeper.
  package static let depthLimit = FleeceLimits.depth

  package struct Step: Sendable, Hashable {
    let key: FleeceName
    /// The name as an index into an array; nil if it is not a number.
    package let index: Int?

    package init(_ name: String) {
      key = FleeceName(name)
      index = Step.isNumber(key) ? Int(name) : nil
    }

    package var name: String { key.text }

    /// Whether the name begins with an underscore.
    package var isReserved: Bool { key.first == UInt8(ascii: "_") }

    private static func isNumber(_ name: FleeceName) -> Bool {
      let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
      return digits ~= name.first && name.text.utf8.allSatisfy { digits.contains($0) }
    }

    /// Whether the names have the same bytes.
    package static func == (left: Step, right: Step) -> Bool { left.key == right.key }

    package func hash(into hasher: inout Hasher) { hasher.combine(key) }
  }

  package var steps: [Step]

  /// The path of the value itself.
  package static let root = FieldPath(steps: [])

  package init(steps: [Step]) { self.steps = steps }
  package init(_ names: String...) { steps = names.map { Step($0) } }
  package init(_ name: String) { steps = [Step(name)] }

  /// Parses a path. Throws an error with the position of an empty name or an unclosed bracket.
  package init(parsing text: String) throws(QueryError) {
    var parser = FieldPathParser(text)
    steps = try parser.run()
  }

  /// The text form, which `init(parsing:)` parses.
  package var text: String {
    steps.map {
      $0.name.replacing("\\", with: "\\\\").replacing(".", with: "\\.").replacing("[", with: "\\[")
    }
    .joined(separator: ".")
  }

  func appending(_ path: FieldPath) -> FieldPath { FieldPath(steps: steps + path.steps) }
}

/// The result of following a path.
package enum Lookup {
  case value(FleeceValue)
  /// An object on the path lacks the member.
  case missing
  /// A value on the path has no members, or an array lacks the element.
  case blocked

  package var value: FleeceValue? {
    if case .value(let value) = self { return value }
    return nil
  }
}

extension FieldPath {
  /// Follows the path into a value.
  package func lookup(in root: FleeceValue) throws(FleeceError) -> Lookup {
    var value = root
    let steps = steps.span
    for place in steps.indices {
      if let object = try value.dictionary() {
        guard let member = try object.value(for: steps[place].key) else { return .missing }
        value = member
      } else if let array = try value.array(), let index = steps[place].index, index < array.count {
        value = try array.value(at: index)
      } else {
        return .blocked
      }
    }
    return .value(value)
  }
}

extension FleeceDictionary {
  /// Returns the value of the member that a step names.
  func value(for step: FieldPath.Step) throws(FleeceError) -> FleeceValue? { try value(for: step.key) }
}

/// Parses the text of a path.
private struct FieldPathParser {
  private let text: String
  private let scalars: [Unicode.Scalar]
  private var at = 0
  private var steps: [FieldPath.Step] = []

  init(_ text: String) {
    self.text = text
    scalars = Array(text.unicodeScalars)
  }

  mutating func run() throws(QueryError) -> [FieldPath.Step] {
    while true {
      try takeName()
      while at < scalars.count, scalars[at] == "[" { try takeIndex() }
      if at == scalars.count { return steps }
      guard scalars[at] == "." else { throw refusal("a dot must separate two names") }
      at += 1
    }
  }

  private mutating func takeName() throws(QueryError) {
    let start = at
    var name = String.UnicodeScalarView()
    while at < scalars.count, scalars[at] != ".", scalars[at] != "[" {
      if scalars[at] == "\\", at + 1 < scalars.count { at += 1 }
      name.append(scalars[at])
      at += 1
    }
    guard at > start else { throw refusal("a name is empty") }
    try add(String(name))
  }

  private mutating func takeIndex() throws(QueryError) {
    at += 1
    var digits = String.UnicodeScalarView()
    while at < scalars.count, ("0"..."9").contains(scalars[at]) {
      digits.append(scalars[at])
      at += 1
    }
    guard !digits.isEmpty, at < scalars.count, scalars[at] == "]" else {
      throw refusal("an index must be a number in brackets, such as [0]")
    }
    at += 1
    try add(String(digits))
  }

  private mutating func add(_ name: String) throws(QueryError) {
    guard steps.count < FieldPath.depthLimit else { throw refusal("the path has too many levels") }
    steps.append(FieldPath.Step(name))
  }

  private func refusal(_ reason: String) -> QueryError {
    QueryError(.invalidPath, "\(reason), at character \(at + 1) of the path \"\(text)\"")
  }
}
