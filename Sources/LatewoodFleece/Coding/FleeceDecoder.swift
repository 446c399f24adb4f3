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
    let hasUnicodeKeys = try DecodingSource.reading(.root) { () throws(FleeceError) in
      try element.withValue { (value) throws(FleeceError) -> Bool in
        var keys = KeyScripts()
        try FleeceWalk.run(value, into: &keys)
        return keys.hasUnicode
      }
    }
    let source = DecodingSource(
      special: special, userInfo: userInfo, addition: addition, hasUnicodeKeys: hasUnicodeKeys)
    return try source.decode(type, element, depth: 0, .root)
  }
}

/// The state that all containers of one decoding share; decodes single values.
///
/// Invariant: everything in the elements that are decoded has been validated.
final class DecodingSource {
  private let special: any FleeceSpecialTypes
  private let sendableInfo: [CodingUserInfoKey: any Sendable]
  private let addition: ((String) -> String?)?
  /// Whether a key in the bytes has letters beyond ASCII.
  private let hasUnicodeKeys: Bool
  /// The calls of `init(from:)` that are running.
  private var running = 0

  init(
    special: any FleeceSpecialTypes, userInfo: [CodingUserInfoKey: any Sendable],
    addition: ((String) -> String?)?, hasUnicodeKeys: Bool
  ) {
    self.special = special
    sendableInfo = userInfo
    self.addition = addition
    self.hasUnicodeKeys = hasUnicodeKeys
  }

  private(set) lazy var userInfo: [CodingUserInfoKey: Any] = sendableInfo

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

  /// - Parameter depth: the depth of `path`, which is needed only for errors and decoders.
  func decode<T: Decodable>(
    _ type: T.Type, _ element: FleeceElement, depth: Int, _ path: @autoclosure () -> CodingPath
  ) throws -> T {
    // Frequent types are decoded without creating a decoder.
    if type == String.self { return SameType.cast(try string(element, path()), to: type) }
    if type == Int.self { return SameType.cast(try integer(Int.self, element, path()), to: type) }
    if type == Double.self { return SameType.cast(try float(Double.self, element, path()), to: type) }
    if special.isSpecial(type) { return try specialValue(type, element, path()) }
    guard depth < FleeceLimits.codingDepth, running < FleeceLimits.codingCalls else {
      throw DecodingSource.damaged(FleeceError.tooDeep(), path())
    }
    // So are arrays of them. An element that does not fit is reported by decoding each.
    if type == [String].self,
      let list = list(element, { value throws(FleeceError) in try value.provenString() })
    {
      return SameType.cast(list, to: type)
    }
    if type == [Int].self,
      let list = list(element, { value throws(FleeceError) in try value.integer(Int.self) })
    {
      return SameType.cast(list, to: type)
    }
    if type == [Double].self,
      let list = list(element, { value throws(FleeceError) in try value.float(Double.self) })
    {
      return SameType.cast(list, to: type)
    }
    let path = path()
    // Keys in ASCII cannot differ only in their composition.
    if hasUnicodeKeys, type is any TextKeyed.Type { try refuseEqualKeys(element, path) }
    running += 1
    defer { running -= 1 }
    return try T(from: PlaceDecoder(source: self, element: element, path: path))
  }

  // A separate function, so that only special types pay for the lookup of their optional type.
  @inline(never) private func specialValue<T: Decodable>(
    _ type: T.Type, _ element: FleeceElement, _ path: @autoclosure () -> CodingPath
  ) throws -> T {
    let value = try DecodingSource.reading(path()) { () throws(FleeceError) in
      try special.value(type, from: element)
    }
    guard let value else { throw try mismatch(type, element, path()) }
    return value
  }

  /// Returns the elements of an array; nil if one does not fit, or this is not an array.
  @inline(__always) private func list<Value>(
    _ element: FleeceElement, _ read: (FleeceValue) throws(FleeceError) -> Value?
  ) -> [Value]? {
    do throws(FleeceError) {
      return try element.withValue { (value) throws(FleeceError) -> [Value]? in
        guard let array = try value.array() else { return nil }
        var list: [Value] = []
        // No more memory than a few pages before the first element has been read.
        list.reserveCapacity(min(array.count, 256))
        for index in 0..<array.count {
          guard let value = try read(try array.value(at: index)) else { return nil }
          list.append(value)
        }
        return list
      }
    } catch {
      return nil
    }
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
    let value = try DecodingSource.reading(path()) { () throws(FleeceError) in
      try element.withValue { value throws(FleeceError) in try value.provenString() }
    }
    guard let value else { throw try mismatch(String.self, element, path()) }
    return value
  }

  @inline(__always) func integer<T: FixedWidthInteger>(
    _ type: T.Type, _ element: FleeceElement, _ path: @autoclosure () -> CodingPath
  ) throws -> T {
    let value = try DecodingSource.reading(path()) { () throws(FleeceError) in
      try element.withValue { value throws(FleeceError) in try value.integer(type) }
    }
    guard let value else { throw try misfit(type, element, path()) }
    return value
  }

  @inline(__always) func float<T: BinaryFloatingPoint>(
    _ type: T.Type, _ element: FleeceElement, _ path: @autoclosure () -> CodingPath
  ) throws -> T {
    let value = try DecodingSource.reading(path()) { () throws(FleeceError) in
      try element.withValue { value throws(FleeceError) in try value.float(type) }
    }
    guard let value else { throw try misfit(type, element, path()) }
    return value
  }

  private func misfit(_ type: Any.Type, _ element: FleeceElement, _ path: CodingPath) throws -> DecodingError
  {
    let number = try DecodingSource.reading(path) { () throws(FleeceError) in try element.number() }
    guard number != nil else { return try mismatch(type, element, path) }
    return .dataCorrupted(
      DecodingError.Context(codingPath: path.keys, debugDescription: "the number does not fit \(type)"))
  }
}

extension FleeceValue {
  /// Returns a number as an integer; nil if it is another value, or does not fit.
  @inline(__always) func integer<T: FixedWidthInteger>(_ type: T.Type) throws(FleeceError) -> T? {
    switch try number() {
    case .integer(let integer)?: T(exactly: integer)
    case .unsigned(let integer)?: T(exactly: integer)
    case .double(let double)?: T(exactly: double)
    case nil: nil
    }
  }

  /// Returns a number as the nearest of a type; nil if it is another value, or too great.
  @inline(__always) func float<T: BinaryFloatingPoint>(_ type: T.Type) throws(FleeceError) -> T? {
    switch try number() {
    case .integer(let integer)?: return T(integer)
    case .unsigned(let integer)?: return T(integer)
    case .double(let double)?:
      let value = T(double)
      return value.isFinite || !double.isFinite ? value : nil
    case nil: return nil
    }
  }

  /// Returns a string in bytes that have been validated.
  @inline(__always) func provenString() throws(FleeceError) -> String? {
    try text().map { String(decoding: $0, as: UTF8.self) }
  }
}

/// Validates a value, and notes whether it has keys with letters beyond ASCII.
private struct KeyScripts: FleeceVisitor {
  private(set) var hasUnicode = false

  mutating func key(_ value: UnsafeRawBufferPointer) {
    if !value.withStart({ UTF8Text.isASCII($0, $1) }) { hasUnicode = true }
  }
  func null() {}
  func boolean(_ value: Bool) {}
  func integer(_ value: Int64) {}
  func unsigned(_ value: UInt64) {}
  func double(_ value: Double) {}
  func text(_ value: UnsafeRawBufferPointer) {}
  func data(_ value: UnsafeRawBufferPointer) {}
  func beginArray() {}
  func endArray() {}
  func beginDictionary() {}
  func endDictionary() {}
}

/// A Swift dictionary with text keys, which treats keys as equal if they differ only in Unicode
/// normalization.
private protocol TextKeyed {}

extension Dictionary: TextKeyed where Key == String {}
