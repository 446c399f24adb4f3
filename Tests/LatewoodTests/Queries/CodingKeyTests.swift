import Foundation
import Latewood
import Testing

/// Key paths lead to the coding keys of their members, even if other members reject dummy values.
@Suite struct CodingKeyTests {
  /// A type that renames all its members. `Extra` is decoded before `year`.
  struct Record<Extra: Codable & Sendable & Equatable>: Codable, Sendable, Identifiable {
    enum CodingKeys: String, CodingKey {
      case id = "record_id"
      case name = "full_name"
      case extra = "the_extra"
      case year = "release_year"
    }
    var id: String
    var name: String
    var extra: Extra
    var year: Int
  }

  enum Text: String, Codable { case red, blue }
  enum Number: Int, Codable {
    case four = 4
    case seven = 7
  }
  enum Shape: Codable, Equatable {
    case circle(radius: Double)
    case named(String)
  }
  struct Inner: Codable, Equatable {
    var color: Text
    var shape: Shape
  }
  /// A type that rejects dummy values.
  struct Checked: Codable, Equatable {
    var code: String
    init(code: String) { self.code = code }
    init(from decoder: any Decoder) throws {
      let members = try decoder.container(keyedBy: CodingKeys.self)
      code = try members.decode(String.self, forKey: .code)
      guard code.count == 3 else {
        throw DecodingError.dataCorruptedError(forKey: .code, in: members, debugDescription: "three letters")
      }
    }
  }
  @propertyWrapper struct Clamped: Codable, Equatable {
    var wrappedValue: Int
    init(wrappedValue: Int) { self.wrappedValue = min(wrappedValue, 9) }
    init(from decoder: any Decoder) throws {
      wrappedValue = try decoder.singleValueContainer().decode(Int.self)
    }
    func encode(to encoder: any Encoder) throws {
      var value = encoder.singleValueContainer()
      try value.encode(wrappedValue)
    }
  }
  struct Wrapping: Codable, Equatable {
    @Clamped var level: Int
  }

  /// Saves records with an extra value, and asks for them in every way that names a member.
  private func check<Extra: Codable & Sendable & Equatable>(_ extra: Extra, isComparable: Bool = true) throws
  {
    let records = try Database.inMemory().collection("records", of: Record<Extra>.self)
    try records.createIndex("by name", unique: true) { $0.name }
    for (number, name) in ["Cleo", "Ann", "Bo"].enumerated() {
      try records.save(Record(id: "\(number)", name: name, extra: extra, year: 2000 + number))
    }
    let query = records.query()
    let type = "\(Extra.self)"
    #expect(try query.where { $0.name == "Ann" }.documentIDs() == ["1"], "\(type)")
    #expect(try query.where { $0.year > 2000 && $0.id != "2" }.documentIDs() == ["1"], "\(type)")
    #expect(try query.sorted { $0.name }.documentIDs() == ["1", "2", "0"], "\(type)")
    #expect(try query.max { $0.name } == "Cleo" && query.sum { $0.year } == 6003, "\(type)")
    #expect(try query.select { ($0.name, $0.year) }.rows().map(\.1) == [2000, 2001, 2002], "\(type)")
    #expect(try query.grouped { $0.year }.count().count == 3, "\(type)")
    #expect(try query.where { $0.name == "Ann" }.explain().description.contains("by name"), "\(type)")
    if isComparable { #expect(try query.where { $0.extra == extra }.count() == 3, "\(type)") }
    let error = #expect(throws: DatabaseError.self, "\(type)") {
      try records.save(Record(id: "new", name: "Ann", extra: extra, year: 1))
    }
    #expect(error?.code == .notUnique, "\(type)")
  }

  private func checkWithOptional<Extra: Codable & Sendable & Equatable>(_ extra: Extra) throws {
    try check(extra)
    try check(extra as Extra?)
    try check(nil as Extra?, isComparable: false)
    try check([extra])
    try check(["key": extra])
  }

  @Test func `a key path leads to its coding key beside enums`() throws {
    try checkWithOptional(Text.blue)
    try checkWithOptional(Number.seven)
    try checkWithOptional(Shape.circle(radius: 2))
    try checkWithOptional(Shape.named("oval"))
  }

  @Test func `a key path leads to its coding key beside types that check their values`() throws {
    try checkWithOptional(Inner(color: .red, shape: .named("oval")))
    try checkWithOptional(Checked(code: "abc"))
    try checkWithOptional(Wrapping(level: 3))
  }

  @Test func `a key path leads to its coding key beside Foundation's types`() throws {
    try checkWithOptional(try #require(Decimal(string: "12.34")))
    try checkWithOptional(Date(timeIntervalSince1970: 1_000_000))
    try checkWithOptional(try #require(URL(string: "https://example.org/a")))
    try checkWithOptional(UUID())
    try checkWithOptional(Data([1, 2, 3]))
    try checkWithOptional(try #require(TimeZone(secondsFromGMT: 0)))
    try checkWithOptional(Locale(identifier: "pt_PT"))
    try checkWithOptional(1...3)
    try checkWithOptional(1..<3)
  }

  struct Person: Codable, Sendable, Identifiable {
    struct Address: Codable, Sendable {
      enum CodingKeys: String, CodingKey {
        case city = "city_name"
        case kind
      }
      var city: String
      var kind: Text
    }
    enum CodingKeys: String, CodingKey {
      case id
      case home = "home_address"
      case work = "work_address"
      // Each has the key that one would expect of the other.
      case first = "last"
      case last = "first"
    }
    var id: Int
    var home: Address
    var work: Address?
    var first: String
    var last: String
  }

  @Test func `members of nested types have their own coding keys`() throws {
    let people = try Database.inMemory().collection("people", of: Person.self)
    let home = Person.Address(city: "Porto", kind: .red)
    try people.save(Person(id: 1, home: home, work: nil, first: "Ann", last: "Lee"))
    try people.save(Person(id: 2, home: home, work: home, first: "Lee", last: "Ann"))
    #expect(try people.query().where { $0.home.city == "Porto" }.count() == 2)
    #expect(try people.query().where { $0.work.city == "Porto" }.documentIDs() == ["2"])
    #expect(try people.query().where { $0.first == "Ann" }.documentIDs() == ["1"])
    #expect(try people.query().where { $0.work.kind == .red }.documentIDs() == ["2"])
  }

  class Vehicle: Codable {
    enum CodingKeys: String, CodingKey { case wheels = "wheel_count" }
    final var wheels = 4
  }
  final class Car: Vehicle, @unchecked Sendable {
    enum CarKeys: String, CodingKey { case brand = "brand_name" }
    var brand: String

    init(brand: String) {
      self.brand = brand
      super.init()
    }
    required init(from decoder: any Decoder) throws {
      let members = try decoder.container(keyedBy: CarKeys.self)
      brand = try members.decode(String.self, forKey: .brand)
      try super.init(from: members.superDecoder())
    }
    override func encode(to encoder: any Encoder) throws {
      var members = encoder.container(keyedBy: CarKeys.self)
      try members.encode(brand, forKey: .brand)
      try super.encode(to: members.superEncoder())
    }
  }

  @Test func `members of a superclass are found where they are stored`() throws {
    let cars = try Database.inMemory().createCollection("cars")
    try cars.save(Car(brand: "Saab"), as: "1")
    #expect(try cars.query(Car.self).where { $0.brand == "Saab" && $0.wheels == 4 }.count() == 1)
  }

  struct AnyKey: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }
  /// A type whose keys are not an enum.
  struct Handmade: Codable, Sendable {
    var name: String
    var color: Text

    init(name: String, color: Text) { (self.name, self.color) = (name, color) }
    init(from decoder: any Decoder) throws {
      let members = try decoder.container(keyedBy: AnyKey.self)
      color = try members.decode(Text.self, forKey: AnyKey(stringValue: "color"))
      name = try members.decode(String.self, forKey: AnyKey(stringValue: "label"))
    }
    func encode(to encoder: any Encoder) throws {
      var members = encoder.container(keyedBy: AnyKey.self)
      try members.encode(color, forKey: AnyKey(stringValue: "color"))
      try members.encode(name, forKey: AnyKey(stringValue: "label"))
    }
  }
  struct Owner: Codable, Sendable {
    var wrapped: Wrapping
    var zone: ClosedRange<Int>
    var email: Email
    @Clamped var level: Int
    var isNew: Bool { level == 0 }
  }
  struct Email: Codable, Sendable {
    var text: String
    init(from decoder: any Decoder) throws { text = try decoder.singleValueContainer().decode(String.self) }
    func encode(to encoder: any Encoder) throws {
      var value = encoder.singleValueContainer()
      try value.encode(text)
    }
  }

  private func expectAdvice<Value: Decodable & Sendable, Member: Codable & Comparable & Sendable>(
    _ advice: String, of type: Value.Type, _ field: (QueryDocument<Value>) -> QueryField<Member>,
    at location: SourceLocation = #_sourceLocation
  ) throws {
    let collection = try Database.inMemory().createCollection("values")
    let errors = [
      #expect(throws: DatabaseError.self, sourceLocation: location) {
        try collection.query(type).sorted { field($0) }.all()
      },
      #expect(throws: DatabaseError.self, sourceLocation: location) {
        try collection.query(type).max(field)
      },
      #expect(throws: DatabaseError.self, sourceLocation: location) {
        try collection.createIndex("index", of: type, unique: true) { field($0) }
      },
    ]
    for case let error? in errors {
      #expect(error.code == .invalidParameter, sourceLocation: location)
      #expect(error.advice.contains(advice), "\(error)", sourceLocation: location)
    }
    #expect(try collection.indexes.isEmpty, sourceLocation: location)
  }

  @Test func `a member without a coding key is refused by queries and indexes, with advice`() throws {
    try expectAdvice(#"$0["color"]"#, of: Handmade.self) { $0.name }
    try expectAdvice("Known keys are email, level, wrapped, zone.", of: Owner.self) { $0.level }
    try expectAdvice("the whole value", of: Owner.self) { $0.zone.lowerBound }
    try expectAdvice("the whole value", of: Owner.self) { $0.email.text }
    try expectAdvice(#"$0["level"]"#, of: Owner.self) { $0.wrapped.level }
    let values = try Database.inMemory().createCollection("values")
    #expect(try values.query(Handmade.self).where { $0.color == .red }.count() == 0)
  }
}
