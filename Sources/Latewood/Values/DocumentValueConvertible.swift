/// A type whose values documents can hold.
///
/// ```swift
/// document["title"] = title                         // a String, or a String?
/// document["cast"] = ["Sigourney Weaver", lead]     // a [String]
/// document["seen"] = Date.now
/// document["length"] = nil                          // removes the member
/// let seen: Date? = document["seen"]
/// ```
///
/// | type | stored as |
/// | --- | --- |
/// | `Bool`, `String`, `Float`, `Double`, all integers up to 64 bits | themselves |
/// | `Data` | binary data, which is base64 text in JSON |
/// | `Date` | ISO 8601 text in UTC: see ``DocumentValue/date`` |
/// | `Decimal` | a number if that is exact, which it is up to 15 digits; otherwise text |
/// | `UUID`, `URL` | text |
/// | ``Blob`` | the dictionary that describes it |
/// | optionals, arrays, dictionaries with `String` keys | what they contain |
///
/// Other types can conform. An enum with raw values only has to declare the conformance:
///
/// ```swift
/// enum Genre: String, DocumentValueConvertible { case horror, comedy }
/// document["genre"] = Genre.horror
/// ```
public protocol DocumentValueConvertible {
  /// The form in which a document holds the value.
  var documentValue: DocumentValue { get }
  /// Creates the value that a document holds; nil if it is not a value of this type.
  init?(documentValue: DocumentValue)
}

extension DocumentValue {
  /// Creates a value; nil becomes a missing value.
  ///
  /// A number that is not finite, or a date outside the years 0 to 9999, cannot be stored: saving
  /// the document throws `invalidParameter`.
  public init(_ value: some DocumentValueConvertible) { self = value.documentValue }
}

extension DocumentValue: DocumentValueConvertible {
  /// The value itself.
  public var documentValue: DocumentValue { self }
  /// Creates a copy; nil if the value is missing.
  public init?(documentValue: DocumentValue) {
    guard documentValue.exists else { return nil }
    self = documentValue
  }
}

extension DocumentValueConvertible where Self: RawRepresentable, RawValue: DocumentValueConvertible {
  /// The raw value.
  public var documentValue: DocumentValue { rawValue.documentValue }
  /// Creates the value for a raw value; nil if there is none.
  public init?(documentValue: DocumentValue) {
    guard let rawValue = RawValue(documentValue: documentValue) else { return nil }
    self.init(rawValue: rawValue)
  }
}

// MARK: Numbers, text and truth

extension DocumentValueConvertible where Self: FixedWidthInteger & SignedInteger {
  /// The number.
  public var documentValue: DocumentValue { DocumentValue(.integer(Int64(clamping: self))) }
}

extension DocumentValueConvertible where Self: FixedWidthInteger & UnsignedInteger {
  /// The number.
  public var documentValue: DocumentValue {
    DocumentValue(Int64(exactly: self).map { .integer($0) } ?? .unsigned(UInt64(clamping: self)))
  }
}

extension DocumentValueConvertible where Self: FixedWidthInteger {
  /// The integer; nil if the value is not an integer or does not fit.
  public init?(documentValue: DocumentValue) {
    guard let integer: Self = documentValue.integer() else { return nil }
    self = integer
  }
}

extension Int: DocumentValueConvertible {}
extension Int8: DocumentValueConvertible {}
extension Int16: DocumentValueConvertible {}
extension Int32: DocumentValueConvertible {}
extension Int64: DocumentValueConvertible {}
extension UInt: DocumentValueConvertible {}
extension UInt8: DocumentValueConvertible {}
extension UInt16: DocumentValueConvertible {}
extension UInt32: DocumentValueConvertible {}
extension UInt64: DocumentValueConvertible {}

extension Double: DocumentValueConvertible {
  /// The number.
  public var documentValue: DocumentValue { DocumentValue(.double(self)) }
  /// The nearest number; nil if the value is not a number.
  public init?(documentValue: DocumentValue) {
    guard let value = documentValue.double else { return nil }
    self = value
  }
}

extension Float: DocumentValueConvertible {
  /// The number.
  public var documentValue: DocumentValue { DocumentValue(.double(Double(self))) }
  /// The nearest number; nil if the value is not a number.
  public init?(documentValue: DocumentValue) {
    guard let value = documentValue.float else { return nil }
    self = value
  }
}

extension Bool: DocumentValueConvertible {
  /// The Boolean.
  public var documentValue: DocumentValue { DocumentValue(.boolean(self)) }
  /// The Boolean; nil if the value is not a Boolean, even if it is a number.
  public init?(documentValue: DocumentValue) {
    guard let value = documentValue.bool else { return nil }
    self = value
  }
}

extension String: DocumentValueConvertible {
  /// The string.
  public var documentValue: DocumentValue { DocumentValue(.string(self)) }
  /// The string; nil if the value is not a string.
  public init?(documentValue: DocumentValue) {
    guard let value = documentValue.string else { return nil }
    self = value
  }
}

extension Substring: DocumentValueConvertible {
  /// The string.
  public var documentValue: DocumentValue { DocumentValue(.string(String(self))) }
  /// The string; nil if the value is not a string.
  public init?(documentValue: DocumentValue) {
    guard let value = documentValue.string else { return nil }
    self = Substring(value)
  }
}

extension Blob: DocumentValueConvertible {
  /// The dictionary that describes the blob.
  public var documentValue: DocumentValue { value }
  /// The blob that a dictionary describes; nil if it does not describe one.
  public init?(documentValue: DocumentValue) { self.init(documentValue) }
}

// MARK: Optionals and collections

extension Optional: DocumentValueConvertible where Wrapped: DocumentValueConvertible {
  /// The value; missing if there is none.
  public var documentValue: DocumentValue { self?.documentValue ?? .missing }
  /// The wrapped value, which is nil if the value is missing or null.
  public init?(documentValue: DocumentValue) {
    guard documentValue.exists, !documentValue.isNull else {
      self = Wrapped?.none
      return
    }
    guard let value = Wrapped(documentValue: documentValue) else { return nil }
    self = value
  }
}

extension Array: DocumentValueConvertible where Element: DocumentValueConvertible {
  /// The array; elements that are nil become null.
  public var documentValue: DocumentValue { DocumentValue(map(\.documentValue)) }
  /// The array; nil unless all elements are of the type.
  public init?(documentValue: DocumentValue) {
    guard documentValue.kind == .array else { return nil }
    self = []
    reserveCapacity(documentValue.count)
    for value in documentValue {
      guard let element = Element(documentValue: value) else { return nil }
      append(element)
    }
  }
}

extension Dictionary: DocumentValueConvertible where Key == String, Value: DocumentValueConvertible {
  /// The dictionary, without members that are nil.
  public var documentValue: DocumentValue { DocumentValue(mapValues(\.documentValue)) }
  /// The dictionary; nil unless all values are of the type. Also nil if two keys differ only in
  /// Unicode normalization, because Swift treats these as equal.
  public init?(documentValue: DocumentValue) {
    guard documentValue.kind == .dictionary else { return nil }
    self = [:]
    for (key, member) in documentValue.members {
      guard let value = Value(documentValue: member), updateValue(value, forKey: key) == nil else {
        return nil
      }
    }
  }
}
