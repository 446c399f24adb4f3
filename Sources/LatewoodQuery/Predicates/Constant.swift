import LatewoodBytes
import LatewoodFleece

/// A value to compare with, prepared so that most comparisons examine only a few bytes.
package struct Constant: Sendable {
  private enum Value: Sendable {
    case element(FleeceElement)
    case boolean(Bool)
    case integer(Int64)
    case string(String)
  }

  private let value: Value
  let tag: CollationTag
  /// The collation key of the value.
  package let key: [UInt8]
  private let number: NumberKey?
  private let counted: [UInt8]

  /// Creates a constant. Throws like `CollationKey.append`.
  package init(_ element: FleeceElement) throws(FleeceError) {
    value = .element(element)
    var key = CollationKey()
    (tag, number, counted) = try element.withValue { value throws(FleeceError) in
      try key.append(value)
      let bytes = value.kind == .data ? try value.data() : try value.text()
      return (CollationTag(value), try value.number().map { NumberKey($0) }, bytes.map { Array($0) } ?? [])
    }
    self.key = key.bytes
  }

  package init(_ integer: Int64) {
    value = .integer(integer)
    tag = .number
    number = NumberKey(.integer(integer))
    counted = []
    var key = CollationKey()
    key.integer(integer)
    self.key = key.bytes
  }

  package init(_ boolean: Bool) {
    value = .boolean(boolean)
    tag = boolean ? .yes : .no
    number = nil
    counted = []
    key = [tag.rawValue]
  }

  package init(_ string: String) {
    value = .string(string)
    tag = .string
    number = nil
    counted = Array(string.utf8)
    var key = CollationKey()
    counted.withUnsafeBytes { key.text($0) }
    self.key = key.bytes
  }

  /// Writes the value as Fleece.
  func write(to writer: inout FleeceWriter) throws(FleeceError) {
    switch value {
    case .element(let element): try element.write(to: &writer)
    case .boolean(let boolean): try writer.boolean(boolean)
    case .integer(let integer): try writer.integer(integer)
    case .string(let string): try writer.string(string)
    }
  }

  package var isNull: Bool { tag == .null }

  /// Whether the value is less than all strings.
  package var isBeforeStrings: Bool { tag < .string }

  /// The UTF-8 of a string; nil for all other values.
  package var text: [UInt8]? { tag == .string ? counted : nil }

  /// Creates a constant from the root of encoded Fleece.
  package init(fleece: [UInt8]) throws(FleeceError) { try self.init(FleeceBody(fleece).root) }

  /// Returns a number less than, equal to or greater than zero if `value` is less than, equal to or
  /// greater than this constant.
  package func compare(_ value: FleeceValue) throws(FleeceError) -> Int {
    let other = CollationTag(value)
    if other != tag { return other < tag ? -1 : 1 }
    switch tag {
    case .missing, .null, .no, .yes: return 0
    case .number:
      guard let number, let other = try value.number().map({ NumberKey($0) }) else { return 0 }
      return other == number ? 0 : other < number ? -1 : 1
    case .string: return try compare(bytes: value.text())
    case .data: return try compare(bytes: value.data())
    case .array, .object:
      var other = CollationKey()
      try other.append(value)
      return Constant.order(other.bytes, key)
    }
  }

  func isEqual(_ value: FleeceValue) throws(FleeceError) -> Bool { try compare(value) == 0 }

  private func compare(bytes: UnsafeRawBufferPointer?) -> Int {
    guard let bytes else { return 0 }
    return counted.withUnsafeBytes { own in Constant.order(bytes, own) }
  }

  /// Returns the order of two keys: a number less than, equal to or greater than zero.
  static func order(_ left: [UInt8], _ right: [UInt8]) -> Int {
    left.withUnsafeBytes { left in right.withUnsafeBytes { right in order(left, right) } }
  }

  private static func order(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
    guard let first = left.baseAddress, let second = right.baseAddress else {
      return left.count - right.count
    }
    // SAFETY: the passed lengths are the lengths of the buffers.
    return KeyOrder.compare(first, left.count, second, right.count)
  }

  /// Returns whether a string begins with this string.
  func begins(_ value: FleeceValue) throws(FleeceError) -> Bool {
    guard tag == .string, let other = try value.text() else { return false }
    return other.prefix(counted.count).elementsEqual(counted)
  }
}
