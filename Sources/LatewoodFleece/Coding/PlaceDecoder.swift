/// The decoder of one value. Its containers consist of a reference to it, so that Swift, which
/// copies and boxes them, has little to copy.
final class PlaceDecoder: Decoder {
  let source: DecodingSource
  let element: FleeceElement
  let path: CodingPath
  /// The members of a dictionary that inherits from none; nil if this is another value.
  private let members: FleeceItems.Layout?

  init(source: DecodingSource, element: FleeceElement, path: CodingPath) {
    self.source = source
    self.element = element
    self.path = path
    do throws(FleeceError) {
      members = try element.withValue { (value) throws(FleeceError) in
        guard let items = try value.dictionary()?.items, try items.parent == nil else { return nil }
        return items.layout
      }
    } catch {
      members = nil
    }
  }

  var codingPath: [any CodingKey] { path.keys }
  var userInfo: [CodingUserInfoKey: Any] { source.userInfo }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    let kind = try DecodingSource.reading(path) { () throws(FleeceError) in try element.kind }
    guard kind == .dictionary else { throw try source.mismatch([String: Any].self, element, path) }
    return KeyedDecodingContainer(MemberDecoding<Key>(place: self))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    let kind = try DecodingSource.reading(path) { () throws(FleeceError) in try element.kind }
    guard kind == .array else { throw try source.mismatch([Any].self, element, path) }
    let count = try DecodingSource.reading(path) { () throws(FleeceError) in try element.count() }
    return ElementDecoding(place: self, total: count ?? 0)
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
  func decode<T: Decodable>(_ type: T.Type) throws -> T {
    try source.decode(type, element, depth: path.depth, path)
  }
}

/// The usual case of reading a member or an element: it is there, sound and of the expected type.
/// Everything else is nil, and left to `DecodingSource`, which reports it with its path.
extension PlaceDecoder {
  /// Returns the result of `read` for a member.
  @inline(__always) func member<Value>(
    _ name: String, _ read: (FleeceValue) throws(FleeceError) -> Value?
  ) -> Value? {
    guard let members else { return nil }
    return element.body.bytes.withContents { bytes in
      guard let start = bytes.baseAddress else { return nil }
      let items = FleeceItems(members, start: start, length: bytes.count)
      do throws(FleeceError) {
        return try PlaceDecoder.find(name, in: items).flatMap { (value) throws(FleeceError) in try read(value)
        }
      } catch {
        return nil
      }
    }
  }

  @inline(never) private static func find(_ name: String, in items: FleeceItems) -> FleeceValue? {
    var name = name
    return name.withUTF8 { key in
      do throws(FleeceError) { return try items.value(for: UnsafeRawBufferPointer(key)) } catch { return nil }
    }
  }

  func element(of name: String) -> FleeceElement? { member(name) { FleeceElement($0, of: element.body) } }
  func string(of name: String) -> String? {
    member(name) { value throws(FleeceError) in try value.provenString() }
  }
  @inline(__always) func integer<T: FixedWidthInteger>(_ type: T.Type, of name: String) -> T? {
    member(name) { value throws(FleeceError) in try value.integer(type) }
  }
  @inline(__always) func float<T: BinaryFloatingPoint>(_ type: T.Type, of name: String) -> T? {
    member(name) { value throws(FleeceError) in try value.float(type) }
  }

  /// Returns the result of `read` for an element of an array.
  @inline(__always) func element<Value>(
    at index: Int, _ read: (FleeceValue) throws(FleeceError) -> Value?
  ) -> Value? {
    do throws(FleeceError) {
      return try element.withValue { (value) throws(FleeceError) -> Value? in
        guard let array = try value.array(), index >= 0, index < array.count else { return nil }
        return try read(try array.value(at: index))
      }
    } catch {
      return nil
    }
  }
}
