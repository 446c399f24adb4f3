/// A form in which a special type can be stored.
package enum FleeceScalar: Sendable, Equatable {
  case string(String)
  case data([UInt8])
  case integer(Int64)
  case double(Double)
}

/// The types that have a special form in Fleece: dates, binary data, and others that a higher layer
/// handles itself.
///
/// It is called for every value that is not a number, string or Boolean, so it should decide by
/// comparing types (`T.self == Date.self`).
package protocol FleeceSpecialTypes: Sendable {
  /// Returns the form in which to store a value; nil if its type is not special. Throws if the
  /// value cannot be stored.
  func scalar<T: Encodable>(for value: T) throws(FleeceError) -> FleeceScalar?
  /// Returns whether `value(_:from:)` can create values of a type.
  func isSpecial<T: Decodable>(_ type: T.Type) -> Bool
  /// Returns the value that was stored; nil if the element does not contain a value of the type.
  func value<T: Decodable>(_ type: T.Type, from element: FleeceElement) throws(FleeceError) -> T?
}

/// Treats no type as special.
package struct NoSpecialTypes: FleeceSpecialTypes {
  package init() {}
  package func scalar<T: Encodable>(for value: T) -> FleeceScalar? { nil }
  package func isSpecial<T: Decodable>(_ type: T.Type) -> Bool { false }
  package func value<T: Decodable>(_ type: T.Type, from element: FleeceElement) -> T? { nil }
}

/// Values whose type is known under another name, as in generic code that has compared types.
package enum SameType {
  /// Returns a value as its type. `as?` takes many times as long.
  @inlinable @inline(__always) package static func cast<Value, T>(_ value: Value, to type: T.Type) -> T {
    precondition(Value.self == type)
    // SAFETY: both types are the same.
    return unsafeBitCast(value, to: type)
  }
}
