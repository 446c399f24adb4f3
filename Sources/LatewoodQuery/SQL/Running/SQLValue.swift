import LatewoodBytes
import LatewoodFleece

/// A value during the execution of a statement: an independent value, or a value inside a document,
/// which is valid only during the call that provided the document.
enum SQLValue {
  case literal(SQLLiteral)
  /// Data, an array or an object.
  case stored(FleeceValue)

  static var missing: SQLValue { .literal(.missing) }
  static var null: SQLValue { .literal(.null) }

  static func boolean(_ value: Bool) -> SQLValue { .literal(.boolean(value)) }

  /// - Parameter value: nil for a missing member.
  init(_ value: FleeceValue?) throws(FleeceError) {
    switch value?.kind {
    case .data, .array, .dictionary: self = value.map { .stored($0) } ?? .missing
    default: self = .literal(try SQLLiteral(value))
    }
  }

  /// Returns the value in an independent form.
  func literal() throws(FleeceError) -> SQLLiteral {
    switch self {
    case .literal(let literal): literal
    case .stored(let value): try SQLLiteral(value)
    }
  }

  var isMissing: Bool { if case .literal(.missing) = self { true } else { false } }
  var isNull: Bool { if case .literal(.null) = self { true } else { false } }
  var isValued: Bool { !isMissing && !isNull }

  var number: FleeceValue.Number? { if case .literal(.number(let number)) = self { number } else { nil } }
  var string: String? { if case .literal(.string(let string)) = self { string } else { nil } }
  var boolean: Bool? { if case .literal(.boolean(let boolean)) = self { boolean } else { nil } }

  /// The approximate number of bytes to visit in the value.
  var size: Int {
    switch self {
    case .literal(.string(let string)): string.utf8.count
    case .literal(.element(let element)): element.body.bytes.count
    case .literal: 1
    // Its visits are counted elsewhere.
    case .stored: 1
    }
  }

  /// An independent collection or data; nil for other values.
  var element: FleeceElement? { if case .literal(.element(let element)) = self { element } else { nil } }

  // MARK: Collections

  /// Calls `body` with data, an array or an object; returns nil for all other values.
  func withCollection<R>(
    _ body: (FleeceValue) throws(FleeceError) -> R
  ) throws(FleeceError) -> R? {
    switch self {
    case .stored(let value): try body(value)
    case .literal(.element(let element)): try element.withValue(body)
    case .literal: nil
    }
  }

  /// Returns the type; missing and null are separate types.
  func tag() throws(FleeceError) -> CollationTag {
    switch self {
    case .literal(.missing): .missing
    case .literal(.null): .null
    case .literal(.boolean(let value)): value ? .yes : .no
    case .literal(.number): .number
    case .literal(.string): .string
    case .literal(.element), .stored: try withCollection { CollationTag($0) } ?? .null
    }
  }

  /// Returns the number of elements of an array; nil for all other values.
  func elementCount() throws(FleeceError) -> Int? {
    try withCollection { value throws(FleeceError) in try value.array()?.count } ?? nil
  }

  /// Returns the element at an index, which counts from the end if negative; missing if there is
  /// none.
  func element(at index: Int64) throws(FleeceError) -> SQLValue {
    guard let count = try elementCount() else { return .missing }
    let place = index < 0 ? index + Int64(count) : index
    guard place >= 0, place < Int64(count) else { return .missing }
    switch self {
    case .stored(let value): return try SQLValue(value.array()?.value(at: Int(place)))
    case .literal(.element(let element)):
      guard let found = try element.element(at: Int(place)) else { return .missing }
      return .literal(try SQLLiteral(found))
    case .literal: return .missing
    }
  }

  /// Returns the member that a step names; missing if there is none.
  func member(_ step: FieldPath.Step) throws(FleeceError) -> SQLValue {
    switch self {
    case .stored(let value): return try SQLValue(value.dictionary()?.value(for: step))
    case .literal(.element(let element)):
      guard let found = try element.element(for: step.name) else { return .missing }
      return .literal(try SQLLiteral(found))
    case .literal: return .missing
    }
  }

  func follow(_ steps: [SQLStep]) throws(FleeceError) -> SQLValue {
    var value = self
    for step in steps {
      switch step {
      case .member(let name): value = try value.member(name)
      case .element(let index): value = try value.element(at: index)
      }
      if value.isMissing { break }
    }
    return value
  }

  // MARK: Order

  /// Compares two values in the order of all values. Returns a number less than, equal to or
  /// greater than zero, and the number of compared bytes.
  static func compare(
    _ left: SQLValue, _ right: SQLValue
  ) throws(FleeceError) -> (order: Int, work: Int) {
    if let a = left.number, let b = right.number {
      let (a, b) = (NumberKey(a), NumberKey(b))
      return (a == b ? 0 : a < b ? -1 : 1, 1)
    }
    if let a = left.string, let b = right.string {
      return (SQLText.compare(a, b), min(a.utf8.count, b.utf8.count))
    }
    let (a, b) = (try left.tag(), try right.tag())
    if a != b { return (a < b ? -1 : 1, 1) }
    switch a {
    case .data, .array, .object:
      var (x, y) = (CollationKey(), CollationKey())
      try left.append(to: &x)
      try right.append(to: &y)
      let order = x.bytes == y.bytes ? 0 : x.bytes.lexicographicallyPrecedes(y.bytes) ? -1 : 1
      return (order, x.bytes.count + y.bytes.count)
    default: return (0, 1)
    }
  }

  func append(to key: inout CollationKey) throws(FleeceError) {
    switch self {
    case .literal(let literal): try literal.append(to: &key)
    case .stored(let value): try key.append(value)
    }
  }

  func write(to writer: inout FleeceWriter) throws(FleeceError) {
    switch self {
    case .literal(let literal): try literal.write(to: &writer)
    case .stored(let value): try writer.value(value)
    }
  }
}

/// A step of a path in a statement. Unlike in a `FieldPath`, a name never refers to an element, nor
/// an index to a member.
enum SQLStep: Sendable, Equatable {
  case member(FieldPath.Step)
  /// An index, which counts from the end if negative.
  case element(Int64)
}

/// The interface through which a statement reads a document.
package protocol SQLDocument {
  var body: FleeceValue { get }
  func fact(_ fact: SQLFact) -> SQLLiteral
}

/// The members of `meta()`.
package enum SQLFact: String, Sendable, CaseIterable {
  case id, sequence
  /// The expiry of the document, in milliseconds since 1970; null for never.
  case expiration
  /// The same in seconds.
  case expirationSeconds
  case revisionID
}

/// The words of documents, according to full-text indexes.
package protocol SQLWords {
  /// Returns the value of MATCH, RANK or SNIPPET for a document.
  func value(_ use: SQLWordUse, of document: any SQLDocument) throws -> SQLLiteral
}
