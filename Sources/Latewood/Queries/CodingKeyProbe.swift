import LatewoodConcurrency
import LatewoodQuery

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Finds the members under which a type stores its properties, by running its `init(from:)`.
///
/// The first container that the type requests reveals the type of its coding keys. That is usually
/// an enum whose cases have the names of the properties (``EnumCases``). This run decodes no
/// values, so it does not matter which values the members accept. If a property is not among the
/// cases, as in a class, a second run gives every member a simple value of its type. It finds the
/// keys of inherited members, and keys that are not an enum, and ends at the first member that
/// rejects such a value.
struct CodingKeyProbe: Sendable {
  /// The paths of members by the names of properties.
  private var paths: [String: [String]] = [:]
  /// Names that stand for two different members.
  private var ambiguous: Set<String> = []

  private struct Run: Hashable {
    let type: ObjectIdentifier
    let decodesValues: Bool
  }
  private static let known = Guarded<[Run: CodingKeyProbe]>([:])

  /// Returns the path of the member in which a type stores a property; nil if it cannot be
  /// determined.
  static func path(of property: String, in type: any Decodable.Type) -> FieldPath? {
    for decodesValues in [false, true] {
      let found = probe(of: type, decodesValues: decodesValues)
      guard let path = found.paths[property], !found.ambiguous.contains(property) else { continue }
      return FieldPath(steps: path.map { FieldPath.Step($0) })
    }
    return nil
  }

  /// Returns the texts of the paths of all members that can be determined, in order.
  static func members(of type: any Decodable.Type) -> [String] {
    let paths = probe(of: type, decodesValues: true).paths.values
    return paths.map { path in FieldPath(steps: path.map { FieldPath.Step($0) }).text }.sorted()
  }

  private static func probe(of type: any Decodable.Type, decodesValues: Bool) -> CodingKeyProbe {
    let run = Run(type: ObjectIdentifier(type), decodesValues: decodesValues)
    if let found = known.withLock({ $0[run] }) { return found }
    let probe = CodingKeyProbe(type, decodesValues: decodesValues)
    known.withLock { $0[run] = probe }
    return probe
  }

  private init<Value: Decodable>(_ type: Value.Type, decodesValues: Bool) {
    // A document stores such a type in a special form, not by the type's own coding.
    guard !SpecialTypes().isSpecial(type) else { return }
    let decoder = ProbeDecoder(decodesValues: decodesValues, found: ProbeFindings())
    _ = try? type.init(from: decoder)
    for (outer, keys) in decoder.found?.keyTypes ?? [] { add(keys, in: outer) }
    for (outer, name) in decoder.found?.names ?? [] { add(outer + [name], for: name) }
  }

  private mutating func add<Key: CodingKey>(_ type: Key.Type, in outer: [String]) {
    for (name, key) in EnumCases.byName(of: type) ?? [:] { add(outer + [key.stringValue], for: name) }
  }

  private mutating func add(_ path: [String], for name: String) {
    if let other = paths.updateValue(path, forKey: name), other != path { ambiguous.insert(name) }
  }
}

/// The coding keys that a run has found at the top level of a type.
private final class ProbeFindings {
  /// The types of coding keys, each with the path to their members.
  var keyTypes: [([String], any CodingKey.Type)] = []
  /// The keys that were used, if their type does not list them, each with the path to its member.
  var names: [([String], String)] = []
}

private struct NoValue: Error {}

/// A decoder that returns dummy values, or none, and records the keys decoded at the top level.
private final class ProbeDecoder: Decoder {
  let codingPath: [any CodingKey] = []
  let userInfo: [CodingUserInfoKey: Any] = [:]
  let decodesValues: Bool
  /// The path of the members that this decodes.
  let path: [String]
  /// The keys found so far; nil inside a member, where nothing is recorded.
  let found: ProbeFindings?
  private let depth: Int

  init(decodesValues: Bool = true, path: [String] = [], found: ProbeFindings? = nil, depth: Int = 0) {
    self.decodesValues = decodesValues
    self.path = path
    self.found = found
    self.depth = depth
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    found?.keyTypes.append((path, type))
    guard decodesValues else { throw NoValue() }
    return KeyedDecodingContainer(
      ProbeMembers<Key>(decoder: self, names: EnumCases.byName(of: type) == nil ? found : nil))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard decodesValues else { throw NoValue() }
    return ProbeElements(decoder: self)
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer {
    guard decodesValues else { throw NoValue() }
    return ProbeValue(decoder: self)
  }

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
  /// Receives the keys that are used; nil if their type lists them.
  let names: ProbeFindings?
  let codingPath: [any CodingKey] = []
  let allKeys: [Key] = []

  private func note(_ key: Key) { names?.names.append((decoder.path, key.stringValue)) }

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
  ) throws -> KeyedDecodingContainer<Nested> {
    note(key)
    return try ProbeDecoder().container(keyedBy: type)
  }
  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedDecodingContainer {
    note(key)
    return ProbeElements(decoder: decoder)
  }
  func superDecoder() -> any Decoder {
    ProbeDecoder(path: decoder.path + ["super"], found: decoder.found)
  }
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
  ) throws -> KeyedDecodingContainer<Nested> { try ProbeDecoder().container(keyedBy: type) }
  mutating func nestedUnkeyedContainer() -> any UnkeyedDecodingContainer { self }
  mutating func superDecoder() -> any Decoder { decoder }
}

private struct ProbeValue: SingleValueDecodingContainer {
  let decoder: ProbeDecoder
  let codingPath: [any CodingKey] = []

  func decodeNil() -> Bool { true }
  func decode<T: Decodable>(_ type: T.Type) throws -> T { try decoder.make(type) }
}
