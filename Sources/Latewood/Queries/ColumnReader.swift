import LatewoodDocuments
import LatewoodFleece
import LatewoodQuery

/// Reads one field of the found documents as its Swift type.
struct ColumnReader<Value: Decodable & Sendable>: Sendable {
  let path: Result<FieldPath, DatabaseError>
  /// Converts a value from an index, or returns nil if only the document can supply it; nil itself
  /// if an index cannot supply values of this type.
  var plain: (@Sendable (ScalarValue) -> Value?)? { reader?.read }
  /// Whether an index can supply values of this type.
  var isPlain: Bool { reader != nil }
  private let reader: PlainReader<Value>?

  init(_ field: QueryField<Value>) {
    path = field.path
    reader = (Value.self as? any PlainColumn.Type).flatMap { Self.reader($0) }
  }

  private static func reader<Plain: PlainColumn>(_ type: Plain.Type) -> PlainReader<Value>? {
    // The types are the same. Casting the reader once is cheaper than casting each value.
    PlainReader<Plain>(
      read: { Plain(scalar: $0) }, list: { try Plain.list(of: $0, from: $1, otherwise: $2) })
      as? PlainReader<Value>
  }

  /// Returns the field of every row of a query; nil if an index cannot supply values of this type.
  func list(from source: some RowSource) throws -> [Value]? {
    try reader?.list(path.get(), source) { document in try value(in: document) }
  }

  func value(in document: MatchedDocument) throws -> Value {
    let path = try path.get()
    let element = try document.withField(path) { lookup throws(FleeceError) -> FleeceElement? in
      guard let value = lookup.value else { return nil }
      var writer = FleeceWriter()
      try writer.value(value)
      return try FleeceBody(written: try writer.finish()).root
    }
    if let element {
      do {
        return try FleeceDecoder(special: SpecialTypes()).decode(Value.self, from: element)
      } catch let error as DecodingError {
        throw error.located(in: nil, document.id, at: path.text)
      }
    }
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

private struct PlainReader<Value: Sendable>: Sendable {
  let read: @Sendable (ScalarValue) -> Value?
  /// Lists the values of a field in all rows. The closure reads the field of a document.
  let list: @Sendable (FieldPath, any RowSource, (MatchedDocument) throws -> Value) throws -> [Value]
}

/// A type whose values can be read from an index key as well as from a document.
protocol PlainColumn: Sendable, SendableMetatype {
  /// Returns nil if the value is not of this type. Decoding the document then produces the value or
  /// the error.
  init?(scalar: ScalarValue)
  /// Creates the value of the next column; returns nil if it is not of this type.
  init?(next values: inout CoveringRow)
  // A requirement, so that it is specialized for each type.
  static func list(
    of path: FieldPath, from source: any RowSource, otherwise read: (MatchedDocument) throws -> Self
  ) throws -> [Self]
}

extension PlainColumn {
  init?(next values: inout CoveringRow) {
    guard let scalar = values.next() else { return nil }
    self.init(scalar: scalar)
  }

  static func list(
    of path: FieldPath, from source: any RowSource, otherwise read: (MatchedDocument) throws -> Self
  ) throws -> [Self] {
    var list: [Self] = []
    try source.findRows([path]) { values in
      guard let value = Self(next: &values) else { return nil }
      // Enough for a small page.
      if list.isEmpty { list.reserveCapacity(16) }
      list.append(value)
      return true
    } _: { document in
      list.append(try read(document))
      return true
    }
    return list
  }
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

extension Int: PlainColumn {
  init?(next values: inout CoveringRow) {
    guard let integer = values.nextNumber()?.integral else { return nil }
    self = integer
  }

  static func list(
    of path: FieldPath, from source: any RowSource, otherwise read: (MatchedDocument) throws -> Int
  ) throws -> [Int] {
    try source.integers(path, otherwise: read)
  }

  init?(scalar: ScalarValue) {
    guard case .number(let number) = scalar, let integer = number.integral else { return nil }
    self = integer
  }
}

extension Int8: PlainColumn {}
extension Int16: PlainColumn {}
extension Int32: PlainColumn {}
extension Int64: PlainColumn {}
extension UInt: PlainColumn {}
extension UInt8: PlainColumn {}
extension UInt16: PlainColumn {}
extension UInt32: PlainColumn {}
extension UInt64: PlainColumn {}
extension Double: PlainColumn {
  init?(next values: inout CoveringRow) {
    guard let number = values.nextNumber() else { return nil }
    self.init(scalar: .number(number))
  }
}
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
