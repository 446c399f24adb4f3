import LatewoodFleece

extension DocumentValue {
  /// Writes the value with everything in it. A missing value is null.
  ///
  /// Recursive over what was set by hand; what is stored is copied without recursion. The writer bounds the depth.
  func write(to writer: inout FleeceWriter) throws(FleeceError) {
    switch content {
    case .missing, .null: try writer.null()
    case .boolean(let value): try writer.boolean(value)
    case .integer(let value): try writer.integer(value)
    case .unsigned(let value): try writer.unsigned(value)
    case .double(let value): try writer.double(value)
    case .string(let value): try writer.string(value)
    case .data(let value): try writer.data(value)
    case .array(let elements):
      try writer.beginArray()
      for element in elements { try element.write(to: &writer) }
      try writer.endArray()
    case .dictionary(let members):
      try writer.beginDictionary()
      for (key, value) in members {
        try writer.key(key.text)
        try value.write(to: &writer)
      }
      try writer.endDictionary()
    case .stored(let element): try element.write(to: &writer)
    }
  }

  /// The Fleece of the value: the same bytes for equal values.
  func fleece() throws(FleeceError) -> [UInt8] {
    var writer = FleeceWriter()
    try write(to: &writer)
    return try writer.finish()
  }

  /// The value of a JSON text. Throws `invalidJSON`, with line and column.
  public init(json: String) throws(DatabaseError) {
    do throws(FleeceError) {
      self.init(stored: try FleeceBody(JSON.fleece(from: json)).root)
    } catch {
      throw DatabaseError(inText: error)
    }
  }

  /// The value as JSON: canonical, so that equal values have the same text.
  ///
  /// - Parameter isIndented: a line to each member and element instead.
  public func toJSON(isIndented: Bool = false) throws(DatabaseError) -> String {
    do throws(FleeceError) {
      let bytes: [UInt8]
      let style: JSONOutput.Style = isIndented ? .indented : .canonical
      if case .stored(let element) = content {
        bytes = try element.json(style)
      } else {
        bytes = try JSON.text(of: fleece(), style)
      }
      return String(decoding: bytes, as: UTF8.self)
    } catch {
      if case .stored = content { throw DatabaseError(inBody: error) }
      throw DatabaseError(inValue: error)
    }
  }

  /// The value as plain Swift values: `String`, `Bool`, `Int64`, `UInt64`, `Double`, `Data`, `[any Sendable]`, `[String: any Sendable]`, and `DocumentValue.null`
  /// for null.
  var plain: any Sendable {
    switch kind {
    case nil, .null?: DocumentValue.null
    case .boolean?: bool ?? false
    case .number?:
      switch number {
      case .integer(let value): value
      case .unsigned(let value): value
      case .double(let value): value
      case nil: DocumentValue.null
      }
    case .string?: string ?? ""
    case .data?: data ?? .init()
    case .array?: (array ?? []).map(\.plain)
    case .dictionary?: plainMembers
    }
  }

  var plainMembers: [String: any Sendable] {
    Dictionary(members.map { ($0.key, $0.value.plain) }) { _, last in last }
  }
}
