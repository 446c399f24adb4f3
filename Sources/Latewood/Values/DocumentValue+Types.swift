import LatewoodFleece

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The value as a Swift type: nil if it is missing or of another type. Setting nil makes the value
/// missing, which removes it if it is a member.
extension DocumentValue {
  public var bool: Bool? {
    get {
      switch content {
      case .boolean(let value): value
      case .stored(let element): (try? element.boolean()) ?? nil
      default: nil
      }
    }
    set { self = DocumentValue(newValue) }
  }

  /// Nil also if the number is not an integer or does not fit. The same applies to the other
  /// integer types.
  public var int: Int? {
    get { integer() }
    set { self = DocumentValue(newValue) }
  }

  public var int64: Int64? {
    get { integer() }
    set { self = DocumentValue(newValue) }
  }

  public var uint64: UInt64? {
    get { integer() }
    set { self = DocumentValue(newValue) }
  }

  /// The number as the nearest `Float`.
  public var float: Float? {
    get { double.map { Float($0) } }
    set { self = DocumentValue(newValue) }
  }

  /// The number as the nearest `Double`.
  public var double: Double? {
    get {
      switch number {
      case .integer(let value): Double(value)
      case .unsigned(let value): Double(value)
      case .double(let value): value
      case nil: nil
      }
    }
    set { self = DocumentValue(newValue) }
  }

  public var string: String? {
    get {
      switch content {
      case .string(let value): value
      case .stored(let element): (try? element.string()) ?? nil
      default: nil
      }
    }
    set { self = DocumentValue(newValue) }
  }

  /// A point in time. It is stored as text, in ISO 8601 in UTC with milliseconds:
  /// `2026-03-01T09:30:00.000Z`. Other ISO 8601 forms with date and time are read too.
  public var date: Date? {
    get {
      if case .unstorable(let seconds) = content { return Date(timeIntervalSinceReferenceDate: seconds) }
      return string.flatMap { Timestamp.date($0) }
    }
    set { self = DocumentValue(newValue) }
  }

  /// Binary data. JSON has none: there it is a string in base64, and such a string reads as a
  /// string.
  public var data: Data? {
    get { bytes.map { Data($0) } }
    set { self = DocumentValue(newValue) }
  }

  public var blob: Blob? {
    get { Blob(self) }
    set { self = DocumentValue(newValue) }
  }

  public var array: [DocumentValue]? {
    get {
      switch content {
      case .array(let storage): return storage.elements
      case .stored(let element):
        guard kind == .array else { return nil }
        return (0..<count).map { index in
          // A damaged element reads as null, so that the count stays right.
          DocumentValue(stored: (try? element.element(at: index)) ?? nil).orNull
        }
      default: return nil
      }
    }
    set { self = newValue.map { DocumentValue($0) } ?? .missing }
  }

  /// The members as a Swift dictionary. Nil also if two keys differ only in Unicode normalization,
  /// because Swift treats these as one. `members` and the subscript tell them apart: they compare
  /// keys by their bytes.
  public var dictionary: [String: DocumentValue]? {
    get {
      guard kind == .dictionary else { return nil }
      var found: [String: DocumentValue] = [:]
      for (key, value) in members where found.updateValue(value, forKey: key) != nil { return nil }
      return found
    }
    set { self = newValue.map { DocumentValue($0) } ?? .missing }
  }

  /// Whether this is a dictionary that describes a blob.
  public var isBlob: Bool { blob != nil }

  private var orNull: DocumentValue { exists ? self : .null }

  var bytes: [UInt8]? {
    switch content {
    case .data(let value): value
    case .stored(let element): (try? element.data()) ?? nil
    default: nil
    }
  }

  /// The number; integers are always in integer form, so that equal numbers are equal.
  var number: FleeceValue.Number? {
    switch content {
    case .integer(let value): .integer(value)
    case .unsigned(let value): .unsigned(value)
    case .double(let value):
      if let whole = Int64(exactly: value), value != 0 || value.sign == .plus {
        .integer(whole)
      } else if let whole = UInt64(exactly: value), whole > 0 {
        .unsigned(whole)
      } else {
        .double(value)
      }
    case .stored(let element): (try? element.number()) ?? nil
    default: nil
    }
  }

  private func integer<T: FixedWidthInteger>() -> T? {
    switch number {
    case .integer(let value): T(exactly: value)
    case .unsigned(let value): T(exactly: value)
    case .double(let value): T(exactly: value)
    case nil: nil
    }
  }
}

/// Values from Swift types; nil becomes a missing value.
extension DocumentValue {
  public init(_ value: Bool?) { content = value.map(Content.boolean) ?? .missing }
  public init(_ value: some FixedWidthInteger & SignedInteger) { content = .integer(Int64(clamping: value)) }
  public init(_ value: some FixedWidthInteger & UnsignedInteger) {
    content = Int64(exactly: value).map(Content.integer) ?? .unsigned(UInt64(clamping: value))
  }
  public init(_ value: Int?) { content = value.map { .integer(Int64($0)) } ?? .missing }
  public init(_ value: Int64?) { content = value.map(Content.integer) ?? .missing }
  public init(_ value: UInt64?) { self = value.map { number in DocumentValue(number) } ?? .missing }
  /// A number that is not finite cannot be stored: saving the document fails.
  public init(_ value: Double?) { content = value.map(Content.double) ?? .missing }
  public init(_ value: Float?) { content = value.map { .double(Double($0)) } ?? .missing }
  public init(_ value: String?) { content = value.map(Content.string) ?? .missing }
  /// Rounds to milliseconds. A date that is not finite, or outside of the years 0 to 9999, cannot
  /// be stored: saving the document fails.
  public init(_ value: Date?) {
    guard let value else {
      content = .missing
      return
    }
    content = Timestamp.text(value).map(Content.string) ?? .unstorable(value.timeIntervalSinceReferenceDate)
  }
  public init(_ value: Data?) { content = value.map { .data(Array($0)) } ?? .missing }
  public init(_ value: Blob?) { self = value?.value ?? .missing }
  public init(_ value: [DocumentValue]) {
    self.init(elements: value.map { $0.exists ? $0 : .null })
  }
  public init(_ value: [String: DocumentValue]) {
    let members = value.filter { $0.value.exists }.map { (KeyText($0.key), $0.value) }
    self.init(members: Dictionary(members) { _, last in last })
  }
}

extension DocumentValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByStringInterpolation
{
  /// Null, which is a value. To remove a member use `removeValue(forKey:)`.
  public init(nilLiteral: ()) { content = .null }
  public init(booleanLiteral value: Bool) { content = .boolean(value) }
  public init(integerLiteral value: Int64) { content = .integer(value) }
  public init(floatLiteral value: Double) { content = .double(value) }
  public init(stringLiteral value: String) { content = .string(value) }
}

extension DocumentValue: ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
  public init(arrayLiteral elements: DocumentValue...) { self.init(elements) }
  /// If members have the same key, the last one counts.
  public init(dictionaryLiteral elements: (String, DocumentValue)...) {
    let members = elements.filter { $0.1.exists }.map { (KeyText($0.0), $0.1) }
    self.init(members: Dictionary(members) { _, last in last })
  }
}
