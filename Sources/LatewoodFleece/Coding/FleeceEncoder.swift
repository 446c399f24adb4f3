/// Encodes any `Encodable` directly to Fleece.
///
/// A struct becomes a dictionary; the only intermediate form is the flat list that the layout
/// needs. Errors are `EncodingError`, with the path to the value.
package struct FleeceEncoder {
  package var userInfo: [CodingUserInfoKey: any Sendable] = [:]
  package var special: any FleeceSpecialTypes

  package init(special: any FleeceSpecialTypes = NoSpecialTypes()) { self.special = special }

  package func encode<T: Encodable>(_ value: T) throws -> [UInt8] {
    let target = EncodingTarget(special: special, userInfo: userInfo)
    let root = target.open(in: ValueTape.none, key: ValueTape.none, depth: 0)
    try target.encode(value, at: root, path: .root, key: nil)
    do throws(FleeceError) {
      return try target.finish()
    } catch {
      throw EncodingError.invalidValue(
        value, EncodingError.Context(codingPath: [], debugDescription: error.reason, underlyingError: error))
    }
  }
}

/// The tape to which all containers of one encoding write.
final class EncodingTarget {
  private(set) var tape = ValueTape()
  private let special: any FleeceSpecialTypes
  let userInfo: [CodingUserInfoKey: Any]
  private var deepest = 0

  init(special: any FleeceSpecialTypes, userInfo: [CodingUserInfoKey: Any]) {
    self.special = special
    self.userInfo = userInfo
  }

  func finish() throws(FleeceError) -> [UInt8] {
    guard deepest < FleeceLimits.depth else { throw FleeceError.tooDeep() }
    try tape.checkLimit(for: 0)
    var layout = FleeceLayout()
    return try layout.encode(&tape)
  }

  func node(_ number: UInt32) -> ValueTape.Node { tape.nodes[Int(number)] }

  func key(_ key: any CodingKey) -> UInt32 { tape.key(key.stringValue) }

  /// Reserves a node for a value.
  func open(in parent: UInt32, key: UInt32, depth: UInt16) -> UInt32 {
    tape.append(.open, 0, to: parent, key: key, depth: depth)
  }

  func append(_ kind: ValueTape.Kind, _ payload: UInt64, to parent: UInt32, key: UInt32) {
    _ = tape.append(kind, payload, to: parent, key: key, depth: node(parent).depth &+ 1)
  }

  func string(_ text: String) -> UInt64 { tape.string(text) }

  func fill(_ number: UInt32, _ kind: ValueTape.Kind, _ payload: UInt64) { tape.fill(number, kind, payload) }

  /// Turns a reserved node into a collection, unless it is one already: a subclass may ask for its
  /// superclass's container again.
  func makeCollection(_ kind: ValueTape.Kind, at number: UInt32) {
    if node(number).kind == .open {
      tape.fill(number, kind, ValueTape.noChildren)
      deepest = max(deepest, Int(node(number).depth))
    }
    precondition(node(number).kind == kind, "one encoder has containers of one kind only")
  }

  /// Encodes any value into a reserved node.
  func encode<T: Encodable>(_ value: T, at number: UInt32, path: CodingPath, key: (any CodingKey)?) throws {
    // Frequent element types are encoded without creating an encoder.
    if T.self == String.self, let text = value as? String {
      return tape.fill(number, .string, tape.string(text))
    }
    if T.self == Int.self, let integer = value as? Int {
      return tape.fill(number, .integer, UInt64(bitPattern: Int64(integer)))
    }
    let special: FleeceScalar?
    do throws(FleeceError) { special = try self.special.scalar(for: value) } catch {
      // The error omits the value, whose description may trap: on some systems, describing a date
      // that is not a number does.
      throw refusal("\(T.self)", error, key.map(path.appending) ?? path)
    }
    if let special { return try store(special, at: number, value, path, key) }
    let path = key.map(path.appending) ?? path
    guard path.depth < FleeceLimits.codingDepth else { throw refusal(value, FleeceError.tooDeep(), path) }
    try value.encode(to: PlaceEncoder(target: self, number: number, path: path))
    // A value that wrote nothing becomes an empty dictionary.
    if node(number).kind == .open { makeCollection(.dictionary, at: number) }
  }

  private func refusal<T>(_ value: T, _ error: FleeceError, _ path: CodingPath) -> EncodingError {
    .invalidValue(value, EncodingError.Context(codingPath: path.keys, debugDescription: error.reason))
  }

  private func store<T>(
    _ scalar: FleeceScalar, at number: UInt32, _ value: T, _ path: CodingPath, _ key: (any CodingKey)?
  ) throws {
    switch scalar {
    case .string(let text): tape.fill(number, .string, tape.string(text))
    case .data(let bytes):
      tape.fill(number, .data, bytes.withUnsafeBytes { $0.withStart { UInt64(tape.strings.add($0, $1)) } })
    case .integer(let integer): tape.fill(number, .integer, UInt64(bitPattern: integer))
    case .double(let double):
      let (kind, payload) = try finiteNumber(double, path, key)
      tape.fill(number, kind, payload)
    }
  }

  /// Returns the kind and payload of a double; throws if JSON has no form for it.
  func finiteNumber(_ value: Double, _ path: CodingPath, _ key: (any CodingKey)?) throws -> (
    ValueTape.Kind, UInt64
  ) {
    guard value.isFinite else {
      throw EncodingError.invalidValue(
        value,
        EncodingError.Context(
          codingPath: (key.map(path.appending) ?? path).keys,
          debugDescription: "\(value) cannot be stored: it is not a finite number"))
    }
    return ValueTape.Kind.number(value)
  }
}

/// The encoder of the value in one node.
struct PlaceEncoder: Encoder {
  let target: EncodingTarget
  let number: UInt32
  let path: CodingPath

  var codingPath: [any CodingKey] { path.keys }
  var userInfo: [CodingUserInfoKey: Any] { target.userInfo }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    target.makeCollection(.dictionary, at: number)
    return KeyedEncodingContainer(MemberEncoding<Key>(target: target, number: number, path: path))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    target.makeCollection(.array, at: number)
    return ElementEncoding(target: target, number: number, path: path)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { self }
}

extension PlaceEncoder: SingleValueEncodingContainer {
  func encodeNil() { target.fill(number, .null, 0) }
  func encode(_ value: Bool) { target.fill(number, value ? .yes : .no, 0) }
  func encode(_ value: String) { target.fill(number, .string, target.string(value)) }
  func encode(_ value: Double) throws {
    let (kind, payload) = try target.finiteNumber(value, path, nil)
    target.fill(number, kind, payload)
  }
  func encode(_ value: Float) throws { try encode(Double(value)) }
  private func signed(_ value: some SignedInteger) {
    target.fill(number, .integer, UInt64(bitPattern: Int64(value)))
  }
  private func unsigned(_ value: some UnsignedInteger) {
    let (kind, payload) = ValueTape.Kind.number(UInt64(value))
    target.fill(number, kind, payload)
  }
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
  func encode<T: Encodable>(_ value: T) throws { try target.encode(value, at: number, path: path, key: nil) }
}
