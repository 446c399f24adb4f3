/// Decodes any `Decodable` directly from Fleece, which is read in place.
///
/// All bytes are validated first, so that a few bytes cannot expand to endless values. Numbers must
/// fit: 300 is not a `UInt8`, and 1.5 is not an `Int`. Errors are `DecodingError`, with the path to
/// the value; if bytes are damaged, the underlying error is a `FleeceError`.
package struct FleeceDecoder {
  package var userInfo: [CodingUserInfoKey: any Sendable] = [:]
  package var special: any FleeceSpecialTypes
  /// Returns the text of an additional member of the outermost dictionary; nil if there is none
  /// with that name. Called only for names that are not in the bytes.
  package var addition: ((String) -> String?)?

  package init(special: any FleeceSpecialTypes = NoSpecialTypes()) { self.special = special }

  package func decode<T: Decodable>(_ type: T.Type, from fleece: [UInt8]) throws -> T {
    let root: FleeceElement
    do throws(FleeceError) {
      root = try FleeceBody(fleece).root
    } catch {
      throw DecodingSource.damaged(error, .root)
    }
    return try decode(type, from: root)
  }

  package func decode<T: Decodable>(_ type: T.Type, from element: FleeceElement) throws -> T {
    let source = DecodingSource(special: special, userInfo: userInfo, addition: addition)
    try DecodingSource.reading(.root) { () throws(FleeceError) in try element.validate() }
    return try source.decode(type, element, .root)
  }
}

/// The state that all containers of one decoding share; decodes single values.
final class DecodingSource {
  private let special: any FleeceSpecialTypes
  let userInfo: [CodingUserInfoKey: Any]
  private let addition: ((String) -> String?)?
  /// The calls of `init(from:)` that are running.
  private var running = 0

  init(
    special: any FleeceSpecialTypes, userInfo: [CodingUserInfoKey: Any], addition: ((String) -> String?)?
  ) {
    self.special = special
    self.userInfo = userInfo
    self.addition = addition
  }

  /// Returns an additional member of the outermost dictionary.
  func added(_ name: String, _ path: CodingPath) throws(FleeceError) -> FleeceElement? {
    guard path.depth == 0, let text = addition?(name) else { return nil }
    var writer = FleeceWriter()
    try writer.string(text)
    return try FleeceBody(written: writer.finish()).root
  }

  static func damaged(_ error: FleeceError, _ path: CodingPath) -> DecodingError {
    .dataCorrupted(
      DecodingError.Context(
        codingPath: path.keys, debugDescription: error.description, underlyingError: error))
  }

  /// Runs `body` and adds the path in the value to an error about damage.
  static func reading<R>(_ path: @autoclosure () -> CodingPath, _ body: () throws(FleeceError) -> R) throws
    -> R
  {
    do throws(FleeceError) {
      return try body()
    } catch {
      throw damaged(error, path())
    }
  }

  func decode<T: Decodable>(_ type: T.Type, _ element: FleeceElement, _ path: @autoclosure () -> CodingPath)
    throws -> T
  {
    // Frequent element types are decoded without creating a decoder.
    if type == String.self, let value = try string(element, path()) as? T { return value }
    if type == Int.self, let value = try integer(Int.self, element, path()) as? T { return value }
    if type == Double.self, let value = try float(Double.self, element, path()) as? T { return value }
    let path = path()
    if special.isSpecial(type) {
      let value = try DecodingSource.reading(path) { () throws(FleeceError) in
        try special.value(type, from: element)
      }
      guard let value else { throw try mismatch(type, element, path) }
      return value
    }
    guard path.depth < FleeceLimits.codingDepth, running < FleeceLimits.codingCalls else {
      throw DecodingSource.damaged(FleeceError.tooDeep(), path)
    }
    if type is any TextKeyed.Type { try refuseEqualKeys(element, path) }
    running += 1
    defer { running -= 1 }
    return try T(from: PlaceDecoder(source: self, element: element, path: path))
  }

  /// Throws if two keys are equal as Swift strings: a Swift dictionary would silently lose a
  /// member.
  private func refuseEqualKeys(_ element: FleeceElement, _ path: CodingPath) throws {
    let members = try DecodingSource.reading(path) { () throws(FleeceError) in
      try element.members()
    }
    var seen: Set<String> = []
    for (key, _) in members ?? [] where !key.utf8.allSatisfy({ $0 < 0x80 }) && !seen.insert(key).inserted {
      throw DecodingError.dataCorrupted(
        DecodingError.Context(
          codingPath: path.keys,
          debugDescription: "two keys differ only in how the letters of “\(key)” are composed"))
    }
  }

  func mismatch(_ type: Any.Type, _ element: FleeceElement, _ path: CodingPath) throws -> DecodingError {
    let kind = try DecodingSource.reading(path) { () throws(FleeceError) in try element.kind }
    if kind == .null || kind == .undefined {
      return .valueNotFound(
        type,
        DecodingError.Context(codingPath: path.keys, debugDescription: "\(type) is expected, null found"))
    }
    return .typeMismatch(
      type,
      DecodingError.Context(codingPath: path.keys, debugDescription: "\(type) is expected, \(kind) found"))
  }

  func isNull(_ element: FleeceElement, _ path: @autoclosure () -> CodingPath) throws -> Bool {
    try DecodingSource.reading(path()) { () throws(FleeceError) in
      let kind = try element.kind
      return kind == .null || kind == .undefined
    }
  }

  func boolean(_ element: FleeceElement, _ path: @autoclosure () -> CodingPath) throws -> Bool {
    let value = try DecodingSource.reading(path()) { () throws(FleeceError) in try element.boolean() }
    guard let value else { throw try mismatch(Bool.self, element, path()) }
    return value
  }

  func string(_ element: FleeceElement, _ path: @autoclosure () -> CodingPath) throws -> String {
    let value = try DecodingSource.reading(path()) { () throws(FleeceError) in try element.string() }
    guard let value else { throw try mismatch(String.self, element, path()) }
    return value
  }

  func integer<T: FixedWidthInteger>(
    _ type: T.Type, _ element: FleeceElement, _ path: @autoclosure () -> CodingPath
  ) throws -> T {
    let number = try DecodingSource.reading(path()) { () throws(FleeceError) in try element.number() }
    let value: T?
    switch number {
    case .integer(let integer)?: value = T(exactly: integer)
    case .unsigned(let integer)?: value = T(exactly: integer)
    case .double(let double)?: value = T(exactly: double)
    case nil: throw try mismatch(type, element, path())
    }
    guard let value else { throw misfit(type, path()) }
    return value
  }

  func float<T: BinaryFloatingPoint>(
    _ type: T.Type, _ element: FleeceElement, _ path: @autoclosure () -> CodingPath
  ) throws -> T {
    let number = try DecodingSource.reading(path()) { () throws(FleeceError) in try element.number() }
    switch number {
    case .integer(let integer)?: return T(integer)
    case .unsigned(let integer)?: return T(integer)
    case .double(let double)?:
      let value = T(double)
      guard value.isFinite || !double.isFinite else { throw misfit(type, path()) }
      return value
    case nil: throw try mismatch(type, element, path())
    }
  }

  private func misfit(_ type: Any.Type, _ path: CodingPath) -> DecodingError {
    .dataCorrupted(
      DecodingError.Context(codingPath: path.keys, debugDescription: "the number does not fit \(type)"))
  }
}

/// The decoder of one value.
struct PlaceDecoder: Decoder {
  let source: DecodingSource
  let element: FleeceElement
  let path: CodingPath

  var codingPath: [any CodingKey] { path.keys }
  var userInfo: [CodingUserInfoKey: Any] { source.userInfo }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    let kind = try DecodingSource.reading(path) { () throws(FleeceError) in try element.kind }
    guard kind == .dictionary else { throw try source.mismatch([String: Any].self, element, path) }
    return KeyedDecodingContainer(MemberDecoding<Key>(source: source, element: element, path: path))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    let kind = try DecodingSource.reading(path) { () throws(FleeceError) in try element.kind }
    guard kind == .array else { throw try source.mismatch([Any].self, element, path) }
    let count = try DecodingSource.reading(path) { () throws(FleeceError) in try element.count() }
    return ElementDecoding(source: source, element: element, path: path, total: count ?? 0)
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { self }
}

extension PlaceDecoder: SingleValueDecodingContainer {
  func decodeNil() -> Bool { (try? source.isNull(element, path)) ?? false }
  func decode(_ type: Bool.Type) throws -> Bool { try source.boolean(element, path) }
  func decode(_ type: String.Type) throws -> String { try source.string(element, path) }
  func decode(_ type: Double.Type) throws -> Double { try source.float(type, element, path) }
  func decode(_ type: Float.Type) throws -> Float { try source.float(type, element, path) }
  func decode(_ type: Int.Type) throws -> Int { try source.integer(type, element, path) }
  func decode(_ type: Int8.Type) throws -> Int8 { try source.integer(type, element, path) }
  func decode(_ type: Int16.Type) throws -> Int16 { try source.integer(type, element, path) }
  func decode(_ type: Int32.Type) throws -> Int32 { try source.integer(type, element, path) }
  func decode(_ type: Int64.Type) throws -> Int64 { try source.integer(type, element, path) }
  func decode(_ type: UInt.Type) throws -> UInt { try source.integer(type, element, path) }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try source.integer(type, element, path) }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try source.integer(type, element, path) }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try source.integer(type, element, path) }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try source.integer(type, element, path) }
  func decode<T: Decodable>(_ type: T.Type) throws -> T { try source.decode(type, element, path) }
}

/// A Swift dictionary with text keys, which treats keys as equal if they differ only in Unicode
/// normalization.
private protocol TextKeyed {}

extension Dictionary: TextKeyed where Key == String {}
