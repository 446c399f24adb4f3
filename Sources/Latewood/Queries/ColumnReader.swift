import LatewoodDocuments
import LatewoodFleece
import LatewoodQuery

/// Reads one field of a document that was found, as its Swift type.
struct ColumnReader<Value: Decodable & Sendable>: Sendable {
  let path: Result<FieldPath, DatabaseError>
  /// Converts a value that an index holds; the closure returns nil if only the document can supply
  /// the value. nil itself if an index cannot supply values of this type.
  let plain: (@Sendable (ScalarValue) -> Value?)?

  init(_ field: QueryField<Value>) {
    path = field.path
    plain = (Value.self as? any PlainColumn.Type).map { Self.reader($0) }
  }

  private static func reader<Plain: PlainColumn>(
    _ type: Plain.Type
  ) -> @Sendable (ScalarValue) -> Value? {
    { scalar in
      guard let value = Plain(scalar: scalar) else { return nil }
      return value as? Value
    }
  }

  func value(in document: FoundDocument) throws -> Value {
    let path = try path.get()
    let element = try document.withField(path) { lookup throws(FleeceError) -> FleeceElement? in
      guard let value = lookup.value else { return nil }
      var writer = FleeceWriter()
      try writer.value(value)
      return try FleeceBody(written: try writer.finish()).root
    }
    if let element { return try FleeceDecoder(special: SpecialTypes()).decode(Value.self, from: element) }
    if let optional = Value.self as? any ExpressibleByNilLiteral.Type,
      let none = Self.nothing(optional) as? Value
    {
      return none
    }
    throw DecodingError.valueNotFound(
      Value.self,
      DecodingError.Context(
        codingPath: [], debugDescription: "The document \(document.id) has no field \(path.text)."))
  }

  private static func nothing<Optional: ExpressibleByNilLiteral>(_ type: Optional.Type) -> Any {
    let nothing: Optional = nil
    return nothing
  }
}

/// A type whose values are the same whether they are read from an index key or from a document.
protocol PlainColumn: SendableMetatype {
  /// Returns nil if the value is not of this type. The document is then read, and decoding it gives
  /// the value or the error.
  init?(scalar: ScalarValue)
}

extension PlainColumn where Self: FixedWidthInteger {
  init?(scalar: ScalarValue) {
    guard case .number(let number) = scalar else { return nil }
    switch number {
    case .integer(let integer): self.init(exactly: integer)
    case .unsigned(let integer): self.init(exactly: integer)
    case .double(let double): self.init(exactly: double)
    }
  }
}

extension PlainColumn where Self: BinaryFloatingPoint {
  init?(scalar: ScalarValue) {
    guard case .number(let number) = scalar else { return nil }
    switch number {
    case .integer(let integer): self.init(integer)
    case .unsigned(let integer): self.init(integer)
    case .double(let double):
      self.init(double)
      guard isFinite else { return nil }
    }
  }
}

extension Int: PlainColumn {}
extension Int8: PlainColumn {}
extension Int16: PlainColumn {}
extension Int32: PlainColumn {}
extension Int64: PlainColumn {}
extension UInt: PlainColumn {}
extension UInt8: PlainColumn {}
extension UInt16: PlainColumn {}
extension UInt32: PlainColumn {}
extension UInt64: PlainColumn {}
extension Double: PlainColumn {}
extension Float: PlainColumn {}

extension String: PlainColumn {
  init?(scalar: ScalarValue) {
    guard case .string(let string) = scalar else { return nil }
    self = string
  }
}

extension Bool: PlainColumn {
  init?(scalar: ScalarValue) {
    guard case .boolean(let value) = scalar else { return nil }
    self = value
  }
}

extension Optional: PlainColumn where Wrapped: PlainColumn {
  init?(scalar: ScalarValue) {
    switch scalar {
    case .missing, .null: self = Wrapped?.none
    default:
      guard let value = Wrapped(scalar: scalar) else { return nil }
      self = value
    }
  }
}
