/// Decodes the elements of an array.
struct ElementDecoding: UnkeyedDecodingContainer {
  let place: PlaceDecoder
  let total: Int
  private(set) var currentIndex = 0

  init(place: PlaceDecoder, total: Int) {
    self.place = place
    self.total = total
  }

  private var source: DecodingSource { place.source }
  var codingPath: [any CodingKey] { place.path.keys }
  var count: Int? { total }
  var isAtEnd: Bool { currentIndex >= total }

  /// The path of the current element.
  private var path: CodingPath { place.path.appending(PlainKey(index: currentIndex)) }

  private func current(_ type: Any.Type) throws -> FleeceElement {
    if let found = place.element(at: currentIndex, { FleeceElement($0, of: place.element.body) }) {
      return found
    }
    let index = currentIndex
    let found = try DecodingSource.reading(path) { () throws(FleeceError) in
      try place.element.element(at: index)
    }
    guard let found else {
      throw DecodingError.valueNotFound(
        type,
        DecodingError.Context(codingPath: path.keys, debugDescription: "the array has no more elements"))
    }
    return found
  }

  /// Advances to the next element only if this one could be decoded.
  @inline(__always) private mutating func step<T>(_ body: (FleeceElement, ElementDecoding) throws -> T) throws
    -> T
  {
    let value = try body(current(T.self), self)
    currentIndex += 1
    return value
  }

  mutating func decodeNil() throws -> Bool {
    let isNull = try source.isNull(current(Never.self), path)
    if isNull { currentIndex += 1 }
    return isNull
  }
  mutating func decode(_ type: Bool.Type) throws -> Bool { try step { try $1.source.boolean($0, $1.path) } }
  mutating func decode(_ type: String.Type) throws -> String {
    try step { try $1.source.string($0, $1.path) }
  }
  mutating func decode(_ type: Double.Type) throws -> Double {
    try step { try $1.source.float(type, $0, $1.path) }
  }
  mutating func decode(_ type: Float.Type) throws -> Float {
    try step { try $1.source.float(type, $0, $1.path) }
  }
  @inline(__always) private mutating func integer<T: FixedWidthInteger>(_ type: T.Type) throws -> T {
    try step { try $1.source.integer(type, $0, $1.path) }
  }
  mutating func decode(_ type: Int.Type) throws -> Int { try integer(type) }
  mutating func decode(_ type: Int8.Type) throws -> Int8 { try integer(type) }
  mutating func decode(_ type: Int16.Type) throws -> Int16 { try integer(type) }
  mutating func decode(_ type: Int32.Type) throws -> Int32 { try integer(type) }
  mutating func decode(_ type: Int64.Type) throws -> Int64 { try integer(type) }
  mutating func decode(_ type: UInt.Type) throws -> UInt { try integer(type) }
  mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try integer(type) }
  mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try integer(type) }
  mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try integer(type) }
  mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try integer(type) }
  mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
    try step { try $1.source.decode(type, $0, depth: $1.place.path.depth + 1, $1.path) }
  }

  mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) throws
    -> KeyedDecodingContainer<Nested>
  {
    try step { try $1.decoder($0).container(keyedBy: type) }
  }
  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try step { try $1.decoder($0).unkeyedContainer() }
  }
  mutating func superDecoder() throws -> any Decoder { try step { $1.decoder($0) } }

  private func decoder(_ element: FleeceElement) -> PlaceDecoder {
    PlaceDecoder(source: source, element: element, path: path)
  }
}
