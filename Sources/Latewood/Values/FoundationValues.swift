#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension Date: DocumentValueConvertible {
  /// The date as ISO 8601 text in UTC: see ``DocumentValue/date``. It cannot be stored outside the
  /// years 0 to 9999.
  public var documentValue: DocumentValue {
    DocumentValue(Timestamp.text(self).map { .string($0) } ?? .unstorable(timeIntervalSinceReferenceDate))
  }
  /// The date in ISO 8601 text; nil if the value is not such text.
  public init?(documentValue: DocumentValue) {
    guard let value = documentValue.date else { return nil }
    self = value
  }
}

extension Data: DocumentValueConvertible {
  /// Binary data.
  public var documentValue: DocumentValue { DocumentValue(.data(Array(self))) }
  /// The data; nil if the value is not binary data. Base64 text does not count as binary data.
  public init?(documentValue: DocumentValue) {
    guard let value = documentValue.data else { return nil }
    self = value
  }
}

extension UUID: DocumentValueConvertible {
  /// The `uuidString`.
  public var documentValue: DocumentValue { DocumentValue(.string(uuidString)) }
  /// The `UUID` in a text; nil if the value is not such text.
  public init?(documentValue: DocumentValue) {
    guard let text = documentValue.string else { return nil }
    self.init(uuidString: text)
  }
}

extension URL: DocumentValueConvertible {
  /// The absolute text.
  public var documentValue: DocumentValue { DocumentValue(.string(absoluteString)) }
  /// The `URL` in a text; nil if the value is not such text.
  public init?(documentValue: DocumentValue) {
    guard let text = documentValue.string else { return nil }
    self.init(string: text)
  }
}

extension Decimal: DocumentValueConvertible {
  /// A number if reading it produces the same decimal number; otherwise text.
  public var documentValue: DocumentValue { DocumentValue(DecimalText.content(of: self)) }
  /// The decimal number in a number or a text; nil if the value is neither.
  public init?(documentValue: DocumentValue) {
    guard let value = DecimalText.decimal(documentValue) else { return nil }
    self = value
  }
}

/// The stored form of decimal numbers: a number if reading it produces the same decimal number,
/// otherwise its digits as text.
enum DecimalText {
  static let refusal = "a Decimal that is NaN cannot be stored"

  static func content(of decimal: Decimal) -> DocumentValue.Content {
    guard !decimal.isNaN else { return .refused(refusal) }
    let text = decimal.description
    if let integer = Int64(text) { return .integer(integer) }
    if let double = Double(text), double.isFinite, Self.decimal(double) == decimal { return .double(double) }
    return .string(text)
  }

  static func decimal(_ value: DocumentValue) -> Decimal? {
    switch value.number {
    case .integer(let integer): Decimal(integer)
    case .unsigned(let integer): Decimal(integer)
    case .double(let double): decimal(double)
    case nil: value.string.flatMap { decimal($0) }
    }
  }

  /// Converts the shortest text of the number, because a conversion of the binary number would show
  /// its error.
  private static func decimal(_ double: Double) -> Decimal? { decimal("\(double)") }

  private static func decimal(_ text: String) -> Decimal? {
    // The parser of Foundation accepts any text after the digits, and no digits at all.
    guard text.utf8.allSatisfy({ ($0 >= 0x30 && $0 <= 0x39) || "+-.eE".utf8.contains($0) }),
      Double(text) != nil, let decimal = Decimal(string: text), !decimal.isNaN
    else { return nil }
    return decimal
  }
}
