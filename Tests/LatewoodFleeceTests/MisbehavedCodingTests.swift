import Testing

@testable import LatewoodFleece

/// Types that use their coder in ways that the protocols allow by their form, but not by their
/// meaning. `JSONEncoder` ends the process for some of them.
@Suite struct MisbehavedCodingTests {
  private typealias Key = PlainKey

  private struct Misuse: Encodable {
    var body: (any Encoder) throws -> Void
    init(_ body: @escaping (any Encoder) throws -> Void) { self.body = body }
    func encode(to encoder: any Encoder) throws { try body(encoder) }
  }

  /// Expects an error of the value itself, of an element and of a member.
  private func refuses(
    _ name: String, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: @escaping (any Encoder) throws -> Void
  ) throws {
    let value = Misuse(body)
    for (path, encode) in [
      ("", { try FleeceEncoder().encode(value) }),
      ("Index 1", { try FleeceEncoder().encode([Misuse { _ in }, value]) }),
      ("a", { try FleeceEncoder().encode(["a": value]) }),
      ("", { try FleeceEncoder().encode(Misuse { try $0.encodeSingle(value) }) }),
    ] {
      do {
        _ = try encode()
        Issue.record("encoded \(name)", sourceLocation: sourceLocation)
      } catch EncodingError.invalidValue(_, let context) {
        let found = context.codingPath.map(\.stringValue).joined(separator: "/")
        #expect(found.hasPrefix(path), "\(name)", sourceLocation: sourceLocation)
        #expect(!context.debugDescription.isEmpty)
      }
    }
  }

  @Test func `a second value in the place of the first is an error`() throws {
    try refuses("nil, then a value") {
      var container = $0.singleValueContainer()
      try container.encodeNil()
      try container.encode(1)
    }
    try refuses("nil, then a container") {
      var container = $0.singleValueContainer()
      try container.encodeNil()
      var members = $0.container(keyedBy: Key.self)
      try members.encode(1, forKey: Key(stringValue: "a"))
    }
    try refuses("a container, then nil, then more members") {
      var members = $0.container(keyedBy: Key.self)
      try members.encode(1, forKey: Key(stringValue: "a"))
      var container = $0.singleValueContainer()
      try? container.encodeNil()
      try members.encode(2, forKey: Key(stringValue: "b"))
    }
    try refuses("two texts") {
      var container = $0.singleValueContainer()
      try container.encode("x")
      try container.encode("y")
    }
    try refuses("two dictionaries") {
      var container = $0.singleValueContainer()
      try container.encode(["a": 1])
      try container.encode(["b": 1])
    }
    try refuses("two values, the second of which is caught") {
      var container = $0.singleValueContainer()
      try container.encode(1.5)
      try? container.encode(true)
    }
    let all: [@Sendable (inout any SingleValueEncodingContainer) throws -> Void] = [
      { try $0.encodeNil() }, { try $0.encode(true) }, { try $0.encode("x") }, { try $0.encode(1.5) },
      { try $0.encode(1.5 as Float) }, { try $0.encode(1) }, { try $0.encode(1 as Int8) },
      { try $0.encode(1 as Int16) }, { try $0.encode(1 as Int32) }, { try $0.encode(1 as Int64) },
      { try $0.encode(1 as UInt) }, { try $0.encode(1 as UInt8) }, { try $0.encode(1 as UInt16) },
      { try $0.encode(1 as UInt32) }, { try $0.encode(1 as UInt64) }, { try $0.encode([1]) },
      { try $0.encode(["a": 1]) }, { try $0.encode(Misuse { _ in }) }, { try $0.encode(Int?.none) },
    ]
    for (index, first) in all.enumerated() {
      for (other, second) in all.enumerated() {
        try refuses("value \(index), then \(other)") {
          var container = $0.singleValueContainer()
          try first(&container)
          try second(&container)
        }
      }
    }
  }

  @Test func `containers of two kinds for one value are an error`() throws {
    try refuses("members, then elements") {
      var members = $0.container(keyedBy: Key.self)
      try members.encode(1, forKey: Key(stringValue: "a"))
      var elements = $0.unkeyedContainer()
      try elements.encode(1)
      try elements.encode(["x"])
      var nested = elements.nestedContainer(keyedBy: Key.self)
      try nested.encode(1, forKey: Key(stringValue: "a"))
      try members.encode([1], forKey: Key(stringValue: "b"))
    }
    try refuses("elements, then members") {
      var elements = $0.unkeyedContainer()
      var members = $0.container(keyedBy: Key.self)
      try members.encode(1, forKey: Key(stringValue: "a"))
      try elements.encode(1)
      #expect(elements.count == 1)
    }
    try refuses("a value, then elements") {
      var container = $0.singleValueContainer()
      try container.encode("x")
      var elements = $0.unkeyedContainer()
      for number in 0..<100 { try elements.encode(number) }
    }
  }

  private struct Endless: Codable {
    init() {}
    init(from decoder: any Decoder) throws { self = try decoder.singleValueContainer().decode(Endless.self) }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(self)
    }
  }

  @Test func `a type without end is an error`() throws {
    #expect(throws: EncodingError.self) { try FleeceEncoder().encode(Endless()) }
    #expect(throws: DecodingError.self) {
      try FleeceDecoder().decode(Endless.self, from: FleeceText.fleece("1"))
    }
    try refuses("containers without end") {
      var members = $0.container(keyedBy: Key.self)
      for _ in 0..<200_000 {
        members = members.nestedContainer(keyedBy: Key.self, forKey: Key(stringValue: "a"))
      }
    }
    try refuses("lists without end") {
      var elements = $0.unkeyedContainer()
      for _ in 0..<200_000 { elements = elements.nestedUnkeyedContainer() }
    }
    try refuses("encoders without end") {
      var encoder = $0
      for _ in 0..<200_000 {
        var members = encoder.container(keyedBy: Key.self)
        encoder = members.superEncoder()
      }
    }
  }

  /// A box around every element, which the coder sees as one more value in the same place.
  private struct Boxed<Value: Codable>: Codable {
    var value: Value
    init(_ value: Value) { self.value = value }
    init(from decoder: any Decoder) throws { value = try decoder.singleValueContainer().decode(Value.self) }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(value)
    }
  }

  @Test func `a value in several boxes is itself`() throws {
    let fleece = try FleeceEncoder().encode(["a": [Boxed(Boxed(Optional(Boxed(7))))]])
    #expect(try FleeceText.json(fleece) == #"{"a":[7]}"#)
    let read = try FleeceDecoder().decode([String: [Boxed<Boxed<Boxed<Int>?>>]].self, from: fleece)
    #expect(read["a"]?.first?.value.value?.value == 7)
  }

  @Test func `a type that encodes nothing is an empty dictionary`() throws {
    #expect(try FleeceText.json(FleeceEncoder().encode(Misuse { _ in })) == "{}")
    #expect(try FleeceText.json(FleeceEncoder().encode([Misuse { _ in }])) == "[{}]")
    #expect(try FleeceText.json(FleeceEncoder().encode(Misuse { _ = $0.singleValueContainer() })) == "{}")
    #expect(try FleeceText.json(FleeceEncoder().encode(Misuse { _ = $0.unkeyedContainer() })) == "[]")
  }

  @Test func `a container that outlives the encoding does no harm`() throws {
    var kept: KeyedEncodingContainer<Key>?
    let fleece = try FleeceEncoder().encode(
      Misuse {
        var members = $0.container(keyedBy: Key.self)
        try members.encode(1, forKey: Key(stringValue: "a"))
        kept = members
      })
    try kept?.encode(2, forKey: Key(stringValue: "b"))
    #expect(try FleeceText.json(fleece) == #"{"a":1}"#)
  }
}

extension Encoder {
  fileprivate func encodeSingle(_ value: some Encodable) throws {
    var container = singleValueContainer()
    try container.encode(value)
  }
}
