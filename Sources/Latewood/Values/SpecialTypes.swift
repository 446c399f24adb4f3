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
    if T.self == Date.self, let date = value as? Date {
      guard let text = Timestamp.text(date) else { throw FleeceError(.misuse, Timestamp.rangeFault) }
      return .string(text)
    }
    if T.self == Data.self, let data = value as? Data { return .data(Array(data)) }
    if T.self == URL.self, let url = value as? URL { return .string(url.absoluteString) }
    if T.self == UUID.self, let id = value as? UUID { return .string(id.uuidString) }
    if T.self == Decimal.self, let decimal = value as? Decimal {
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
    if T.self == Data.self {
      if let bytes = try element.data() { return Data(bytes) as? T }
      // A document that has been converted to JSON and back has base64 text in place of data.
      guard let text = try element.string() else { return nil }
      return Base64.decode(text.utf8).map { Data($0) } as? T
    }
    if T.self == Decimal.self { return DecimalText.decimal(DocumentValue(stored: element)) as? T }
    guard let text = try element.string() else { return nil }
    if T.self == UUID.self { return UUID(uuidString: text) as? T }
    if T.self == Date.self { return Timestamp.date(text) as? T }
    return URL(string: text) as? T
  }
}
