import LatewoodFleece

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The value as a Swift type: nil if it is missing or of another type. Setting nil makes the value
/// missing, which removes it if it is a member; an element becomes null.
extension DocumentValue {
  /// A Boolean.
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

  /// An integer. Also nil if the number is not an integer or does not fit. The same applies to the
  /// other integer types.
  public var int: Int? {
    get { integer() }
    set { self = DocumentValue(newValue) }
  }

  /// An integer of 64 bits: see ``int``.
  public var int64: Int64? {
    get { integer() }
    set { self = DocumentValue(newValue) }
  }

  /// An integer of 64 bits without sign: see ``int``.
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
    get { number?.double }
    set { self = DocumentValue(newValue) }
  }

  /// A string.
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

  /// A point in time. It is stored as text, in ISO 8601 in UTC: with milliseconds if it has no
  /// finer parts, `2026-03-01T09:30:00.000Z`, otherwise with the fewest of 7, 9, 12, 15 or 18
  /// digits that produce the same `Date` when the text is read. Other ISO 8601 forms with date and
  /// time can be read, too.
  ///
  /// Queries compare the text. Dates are therefore in order, except that a date of whole
  /// milliseconds sorts after finer dates within that millisecond.
  public var date: Date? {
    get {
      if case .unstorable(let seconds) = content { return Date(timeIntervalSinceReferenceDate: seconds) }
      return string.flatMap { Timestamp.date($0) }
    }
    set { self = DocumentValue(newValue) }
  }

  /// Binary data. JSON represents it as a base64 string, which reads back as a string, not as data.
  public var data: Data? {
    get { bytes.map { Data($0) } }
    set { self = DocumentValue(newValue) }
  }

  /// The blob that a dictionary describes.
  public var blob: Blob? {
    get { Blob(self) }
    set { self = DocumentValue(newValue) }
  }

  /// The elements of an array.
  public var array: [DocumentValue]? {
    get {
      switch content {
      case .array(let storage): return storage.elements
      case .stored(let element):
        guard kind == .array else { return nil }
        return (0..<count).map { index in
          // A damaged element reads as null, so that the count stays correct.
          DocumentValue(stored: (try? element.element(at: index)) ?? nil).orNull
        }
      default: return nil
      }
    }
    set { self = newValue.map { DocumentValue($0) } ?? .missing }
  }

  /// The members as a Swift dictionary. Also nil if two keys differ only in Unicode normalization,
  /// because Swift treats these as equal. `members` and the subscript distinguish them, because
  /// they compare keys by their bytes.
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

  /// The value as an element of an array, which cannot be missing.
  var orNull: DocumentValue { exists ? self : .null }

  var bytes: [UInt8]? {
    switch content {
    case .data(let value): value
    case .stored(let element): (try? element.data()) ?? nil
    default: nil
    }
  }

  /// The number, in whichever form it is stored; nil for all other values.
  public var number: Number? {
    switch content {
    case .integer(let value): .integer(value)
    case .unsigned(let value): .unsigned(value)
    case .double(let value): Number(value)
    case .stored(let element):
      switch (try? element.number()) ?? nil {
      case .integer(let value): .integer(value)
      case .unsigned(let value): .unsigned(value)
      case .double(let value): Number(value)
      case nil: nil
      }
    default: nil
    }
  }

  func integer<T: FixedWidthInteger>() -> T? {
    switch number {
    case .integer(let value): T(exactly: value)
    case .unsigned(let value): T(exactly: value)
    case .double(let value): T(exactly: value)
    case nil: nil
    }
  }
}

extension DocumentValue {
  /// A number as documents hold it. Numbers with equal values compare equal, because a number
  /// without a fraction is an integer if it fits.
  public enum Number: Sendable, Hashable {
    /// An integer that fits into an `Int64`.
    case integer(Int64)
    /// An integer above `Int64.max`.
    case unsigned(UInt64)
    /// A number with a fraction, minus zero, or one beyond all integers of 64 bits.
    case double(Double)

    /// - Parameter value: any number. Minus zero stays a `Double`.
    public init(_ value: Double) {
      if let whole = Int64(exactly: value), value != 0 || value.sign == .plus {
        self = .integer(whole)
      } else if let whole = UInt64(exactly: value), whole > 0 {
        self = .unsigned(whole)
      } else {
        self = .double(value)
      }
    }

    /// The nearest `Double`.
    public var double: Double {
      switch self {
      case .integer(let value): Double(value)
      case .unsigned(let value): Double(value)
      case .double(let value): value
      }
    }
  }
}

extension DocumentValue {
  /// Creates an array; elements that are missing become null.
  public init(_ value: [DocumentValue]) {
    self.init(elements: value.map { $0.exists ? $0 : .null })
  }
  /// Creates a dictionary, without the members whose values are missing.
  public init(_ value: [String: DocumentValue]) {
    let members = value.filter { $0.value.exists }.map { (KeyText($0.key), $0.value) }
    self.init(members: Dictionary(members) { _, last in last })
  }
}

extension DocumentValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByStringInterpolation
{
  /// Creates a missing value: a member that is set to nil is removed, or not created. Use ``null``
  /// for JSON's null, which is a value. An element of an array cannot be missing, so it becomes
  /// null if it is set to nil.
  public init(nilLiteral: ()) { content = .missing }
  /// Creates a Boolean.
  public init(booleanLiteral value: Bool) { content = .boolean(value) }
  /// Creates an integer.
  public init(integerLiteral value: Int64) { content = .integer(value) }
  /// Creates a number. A number that is not finite cannot be stored.
  public init(floatLiteral value: Double) { content = .double(value) }
  /// Creates a string.
  public init(stringLiteral value: String) { content = .string(value) }
}

extension DocumentValue: ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
  /// Creates an array; elements that are nil become null.
  public init(arrayLiteral elements: DocumentValue...) { self.init(elements) }
  /// Creates a dictionary. If members have the same key, the last one is used.
  public init(dictionaryLiteral elements: (String, DocumentValue)...) {
    let members = elements.filter { $0.1.exists }.map { (KeyText($0.0), $0.1) }
    self.init(members: Dictionary(members) { _, last in last })
  }
}
