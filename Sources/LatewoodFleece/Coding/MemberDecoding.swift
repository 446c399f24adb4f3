/// Decodes the members of a dictionary.
struct MemberDecoding<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let place: PlaceDecoder

  private var source: DecodingSource { place.source }
  private var path: CodingPath { place.path }
  var codingPath: [any CodingKey] { path.keys }

  /// Damaged keys are left out; decoding their values reports the damage.
  var allKeys: [Key] {
    guard let members = try? place.element.members() else { return [] }
    return members.compactMap { Key(stringValue: $0.key) }
  }

  private func find(_ key: any CodingKey) throws -> FleeceElement? {
    if let found = place.element(of: key.stringValue) { return found }
    return try DecodingSource.reading(path.appending(key)) { () throws(FleeceError) in
      if let found = try place.element.element(for: key.stringValue) { return found }
      return try source.added(key.stringValue, path)
    }
  }

  private func member(_ key: any CodingKey) throws -> FleeceElement {
    guard let member = try find(key) else {
      throw DecodingError.keyNotFound(
        key,
        DecodingError.Context(
          codingPath: path.keys, debugDescription: "the member “\(key.stringValue)” is missing"))
    }
    return member
  }

  func contains(_ key: Key) -> Bool { (try? find(key)) != nil }

  func decodeNil(forKey key: Key) throws -> Bool { try source.isNull(member(key), path.appending(key)) }
  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
    if let value = place.member(key.stringValue, { $0.boolean }) { return value }
    return try source.boolean(member(key), path.appending(key))
  }
  func decode(_ type: String.Type, forKey key: Key) throws -> String {
    if let value = place.string(of: key.stringValue) { return value }
    return try source.string(member(key), path.appending(key))
  }
  @inline(__always) private func float<T: BinaryFloatingPoint>(_ type: T.Type, _ key: Key) throws -> T {
    if let value = place.float(type, of: key.stringValue) { return value }
    return try source.float(type, member(key), path.appending(key))
  }
  func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try float(type, key) }
  func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try float(type, key) }
  @inline(__always) private func integer<T: FixedWidthInteger>(_ type: T.Type, _ key: Key) throws -> T {
    if let value = place.integer(type, of: key.stringValue) { return value }
    return try source.integer(type, member(key), path.appending(key))
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
    try source.decode(type, member(key), depth: path.depth + 1, path.appending(key))
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

/// Optional members, without the three searches of a default container.
extension MemberDecoding {
  /// Returns the value of a key, unless it is missing or null.
  private func present(_ key: Key) throws -> FleeceElement? {
    guard let member = try find(key), try !source.isNull(member, path.appending(key)) else { return nil }
    return member
  }

  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
    if let value = place.member(key.stringValue, { $0.boolean }) { return value }
    return try present(key).map { try source.boolean($0, path.appending(key)) }
  }
  func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
    if let value = place.string(of: key.stringValue) { return value }
    return try present(key).map { try source.string($0, path.appending(key)) }
  }
  @inline(__always) private func presentFloat<T: BinaryFloatingPoint>(_ type: T.Type, _ key: Key) throws
    -> T?
  {
    if let value = place.float(type, of: key.stringValue) { return value }
    return try present(key).map { try source.float(type, $0, path.appending(key)) }
  }
  func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
    try presentFloat(type, key)
  }
  func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? { try presentFloat(type, key) }
  @inline(__always) private func presentInteger<T: FixedWidthInteger>(_ type: T.Type, _ key: Key) throws
    -> T?
  {
    if let value = place.integer(type, of: key.stringValue) { return value }
    return try present(key).map { try source.integer(type, $0, path.appending(key)) }
  }
  func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try presentInteger(type, key) }
  func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? { try presentInteger(type, key) }
  func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? { try presentInteger(type, key) }
  func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? { try presentInteger(type, key) }
  func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? { try presentInteger(type, key) }
  func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? { try presentInteger(type, key) }
  func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? { try presentInteger(type, key) }
  func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? {
    try presentInteger(type, key)
  }
  func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? {
    try presentInteger(type, key)
  }
  func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? {
    try presentInteger(type, key)
  }
  func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
    try present(key).map { try source.decode(type, $0, depth: path.depth + 1, path.appending(key)) }
  }
}
