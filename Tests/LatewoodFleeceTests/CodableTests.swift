import Testing

@testable import LatewoodFleece

@Suite struct CodableTests {
  private func roundTrip<T: Codable & Equatable>(
    _ value: T, _ json: String? = nil, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let fleece = try FleeceEncoder().encode(value)
    #expect(try FleeceDecoder().decode(T.self, from: fleece) == value, sourceLocation: sourceLocation)
    guard let json else { return }
    #expect(try FleeceText.json(fleece) == json, sourceLocation: sourceLocation)
    #expect(
      try FleeceText.fleece(json) == fleece, "not the bytes of the text", sourceLocation: sourceLocation)
  }

  struct Address: Codable, Equatable {
    var street: String
    var number: Int?
    var coordinates: [Double]
  }

  struct Person: Codable, Equatable {
    var name: String
    var age: UInt8
    var isAlive: Bool
    var height: Float
    var address: Address?
    var friends: [Person]
    var tags: [String: [Int]]
    var nothing: String?
    var matrix: [[Int8]]
  }

  @Test func `nested structs become dictionaries with sorted keys`() throws {
    let friend = Person(
      name: "Bó", age: 0, isAlive: false, height: 0, address: nil, friends: [], tags: [:], nothing: nil,
      matrix: [[]])
    let person = Person(
      name: "Ana", age: 255, isAlive: true, height: 1.5,
      address: Address(street: "Rua 1", number: nil, coordinates: [1, -2.5, 1e300]), friends: [friend],
      tags: ["b": [1, 2], "a": []], nothing: nil, matrix: [[1, -128], [127]])
    try roundTrip(
      person,
      #"{"address":{"coordinates":[1,-2.5,1e+300],"street":"Rua 1"},"age":255,"friends":[{"age":0,"friends":[],"height":0,"isAlive":false,"matrix":[[]],"name":"Bó","tags":{}}],"height":1.5,"isAlive":true,"matrix":[[1,-128],[127]],"name":"Ana","tags":{"a":[],"b":[1,2]}}"#
    )
  }

  enum Shape: Codable, Equatable {
    case point
    case circle(radius: Double)
    case polygon([Int], name: String)
    indirect case group(Shape, Shape)
  }

  @Test func `enums with associated values round-trip`() throws {
    try roundTrip(Shape.point, #"{"point":{}}"#)
    try roundTrip(Shape.circle(radius: 2), #"{"circle":{"radius":2}}"#)
    try roundTrip(
      [Shape.group(.polygon([1, 2], name: "x"), .point)],
      #"[{"group":{"_0":{"polygon":{"_0":[1,2],"name":"x"}},"_1":{"point":{}}}}]"#)
  }

  enum Color: String, Codable, CodingKeyRepresentable { case red, green }

  @Test func `scalars, optionals and dictionaries of all kinds round-trip`() throws {
    try roundTrip(true, "true")
    try roundTrip("x", #""x""#)
    try roundTrip(Int64.min, "-9223372036854775808")
    try roundTrip(UInt64.max, "18446744073709551615")
    try roundTrip(0.1 as Float)
    try roundTrip(-0.0, "-0.0")
    try roundTrip(Optional<Int>.none, "null")
    try roundTrip([1, nil, 3], "[1,null,3]")
    try roundTrip(["a": nil, "b": 1] as [String: Int?], #"{"a":null,"b":1}"#)
    try roundTrip([1: "x", 20: "y"], #"{"1":"x","20":"y"}"#)
    try roundTrip([Color.red, .green], #"["red","green"]"#)
    try roundTrip([Color.red: 1], #"{"red":1}"#)
    try roundTrip([Double: Int](), "[]")
    try roundTrip(Set([5]), "[5]")
    try roundTrip([[[[Int]]]](), "[]")
    try roundTrip(1..<5, "[1,5]")
  }

  class Animal: Codable {
    var name: String
    init(name: String) { self.name = name }
  }

  final class Dog: Animal {
    var legs: Int
    let nestsWithSuper: Bool

    init(name: String, legs: Int) {
      self.legs = legs
      nestsWithSuper = true
      super.init(name: name)
    }
    enum Keys: CodingKey { case legs }
    required init(from decoder: any Decoder) throws {
      let members = try decoder.container(keyedBy: Keys.self)
      legs = try members.decode(Int.self, forKey: .legs)
      nestsWithSuper = true
      try super.init(from: members.superDecoder())
    }
    override func encode(to encoder: any Encoder) throws {
      var members = encoder.container(keyedBy: Keys.self)
      let inherited = members.superEncoder()
      try members.encode(legs, forKey: .legs)
      try super.encode(to: inherited)
    }
  }

  final class Cat: Animal {
    var lives: Int
    init(name: String, lives: Int) {
      self.lives = lives
      super.init(name: name)
    }
    enum Keys: CodingKey { case lives }
    required init(from decoder: any Decoder) throws {
      lives = try decoder.container(keyedBy: Keys.self).decode(Int.self, forKey: .lives)
      try super.init(from: decoder)
    }
    override func encode(to encoder: any Encoder) throws {
      try super.encode(to: encoder)
      var members = encoder.container(keyedBy: Keys.self)
      try members.encode(lives, forKey: .lives)
    }
  }

  @Test func `inherited members are separate with superEncoder, and merged without it`() throws {
    let dog = try FleeceEncoder().encode(Dog(name: "Rex", legs: 4))
    #expect(try FleeceText.json(dog) == #"{"legs":4,"super":{"name":"Rex"}}"#)
    let decoded = try FleeceDecoder().decode(Dog.self, from: dog)
    #expect(decoded.name == "Rex" && decoded.legs == 4)
    let cat = try FleeceEncoder().encode(Cat(name: "Tom", lives: 9))
    #expect(try FleeceText.json(cat) == #"{"lives":9,"name":"Tom"}"#)
    #expect(try FleeceDecoder().decode(Cat.self, from: cat).name == "Tom")
  }

  /// Opens two containers and writes to them alternately; writes to an element's container late.
  struct Interleaved: Encodable {
    func encode(to encoder: any Encoder) throws {
      var members = encoder.container(keyedBy: PlainKey.self)
      var list = members.nestedUnkeyedContainer(forKey: PlainKey(stringValue: "list"))
      var inner = members.nestedContainer(keyedBy: PlainKey.self, forKey: PlainKey(stringValue: "inner"))
      try list.encode(1)
      try inner.encode("x", forKey: PlainKey(stringValue: "b"))
      let late = list.superEncoder()
      try list.encode(3)
      try inner.encode("y", forKey: PlainKey(stringValue: "a"))
      try inner.encode("z", forKey: PlainKey(stringValue: "b"))
      var single = late.singleValueContainer()
      try single.encode(2)
      _ = list.superEncoder()
      var nested = list.nestedUnkeyedContainer()
      try nested.encodeNil()
      #expect(list.count == 5)
    }
  }

  @Test func `several containers can be open at the same time`() throws {
    let fleece = try FleeceEncoder().encode(Interleaved())
    #expect(try FleeceText.json(fleece) == #"{"inner":{"a":"y","b":"z"},"list":[1,2,3,{},[null]]}"#)
  }

  private func path(_ keys: [any CodingKey]) -> String { keys.map(\.stringValue).joined(separator: "/") }

  @Test func `errors name the path to the value`() throws {
    let fleece = try FleeceText.fleece(
      #"{"name":"A","age":300,"isAlive":1,"height":1,"friends":[{"name":5}],"tags":{},"matrix":[]}"#)
    func failure<T: Decodable>(_ type: T.Type) -> String {
      let error = #expect(throws: DecodingError.self) { _ = try FleeceDecoder().decode(type, from: fleece) }
      switch error {
      case .typeMismatch(_, let context)?: return "type \(path(context.codingPath))"
      case .keyNotFound(let key, let context)?: return "key \(key.stringValue) \(path(context.codingPath))"
      case .valueNotFound(_, let context)?: return "value \(path(context.codingPath))"
      case .dataCorrupted(let context)?: return "corrupted \(path(context.codingPath))"
      default: return "\(String(describing: error))"
      }
    }
    struct Age: Decodable { var age: UInt8 }
    struct Alive: Decodable { var isAlive: Bool }
    struct Friends: Decodable {
      struct Friend: Decodable { var name: String }
      var friends: [Friend]
    }
    struct Missing: Decodable { var missing: Int }
    struct Fraction: Decodable { var tags: [String] }
    #expect(failure(Age.self) == "corrupted age")
    #expect(failure(Alive.self) == "type isAlive")
    #expect(failure(Friends.self) == "type friends/Index 0/name")
    #expect(failure(Missing.self) == "key missing ")
    #expect(failure(Fraction.self) == "type tags")
    #expect(failure([Int].self) == "type ")
  }

  @Test func `a number must fit its type`() throws {
    let decoder = FleeceDecoder()
    #expect(try decoder.decode(Double.self, from: FleeceText.fleece("3")) == 3)
    #expect(try decoder.decode(Int.self, from: FleeceText.fleece("3.0")) == 3)
    #expect(throws: DecodingError.self) { try decoder.decode(Int.self, from: FleeceText.fleece("3.5")) }
    #expect(throws: DecodingError.self) {
      try decoder.decode(Int64.self, from: FleeceText.fleece("9223372036854775808"))
    }
    #expect(throws: DecodingError.self) { try decoder.decode(UInt.self, from: FleeceText.fleece("-1")) }
    #expect(throws: DecodingError.self) { try decoder.decode(Float.self, from: FleeceText.fleece("1e300")) }
    #expect(throws: DecodingError.self) { try decoder.decode(Int.self, from: FleeceText.fleece("null")) }
  }

  @Test func `numbers that are not finite cannot be encoded`() throws {
    for value in [Double.nan, .infinity, -.infinity] {
      do {
        _ = try FleeceEncoder().encode(["a": [1, value]])
        Issue.record("encoded \(value)")
      } catch EncodingError.invalidValue(_, let context) {
        #expect(path(context.codingPath) == "a/Index 1")
      }
    }
  }

  /// A tree of any depth.
  final class Chain: Codable {
    var next: Chain?
    init(depth: Int) { next = depth > 1 ? Chain(depth: depth - 1) : nil }
  }

  @Test func `nesting is limited in both directions`() throws {
    let deepest = try FleeceEncoder().encode(Chain(depth: FleeceLimits.codingDepth))
    _ = try FleeceDecoder().decode(Chain.self, from: deepest)
    #expect(throws: EncodingError.self) {
      try FleeceEncoder().encode(Chain(depth: FleeceLimits.codingDepth + 1))
    }
    let text = String(repeating: "{\"next\":", count: 400) + "{}" + String(repeating: "}", count: 400)
    #expect(throws: DecodingError.self) {
      try FleeceDecoder().decode(Chain.self, from: FleeceText.fleece(text))
    }
  }

  /// Receives special treatment, as other modules give it to dates or data.
  struct Celsius: Codable, Equatable { var degrees: Double }
  struct Blob: Codable, Equatable { var bytes: [UInt8] }
  struct Weather: Codable, Equatable {
    var now: Celsius
    var forecast: [Celsius?]
    var picture: Blob
  }
  struct Special: FleeceSpecialTypes {
    func scalar<T: Encodable>(for value: T) -> FleeceScalar? {
      if T.self == Celsius.self, let value = value as? Celsius { return .string("\(value.degrees) C") }
      if T.self == Blob.self, let value = value as? Blob { return .data(value.bytes) }
      return nil
    }
    func isSpecial<T: Decodable>(_ type: T.Type) -> Bool { T.self == Celsius.self || T.self == Blob.self }
    func value<T: Decodable>(_ type: T.Type, from element: FleeceElement) throws(FleeceError) -> T? {
      if T.self == Blob.self { return try element.data().map { Blob(bytes: $0) } as? T }
      guard let text = try element.string(), text.hasSuffix(" C") else { return nil }
      return Double(text.dropLast(2)).map { Celsius(degrees: $0) } as? T
    }
  }

  @Test func `types with special encodings round-trip`() throws {
    let weather = Weather(
      now: Celsius(degrees: 21.5), forecast: [nil, Celsius(degrees: -3)],
      picture: Blob(bytes: [0xFF, 0xD8, 0xFF]))
    let fleece = try FleeceEncoder(special: Special()).encode(weather)
    #expect(try FleeceText.json(fleece) == #"{"forecast":[null,"-3.0 C"],"now":"21.5 C","picture":"/9j/"}"#)
    #expect(try FleeceDecoder(special: Special()).decode(Weather.self, from: fleece) == weather)
    let wrong = try FleeceText.fleece(#"{"now":"warm","forecast":[],"picture":null}"#)
    #expect(throws: DecodingError.self) {
      try FleeceDecoder(special: Special()).decode(Weather.self, from: wrong)
    }
  }
}
