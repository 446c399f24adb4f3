import LatewoodFleece

/// A value other than data, an array or an object. As in queries, 1 and 1.0 are the same.
package enum ScalarValue: Sendable {
  case missing, null
  case boolean(Bool)
  case number(FleeceValue.Number)
  case string(String)

  /// Creates the scalar of a value. Returns nil for data, arrays and objects.
  ///
  /// - Parameter value: the value; nil for a missing member.
  package init?(_ value: FleeceValue?) throws(FleeceError) {
    switch CollationTag(value) {
    case .missing: self = .missing
    case .null: self = .null
    case .no: self = .boolean(false)
    case .yes: self = .boolean(true)
    case .number:
      guard let number = try value?.number() else { return nil }
      self = .number(number)
    case .string:
      guard let text = try value?.text() else { return nil }
      self = .string(String(decoding: text, as: UTF8.self))
    case .data, .array, .object: return nil
    }
  }
}
