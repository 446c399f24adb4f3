import LatewoodBytes
import LatewoodFleece

/// An independent value: a constant of the statement, or a copy that outlives its document.
package enum SQLLiteral: Sendable {
  case missing, null
  case boolean(Bool)
  case number(FleeceValue.Number)
  case string(String)
  /// Data, an array or an object.
  case element(FleeceElement)

  static func integer(_ value: Int) -> SQLLiteral { .number(.integer(Int64(value))) }

  /// Returns the result of a calculation; null if it is not finite.
  static func double(_ value: Double) -> SQLLiteral { value.isFinite ? .number(.double(value)) : .null }

  /// Copies a value; nil becomes missing.
  package init(_ value: FleeceValue?) throws(FleeceError) {
    guard let value else {
      self = .missing
      return
    }
    switch value.kind {
    case .null, .undefined: self = .null
    case .boolean: self = .boolean(value.boolean == true)
    case .integer, .double: self = try value.number().map { .number($0) } ?? .null
    case .string: self = try value.string().map { .string($0) } ?? .null
    case .data, .array, .dictionary:
      var writer = FleeceWriter()
      try writer.value(value)
      self = .element(try FleeceBody(written: try writer.finish()).root)
    }
  }

  /// Creates the value of an element without copying it.
  package init(_ element: FleeceElement) throws(FleeceError) {
    switch try element.kind {
    case .data, .array, .dictionary: self = .element(element)
    default: self = try element.withValue { value throws(FleeceError) in try SQLLiteral(value) }
    }
  }

  func write(to writer: inout FleeceWriter) throws(FleeceError) {
    switch self {
    case .missing, .null: try writer.null()
    case .boolean(let value): try writer.boolean(value)
    case .number(.integer(let value)): try writer.integer(value)
    case .number(.unsigned(let value)): try writer.unsigned(value)
    case .number(.double(let value)): try writer.double(value)
    case .string(let value): try writer.string(value)
    case .element(let element): try element.write(to: &writer)
    }
  }

  func append(to key: inout CollationKey) throws(FleeceError) {
    switch self {
    case .missing: try key.append(nil)
    case .null: key.null()
    case .boolean(let value): key.boolean(value)
    case .number(.integer(let value)): key.integer(value)
    case .number(.unsigned(let value)): key.unsigned(value)
    case .number(.double(let value)): key.double(value)
    case .string(var value): value.withUTF8 { key.text(UnsafeRawBufferPointer($0)) }
    case .element(let element):
      try element.withValue { value throws(FleeceError) in try key.append(value) }
    }
  }
}

extension SQLLiteral: Equatable {
  /// Whether two values are indistinguishable. 1 and 1.0 are not equal, because they divide
  /// differently.
  package static func == (left: SQLLiteral, right: SQLLiteral) -> Bool {
    switch (left, right) {
    case (.missing, .missing), (.null, .null): return true
    case (.boolean(let a), .boolean(let b)): return a == b
    case (.number(let a), .number(let b)): return a == b
    case (.string(let a), .string(let b)): return SQLText.compare(a, b) == 0
    case (.element, .element):
      do throws(FleeceError) {
        return try SQLValue.compare(.literal(left), .literal(right)).order == 0
      } catch {
        return false
      }
    default: return false
    }
  }
}
