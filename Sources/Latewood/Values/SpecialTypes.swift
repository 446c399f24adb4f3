import LatewoodFleece

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Stores Foundation types inside an `Encodable` value in the form that documents use: a `Date` as
/// ISO 8601 text, `Data` as binary data, a `URL` and a `UUID` as text, a `Decimal` as a number if
/// that is exact.
struct SpecialTypes: FleeceSpecialTypes {
  func scalar<T: Encodable>(for value: T) throws(FleeceError) -> FleeceScalar? {
    if T.self == Date.self {
      guard let text = Timestamp.text(SameType.cast(value, to: Date.self)) else {
        throw FleeceError(.misuse, Timestamp.rangeFault)
      }
      return .string(text)
    }
    if T.self == Data.self { return .data(Array(SameType.cast(value, to: Data.self))) }
    if T.self == URL.self { return .string(SameType.cast(value, to: URL.self).absoluteString) }
    if T.self == UUID.self { return .string(SameType.cast(value, to: UUID.self).uuidString) }
    if T.self == Decimal.self {
      let decimal = SameType.cast(value, to: Decimal.self)
      switch DecimalText.content(of: decimal) {
      case .integer(let integer): return .integer(integer)
      case .double(let double): return .double(double)
      case .string(let text): return .string(text)
      default: throw FleeceError(.misuse, DecimalText.refusal)
      }
    }
    return nil
  }

  func isSpecial<T: Decodable>(_ type: T.Type) -> Bool {
    T.self == Date.self || T.self == Data.self || T.self == URL.self || T.self == UUID.self
      || T.self == Decimal.self
  }

  func value<T: Decodable>(_ type: T.Type, from element: FleeceElement) throws(FleeceError) -> T? {
    if T.self == Date.self {
      let date = try element.withValue { (value) throws(FleeceError) -> Date? in
        try value.text().flatMap { Timestamp.date($0) }
      }
      return date.map { SameType.cast($0, to: type) }
    }
    if T.self == Data.self {
      if let bytes = try element.data() { return SameType.cast(Data(bytes), to: type) }
      // A document that has been converted to JSON and back has base64 text in place of data.
      guard let text = try element.string() else { return nil }
      return Base64.decode(text.utf8).map { SameType.cast(Data($0), to: type) }
    }
    if T.self == Decimal.self {
      return DecimalText.decimal(DocumentValue(stored: element)).map { SameType.cast($0, to: type) }
    }
    guard let text = try element.string() else { return nil }
    if T.self == UUID.self { return UUID(uuidString: text).map { SameType.cast($0, to: type) } }
    return URL(string: text).map { SameType.cast($0, to: type) }
  }
}
