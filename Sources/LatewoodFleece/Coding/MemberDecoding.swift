/// Decodes the members of a dictionary.
struct MemberDecoding<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let source: DecodingSource
  let element: FleeceElement
  let path: CodingPath

  var codingPath: [any CodingKey] { path.keys }

  /// Keys that are damaged are left out; decoding their values says what is wrong.
  var allKeys: [Key] {
    guard let members = try? element.members() else { return [] }
    return members.compactMap { Key(stringValue: $0.key) }
  }

  private func find(_ key: any CodingKey) throws -> FleeceElement? {
    try DecodingSource.reading(path.appending(key)) { () throws(FleeceError) in
      try element.element(for: key.stringValue)
    }
  }

  private func member(_ key: any CodingKey) throws -> FleeceElement {
    guard let member = try find(key) else {
      throw DecodingError.keyNotFound(
        key,
        DecodingError.Context(
          codingPath: path.keys, debugDescription: "there is no member “\(key.stringValue)”"))
    }
    return member
  }

  func contains(_ key: Key) -> Bool { (try? element.element(for: key.stringValue)) != nil }

  func decodeNil(forKey key: Key) throws -> Bool { try source.isNull(member(key), path.appending(key)) }
  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
    try source.boolean(member(key), path.appending(key))
  }
  func decode(_ type: String.Type, forKey key: Key) throws -> String {
    try source.string(member(key), path.appending(key))
  }
  func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
    try source.float(type, member(key), path.appending(key))
  }
  func decode(_ type: Float.Type, forKey key: Key) throws -> Float {
    try source.float(type, member(key), path.appending(key))
  }
  private func integer<T: FixedWidthInteger>(_ type: T.Type, _ key: Key) throws -> T {
    try source.integer(type, member(key), path.appending(key))
  }
  func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try integer(type, key) }
  func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try integer(type, key) }
  func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try integer(type, key) }
  func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try integer(type, key) }
  func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try integer(type, key) }
  func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try integer(type, key) }
  func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try integer(type, key) }
  func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try integer(type, key) }
  func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try integer(type, key) }
  func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try integer(type, key) }
  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    try source.decode(type, member(key), path.appending(key))
  }

  func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) throws
    -> KeyedDecodingContainer<Nested>
  {
    try decoder(key).container(keyedBy: type)
  }
  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try decoder(key).unkeyedContainer()
  }
  func superDecoder() throws -> any Decoder { try decoder(PlainKey.inherited) }
  func superDecoder(forKey key: Key) throws -> any Decoder { try decoder(key) }

  private func decoder(_ key: any CodingKey) throws -> PlaceDecoder {
    PlaceDecoder(source: source, element: try member(key), path: path.appending(key))
  }
}

/// Decodes the elements of an array.
struct ElementDecoding: UnkeyedDecodingContainer {
  let source: DecodingSource
  let element: FleeceElement
  let path: CodingPath
  let total: Int
  private(set) var currentIndex = 0

  init(source: DecodingSource, element: FleeceElement, path: CodingPath, total: Int) {
    self.source = source
    self.element = element
    self.path = path
    self.total = total
  }

  var codingPath: [any CodingKey] { path.keys }
  var count: Int? { total }
  var isAtEnd: Bool { currentIndex >= total }

  private var place: CodingPath { path.appending(PlainKey(index: currentIndex)) }

  private func current(_ type: Any.Type) throws -> FleeceElement {
    let index = currentIndex
    let found = try DecodingSource.reading(place) { () throws(FleeceError) in
      try element.element(at: index)
    }
    guard let found else {
      throw DecodingError.valueNotFound(
        type,
        DecodingError.Context(codingPath: place.keys, debugDescription: "the array has no more elements"))
    }
    return found
  }

  /// Goes on to the next element only if this one could be decoded.
  private mutating func step<T>(_ body: (FleeceElement, ElementDecoding) throws -> T) throws -> T {
    let value = try body(current(T.self), self)
    currentIndex += 1
    return value
  }

  mutating func decodeNil() throws -> Bool {
    let isNull = try source.isNull(current(Never.self), place)
    if isNull { currentIndex += 1 }
    return isNull
  }
  mutating func decode(_ type: Bool.Type) throws -> Bool { try step { try $1.source.boolean($0, $1.place) } }
  mutating func decode(_ type: String.Type) throws -> String {
    try step { try $1.source.string($0, $1.place) }
  }
  mutating func decode(_ type: Double.Type) throws -> Double {
    try step { try $1.source.float(type, $0, $1.place) }
  }
  mutating func decode(_ type: Float.Type) throws -> Float {
    try step { try $1.source.float(type, $0, $1.place) }
  }
  private mutating func integer<T: FixedWidthInteger>(_ type: T.Type) throws -> T {
    try step { try $1.source.integer(type, $0, $1.place) }
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
    try step { try $1.source.decode(type, $0, $1.place) }
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
    PlaceDecoder(source: source, element: element, path: place)
  }
}
