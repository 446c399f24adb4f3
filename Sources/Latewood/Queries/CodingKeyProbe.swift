import LatewoodConcurrency

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Finds the coding keys of a type by decoding an instance from dummy values: every member gets a
/// simple value of its type.
///
/// The keys of a type that rejects such values remain unknown.
enum CodingKeyProbe {
  private static let known = Guarded<[ObjectIdentifier: Set<String>?]>([:])

  /// Returns the keys that a type decodes; nil if they cannot be determined.
  static func keys(of type: any Decodable.Type) -> Set<String>? {
    if let found = known.withLock({ $0[ObjectIdentifier(type)] }) { return found }
    let decoder = ProbeDecoder()
    var keys: Set<String>?
    do {
      _ = try type.init(from: decoder)
      keys = decoder.keys.isEmpty ? nil : decoder.keys
    } catch {}
    known.withLock { $0[ObjectIdentifier(type)] = .some(keys) }
    return keys
  }
}

private struct NoValue: Error {}

/// A decoder that returns dummy values, and records the keys decoded at the top level.
private final class ProbeDecoder: Decoder {
  fileprivate(set) var keys: Set<String> = []
  let codingPath: [any CodingKey] = []
  let userInfo: [CodingUserInfoKey: Any] = [:]
  private let depth: Int

  init(depth: Int = 0) { self.depth = depth }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(ProbeMembers<Key>(decoder: self))
  }

  func unkeyedContainer() -> any UnkeyedDecodingContainer { ProbeElements(decoder: self) }
  func singleValueContainer() -> any SingleValueDecodingContainer { ProbeValue(decoder: self) }

  func make<T: Decodable>(_ type: T.Type) throws -> T {
    if let known = knownPlaceholder(type) { return known }
    // A type that contains itself without an optional cannot have a value.
    guard depth < 8 else { throw NoValue() }
    return try T(from: ProbeDecoder(depth: depth + 1))
  }

  private func knownPlaceholder<T>(_ type: T.Type) -> T? {
    let values: [Any] = [
      false, "", 0, Int8(0), Int16(0), Int32(0), Int64(0), UInt(0), UInt8(0), UInt16(0), UInt32(0), UInt64(0),
      Float(0), 0.0, Date(timeIntervalSince1970: 0), Data(), UUID(),
    ]
    for value in values where Swift.type(of: value) == type { return value as? T }
    if type == URL.self { return URL(string: "a:b") as? T }
    guard let cases = type as? any CaseIterable.Type else { return nil }
    return first(cases) as? T
  }

  private func first<Cases: CaseIterable>(_ cases: Cases.Type) -> Any? { cases.allCases.first }
}

private struct ProbeMembers<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let decoder: ProbeDecoder
  let codingPath: [any CodingKey] = []
  let allKeys: [Key] = []

  private func note(_ key: Key) { decoder.keys.insert(key.stringValue) }

  func contains(_ key: Key) -> Bool {
    note(key)
    return true
  }
  func decodeNil(forKey key: Key) -> Bool {
    note(key)
    return false
  }
  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    note(key)
    return try decoder.make(type)
  }
  func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) -> T? {
    note(key)
    return nil
  }
  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) -> KeyedDecodingContainer<Nested> {
    note(key)
    return ProbeDecoder().container(keyedBy: type)
  }
  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedDecodingContainer {
    note(key)
    return ProbeElements(decoder: decoder)
  }
  func superDecoder() -> any Decoder { decoder }
  func superDecoder(forKey key: Key) -> any Decoder {
    note(key)
    return ProbeDecoder()
  }
}

private struct ProbeElements: UnkeyedDecodingContainer {
  let decoder: ProbeDecoder
  let codingPath: [any CodingKey] = []
  let count: Int? = 0
  let isAtEnd = true
  let currentIndex = 0

  mutating func decodeNil() -> Bool { true }
  mutating func decode<T: Decodable>(_ type: T.Type) throws -> T { try decoder.make(type) }
  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type
  ) -> KeyedDecodingContainer<Nested> { ProbeDecoder().container(keyedBy: type) }
  mutating func nestedUnkeyedContainer() -> any UnkeyedDecodingContainer { self }
  mutating func superDecoder() -> any Decoder { decoder }
}

private struct ProbeValue: SingleValueDecodingContainer {
  let decoder: ProbeDecoder
  let codingPath: [any CodingKey] = []

  func decodeNil() -> Bool { true }
  func decode<T: Decodable>(_ type: T.Type) throws -> T { try decoder.make(type) }
}
