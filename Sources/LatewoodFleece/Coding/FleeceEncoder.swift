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
    // A type may have caught the error that an inner call threw.
    if let misuse = target.misuse { throw misuse }
    do throws(FleeceError) {
      return try target.finish()
    } catch {
      throw EncodingError.invalidValue(
        value, EncodingError.Context(codingPath: [], debugDescription: error.reason, underlyingError: error))
    }
  }
}

/// The tape to which all containers of one encoding write.
///
/// An `Encodable` can misuse its encoder in calls that cannot throw. The first misuse is kept, and
/// the encoding ends with it; values written in between go to nodes outside of the root.
///
/// Invariant: a node is filled once, and children are added only to collections.
final class EncodingTarget {
  private(set) var tape = ValueTape()
  private let special: any FleeceSpecialTypes
  let userInfo: [CodingUserInfoKey: Any]
  private var deepest = 0
  /// The calls of `encode(to:)` that are running.
  private var running = 0
  /// The first misuse.
  private(set) var misuse: EncodingError?

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

  /// Fills the node of a single value.
  ///
  /// - Throws: `EncodingError` if it has a value already.
  func fill(_ number: UInt32, _ kind: ValueTape.Kind, _ payload: UInt64, _ path: CodingPath) throws {
    try checkOpen(number, path)
    tape.fill(number, kind, payload)
  }

  /// Throws if a single value has been encoded already.
  func checkOpen(_ number: UInt32, _ path: CodingPath) throws {
    guard node(number).kind == .open else {
      throw note("a type encodes a second value where it has encoded one: encode one value only", path)
    }
  }

  /// Turns a reserved node into a collection, unless it is one already: a subclass may ask for its
  /// superclass's container again.
  ///
  /// - Returns: the node to write to.
  func makeCollection(_ kind: ValueTape.Kind, at number: UInt32, _ path: CodingPath) -> UInt32 {
    if node(number).kind == .open {
      tape.fill(number, kind, ValueTape.noChildren)
      deepest = max(deepest, Int(node(number).depth))
    }
    if node(number).kind == kind { return number }
    note(
      "a type asks for containers of two kinds, or for one where it has encoded a value: use one", path)
    return tape.append(
      kind, ValueTape.noChildren, to: ValueTape.none, key: ValueTape.none, depth: node(number).depth)
  }

  /// Keeps an error that calls which cannot throw have found.
  @discardableResult
  @inline(never) func note(_ reason: String, _ path: CodingPath) -> EncodingError {
    if let misuse { return misuse }
    let error = EncodingError.invalidValue(
      Void.self, EncodingError.Context(codingPath: path.keys, debugDescription: reason))
    misuse = error
    return error
  }

  /// Returns the path of a value in a container.
  func path(_ outer: CodingPath, _ key: any CodingKey) -> CodingPath {
    // Releasing a longer one would overflow the stack.
    guard outer.depth < FleeceLimits.depth else {
      note(FleeceError.tooDeep().reason, outer)
      return outer
    }
    return outer.appending(key)
  }

  /// Encodes any value into a reserved node.
  func encode<T: Encodable>(_ value: T, at number: UInt32, path: CodingPath, key: (any CodingKey)?) throws {
    // Frequent element types are encoded without creating an encoder.
    if T.self == String.self {
      return tape.fill(number, .string, tape.string(SameType.cast(value, to: String.self)))
    }
    if T.self == Int.self {
      return tape.fill(
        number, .integer, UInt64(bitPattern: Int64(SameType.cast(value, to: Int.self))))
    }
    let special: FleeceScalar?
    do throws(FleeceError) { special = try self.special.scalar(for: value) } catch {
      // The error omits the value, whose description may trap: on some systems, describing a date
      // that is not a number does.
      throw refusal("\(T.self)", error, key.map(path.appending) ?? path)
    }
    if let special { return try store(special, at: number, value, path, key) }
    let path = key.map(path.appending) ?? path
    guard path.depth < FleeceLimits.codingDepth, running < FleeceLimits.codingCalls else {
      throw refusal(value, FleeceError.tooDeep(), path)
    }
    running += 1
    defer { running -= 1 }
    try value.encode(to: NestedEncoder(target: self, number: number, path: path))
    // A value that wrote nothing becomes an empty dictionary.
    if node(number).kind == .open { _ = makeCollection(.dictionary, at: number, path) }
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
struct NestedEncoder: Encoder {
  let target: EncodingTarget
  let number: UInt32
  let path: CodingPath

  var codingPath: [any CodingKey] { path.keys }
  var userInfo: [CodingUserInfoKey: Any] { target.userInfo }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    let number = target.makeCollection(.dictionary, at: number, path)
    return KeyedEncodingContainer(MemberEncoding<Key>(target: target, number: number, path: path))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    let number = target.makeCollection(.array, at: number, path)
    return ElementEncoding(target: target, number: number, path: path)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { self }
}

extension NestedEncoder: SingleValueEncodingContainer {
  private func fill(_ kind: ValueTape.Kind, _ payload: UInt64) throws {
    try target.fill(number, kind, payload, path)
  }

  func encodeNil() throws { try fill(.null, 0) }
  func encode(_ value: Bool) throws { try fill(value ? .yes : .no, 0) }
  func encode(_ value: String) throws { try fill(.string, target.string(value)) }
  func encode(_ value: Double) throws {
    let (kind, payload) = try target.finiteNumber(value, path, nil)
    try fill(kind, payload)
  }
  func encode(_ value: Float) throws { try encode(Double(value)) }
  private func signed(_ value: some SignedInteger) throws {
    try fill(.integer, UInt64(bitPattern: Int64(value)))
  }
  private func unsigned(_ value: some UnsignedInteger) throws {
    let (kind, payload) = ValueTape.Kind.number(UInt64(value))
    try fill(kind, payload)
  }
  func encode(_ value: Int) throws { try signed(value) }
  func encode(_ value: Int8) throws { try signed(value) }
  func encode(_ value: Int16) throws { try signed(value) }
  func encode(_ value: Int32) throws { try signed(value) }
  func encode(_ value: Int64) throws { try signed(value) }
  func encode(_ value: UInt) throws { try unsigned(value) }
  func encode(_ value: UInt8) throws { try unsigned(value) }
  func encode(_ value: UInt16) throws { try unsigned(value) }
  func encode(_ value: UInt32) throws { try unsigned(value) }
  func encode(_ value: UInt64) throws { try unsigned(value) }
  func encode<T: Encodable>(_ value: T) throws {
    try target.checkOpen(number, path)
    try target.encode(value, at: number, path: path, key: nil)
  }
}
