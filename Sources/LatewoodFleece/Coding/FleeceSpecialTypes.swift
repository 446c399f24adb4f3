/// What a type may become that does not encode itself.
package enum FleeceScalar: Sendable, Equatable {
  case string(String)
  case data([UInt8])
  case integer(Int64)
  case double(Double)
}

/// Types that have a form of their own in Fleece: dates, binary data and what else a layer above
/// wants to treat as it likes.
///
/// It is asked for every value that is no number, string or Boolean, so it should decide by
/// comparing types (`T.self == Date.self`).
package protocol FleeceSpecialTypes: Sendable {
  /// What to store for a value; nil if its type is nothing special. Throws if the value cannot be
  /// stored.
  func scalar<T: Encodable>(for value: T) throws(FleeceError) -> FleeceScalar?
  /// Whether `value(_:from:)` makes values of a type.
  func isSpecial<T: Decodable>(_ type: T.Type) -> Bool
  /// The value that was stored; nil if what is stored cannot be one.
  func value<T: Decodable>(_ type: T.Type, from element: FleeceElement) throws(FleeceError) -> T?
}

/// No type is special.
package struct NoSpecialTypes: FleeceSpecialTypes {
  package init() {}
  package func scalar<T: Encodable>(for value: T) -> FleeceScalar? { nil }
  package func isSpecial<T: Decodable>(_ type: T.Type) -> Bool { false }
  package func value<T: Decodable>(_ type: T.Type, from element: FleeceElement) -> T? { nil }
}
