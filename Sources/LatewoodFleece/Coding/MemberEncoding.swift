/// Encodes the members of a dictionary.
struct MemberEncoding<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let target: EncodingTarget
  let number: UInt32
  let path: CodingPath

  var codingPath: [any CodingKey] { path.keys }

  @inline(__always) private func append(_ kind: ValueTape.Kind, _ payload: UInt64, _ key: Key) {
    target.append(kind, payload, to: number, key: target.key(key))
  }
  private func signed(_ value: some SignedInteger, _ key: Key) {
    append(.integer, UInt64(bitPattern: Int64(value)), key)
  }
  private func unsigned(_ value: some UnsignedInteger, _ key: Key) {
    let (kind, payload) = ValueTape.Kind.number(UInt64(value))
    append(kind, payload, key)
  }
  private func open(_ key: any CodingKey) -> UInt32 {
    target.open(in: number, key: target.key(key), depth: target.node(number).depth &+ 1)
  }

  func encodeNil(forKey key: Key) { append(.null, 0, key) }
  func encode(_ value: Bool, forKey key: Key) { append(value ? .yes : .no, 0, key) }
  func encode(_ value: String, forKey key: Key) { append(.string, target.string(value), key) }
  func encode(_ value: Double, forKey key: Key) throws {
    let (kind, payload) = try target.finiteNumber(value, path, key)
    append(kind, payload, key)
  }
  func encode(_ value: Float, forKey key: Key) throws { try encode(Double(value), forKey: key) }
  func encode(_ value: Int, forKey key: Key) { signed(value, key) }
  func encode(_ value: Int8, forKey key: Key) { signed(value, key) }
  func encode(_ value: Int16, forKey key: Key) { signed(value, key) }
  func encode(_ value: Int32, forKey key: Key) { signed(value, key) }
  func encode(_ value: Int64, forKey key: Key) { signed(value, key) }
  func encode(_ value: UInt, forKey key: Key) { unsigned(value, key) }
  func encode(_ value: UInt8, forKey key: Key) { unsigned(value, key) }
  func encode(_ value: UInt16, forKey key: Key) { unsigned(value, key) }
  func encode(_ value: UInt32, forKey key: Key) { unsigned(value, key) }
  func encode(_ value: UInt64, forKey key: Key) { unsigned(value, key) }
  func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
    try target.encode(value, at: open(key), path: path, key: key)
  }

  func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key)
    -> KeyedEncodingContainer<Nested>
  {
    NestedEncoder(target: target, number: open(key), path: target.path(path, key)).container(keyedBy: type)
  }
  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    NestedEncoder(target: target, number: open(key), path: target.path(path, key)).unkeyedContainer()
  }
  func superEncoder() -> any Encoder { encoder(PlainKey.inherited) }
  func superEncoder(forKey key: Key) -> any Encoder { encoder(key) }

  private func encoder(_ key: any CodingKey) -> any Encoder {
    NestedEncoder(target: target, number: open(key), path: target.path(path, key))
  }
}

/// Encodes the elements of an array.
struct ElementEncoding: UnkeyedEncodingContainer {
  let target: EncodingTarget
  let number: UInt32
  let path: CodingPath

  var codingPath: [any CodingKey] { path.keys }
  var count: Int { Int(target.node(number).count) }

  @inline(__always) private func append(_ kind: ValueTape.Kind, _ payload: UInt64) {
    target.append(kind, payload, to: number, key: ValueTape.none)
  }
  private func signed(_ value: some SignedInteger) { append(.integer, UInt64(bitPattern: Int64(value))) }
  private func unsigned(_ value: some UnsignedInteger) {
    let (kind, payload) = ValueTape.Kind.number(UInt64(value))
    append(kind, payload)
  }
  private func open() -> UInt32 {
    target.open(in: number, key: ValueTape.none, depth: target.node(number).depth &+ 1)
  }

  func encodeNil() { append(.null, 0) }
  func encode(_ value: Bool) { append(value ? .yes : .no, 0) }
  func encode(_ value: String) { append(.string, target.string(value)) }
  func encode(_ value: Double) throws {
    let (kind, payload) = try target.finiteNumber(value, path, PlainKey(index: count))
    append(kind, payload)
  }
  func encode(_ value: Float) throws { try encode(Double(value)) }
  func encode(_ value: Int) { signed(value) }
  func encode(_ value: Int8) { signed(value) }
  func encode(_ value: Int16) { signed(value) }
  func encode(_ value: Int32) { signed(value) }
  func encode(_ value: Int64) { signed(value) }
  func encode(_ value: UInt) { unsigned(value) }
  func encode(_ value: UInt8) { unsigned(value) }
  func encode(_ value: UInt16) { unsigned(value) }
  func encode(_ value: UInt32) { unsigned(value) }
  func encode(_ value: UInt64) { unsigned(value) }
  func encode<T: Encodable>(_ value: T) throws {
    let key = PlainKey(index: count)
    try target.encode(value, at: open(), path: path, key: key)
  }

  func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
    encoder().container(keyedBy: type)
  }
  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { encoder().unkeyedContainer() }
  func superEncoder() -> any Encoder { encoder() }

  private func encoder() -> NestedEncoder {
    let path = target.path(path, PlainKey(index: count))
    return NestedEncoder(target: target, number: open(), path: path)
  }
}
