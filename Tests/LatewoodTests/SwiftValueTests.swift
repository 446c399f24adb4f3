import Foundation
import Latewood
import LatewoodSimulation
import Testing

/// Swift values go into documents and come out unchanged.
@Suite struct SwiftValueTests {
  private enum Genre: String, DocumentValueConvertible { case horror, comedy }

  private let database: Database
  private let films: DocumentCollection

  init() throws {
    database = try Database.inMemory()
    films = try database.defaultCollection
  }

  /// Sets a member, and returns the value that is read after a save.
  private func saved(_ change: (inout MutableDocument) -> Void) throws -> DocumentValue {
    var document = try films.document("a")?.toMutable() ?? MutableDocument(id: "a")
    change(&document)
    try films.save(document)
    return try #require(try films.document("a"))["x"]
  }

  private func comesBack<Value: DocumentValueConvertible & Equatable>(_ value: Value) throws {
    let stored = try saved { $0["x"] = value }
    #expect(Value(documentValue: stored) == value, "\(value) is stored as \(stored)")
    let nested = try saved { $0["x"] = ["in": value, "others": [value, value]] }
    let (inside, list): (Value?, [Value]?) = (nested["in"], nested["others"])
    #expect(inside == value && list == [value, value])
    #expect(try saved { $0["x"] = Value?.none }.exists == false)
  }

  @Test func `values of any storable type round-trip`() throws {
    try comesBack("text")
    try comesBack("subtext".dropFirst(3))
    try comesBack(true)
    for integer in [0, -1, Int.max, .min] { try comesBack(integer) }
    try comesBack(Int8.min)
    try comesBack(UInt64.max)
    try comesBack(1.5)
    try comesBack(Float(0.1))
    try comesBack(Data([0, 255]))
    try comesBack(Date(timeIntervalSinceReferenceDate: 794_050_200.123_456_7))
    try comesBack(UUID())
    try comesBack(try #require(URL(string: "https://example.org/a?b=c")))
    try comesBack(Genre.comedy)
    try comesBack(["a", "b"])
    try comesBack([["a": [1, 2]], [:]])
    try comesBack([1, nil, 3] as [Int?])
    try comesBack(
      try Blob(contentType: nil, digest: "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", length: 0))
  }

  @Test func `decimals keep all digits, as numbers where that is exact`() throws {
    for text in ["0", "-12", "0.1", "12.34", "123456789012.345", "-0.000001", "9007199254740993", "1e20"] {
      let decimal = try #require(Decimal(string: text))
      try comesBack(decimal)
      #expect(decimal.documentValue.kind == .number, "\(text)")
    }
    for text in ["0.1234567890123456789", "12345678901234567890123.4", "3.3333333333333333333333333"] {
      let decimal = try #require(Decimal(string: text))
      try comesBack(decimal)
      #expect(decimal.documentValue.kind == .string, "\(text)")
    }
    for text in [
      "12 apples", "", "-", ".", "1e", "1.2.3", "0x10", "inf", "nan", "1e300", "1e99999999999999999999",
    ] {
      #expect(Decimal(documentValue: DocumentValue(text)) == nil, "\(text)")
    }
    #expect(Decimal(documentValue: DocumentValue(1e300)) == nil)
    #expect(throws: DatabaseError.self) { try saved { $0["x"] = Decimal.nan } }
  }

  @Test func `nil removes or omits a member, and stores null in an array`() throws {
    let nothing: String? = nil
    var value: DocumentValue = ["a": nil, "b": .null, "c": [nil, 1]]
    #expect(value.keys == ["b", "c"] && value["b"].isNull && value["c"][0].isNull && value["c"].count == 2)
    #expect(value["a"] == nil && value["b"] == .null && value["b"] != nil)
    for remove: (inout DocumentValue) -> Void in [
      { $0["b"] = nil }, { $0["b"] = nothing }, { $0["b"].string = nil }, { $0["b"] = nothing.documentValue },
      { $0["b"] = [String: Any]?.none }, { $0.removeValue(forKey: "b") },
    ] {
      var copy = value
      remove(&copy)
      #expect(copy == ["c": [.null, 1]])
    }
    for empty: (inout DocumentValue) -> Void in [
      { $0["c"][1] = nil }, { $0["c"][1] = nothing }, { $0["c"][1].int = nil }, { $0["c"][1] = .null },
    ] {
      var copy = value
      empty(&copy)
      #expect(copy["c"].count == 2 && copy["c"][1].isNull && copy["c"][1].exists)
    }
    value["c"].append(nil)
    value["c"].append(nothing)
    value["c"].insert(nothing, at: 0)
    #expect(try value.toJSON() == #"{"b":null,"c":[null,null,1,null,null]}"#)
    var document = try MutableDocument(["a": 1, "b": nothing, "c": "x"])
    document["a"] = nothing
    document["c"] = nil
    #expect(document.isEmpty)
  }

  @Test func `literals that contain variables become values`() throws {
    let (city, since, note) = ("Porto", 2019, String?.none)
    var document = try MutableDocument(
      id: "anna", ["name": "Anna", "lives": ["city": city, "since": since], "note": note, "row": [city, 1]])
    document["work"] = ["city": city, "floors": [1, "two", [since]], "note": note]
    document["row"] = [city, since, true, note]
    #expect(
      try document.toJSON()
        == #"{"lives":{"city":"Porto","since":2019},"name":"Anna","row":["Porto",2019,true,null],"work":{"city":"Porto","floors":[1,"two",[2019]]}}"#
    )
  }

  @Test func `a plain dictionary round-trips`() throws {
    let json = #"{"a":[1,{"b":null}],"big":18446744073709551615,"d":1.5,"n":null,"s":"x","t":true}"#
    let first = try MutableDocument(json: json)
    #expect(try MutableDocument(first.toDictionary()).toJSON() == json)
    var second = MutableDocument()
    try second.setContent(first.toDictionary())
    #expect(second.hasSameContent(as: first))
    second["inside"] = first.toDictionary()
    #expect(second["inside"] == first.body)
    #expect(try DocumentValue(plain: first.toDictionary()) == first.body)
  }

  @Test func `the output of JSONSerialization can be stored`() throws {
    let json = #"{"a":1,"b":true,"c":1.5,"d":null,"e":"x","f":[0,{"g":false}],"h":18446744073709551615}"#
    let object = try JSONSerialization.jsonObject(with: Data(json.utf8))
    #expect(try DocumentValue(plain: object).toJSON() == json)
    let members = try #require(object as? [String: Any])
    #expect(try MutableDocument(members).toJSON() == json)
    var document = MutableDocument()
    document["x"] = members
    #expect(try document.toJSON() == #"{"x":\#(json)}"#)
  }

  @Test func `a value of an unsupported type is refused with its path`() throws {
    struct Other {}
    let plain: [String: Any] = ["a": 1, "list": [1, ["deep": Other()]]]
    func isRefused(_ body: () throws -> Void) {
      let error = #expect(throws: DatabaseError.self) { try body() }
      #expect(
        error?.code == .invalidParameter && error?.message.contains("list[1].deep") == true, "\(error as Any)"
      )
    }
    isRefused { _ = try DocumentValue(plain: plain) }
    isRefused { _ = try MutableDocument(plain) }
    var document = try MutableDocument(id: "a", ["kept": 1])
    isRefused { try document.setContent(plain) }
    #expect(document.int("kept") == 1)
    document["x"] = plain
    isRefused { try films.save(document) }
    #expect(document["x"] != document["x"] && document["x"].isNull)
    #expect(try films.document("a") == nil)
    var nested: [Any] = []
    for _ in 0..<1000 { nested = [nested] }
    #expect(throws: DatabaseError.self) { try DocumentValue(plain: nested) }
  }

  @Test func `a struct round-trips through a member`() throws {
    struct Address: Codable, Equatable {
      var city: String
      var since: Date
      var names: [String?]
    }
    let address = Address(city: "Porto", since: .now, names: ["a", nil])
    var document = try MutableDocument(id: "a")
    document["address"] = try DocumentValue(encoding: address)
    document["address"]["city"] = "Lisboa"
    let read = try films.save(document)["address"]
    #expect(
      try read.decode(as: Address.self) == Address(city: "Lisboa", since: address.since, names: ["a", nil]))
    #expect(try DocumentValue(encoding: [1, 2]) == [1, 2] && DocumentValue(encoding: "x") == "x")
    #expect(try DocumentValue("x").decode(as: String.self) == "x" && read["no"].decode(as: Int?.self) == nil)
    #expect(throws: DecodingError.self) { try read["no"].decode(as: Address.self) }
    #expect(throws: EncodingError.self) { try DocumentValue(encoding: [Double.nan]) }
  }

  @Test func `an array is a sequence of its elements`() throws {
    let value: DocumentValue = ["list": [1, "two", nil], "text": "x"]
    let stored = try DocumentValue(json: value.toJSON())
    for value in [value, stored] {
      #expect(Array(value["list"]) == [1, "two", .null])
      #expect(value["list"].compactMap(\.int) == [1])
      #expect(value["list"].contains("two") && !value["list"].contains("x") && value["list"].contains(1))
      #expect(value.contains("list") && !value.contains("two") && !value["text"].contains("x"))
      #expect(!value["list"].isEmpty && value["text"].isEmpty && value["no"].isEmpty && !value.isEmpty)
      #expect(Array(value["text"]).isEmpty && Array(value).isEmpty && Array(value["no"]).isEmpty)
    }
  }

  @Test func `a text path leads to a value, or to nil`() throws {
    let document = try MutableDocument(
      id: "a", json: #"{"address":{"phones":["1",{"ext":7}],"0":"zero","a.b":1,"[":2}}"#)
    for (path, expected) in [
      ("address.phones[0]", "1"), ("address.phones[1].ext", 7), ("address.phones.1.ext", 7),
      ("address.0", "zero"), ("address.a\\.b", 1), ("address.\\[", 2), ("address.phones[2]", nil),
      ("x.y", nil),
      ("", nil), ("address.", nil), ("address.phones[x]", nil), ("address.phones[99999999999999999999]", nil),
      ("address.phones[0].x", nil),
    ] as [(String, DocumentValue)] {
      #expect(document.value(at: path) == expected, "\(path)")
      #expect(document.body.value(at: path) == expected, "\(path)")
    }
  }

  @Test func `a number reports its kind`() {
    #expect(DocumentValue(5).number == .integer(5) && DocumentValue(5.0).number == .integer(5))
    #expect(DocumentValue(UInt64.max).number == .unsigned(.max) && DocumentValue(1.5).number == .double(1.5))
    #expect(DocumentValue("5").number == nil && DocumentValue(UInt64.max).number?.double == 0x1p64)
  }

  @Test func `dates round-trip to the last bit`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    var dates = [
      Date.now, Date(timeIntervalSince1970: 1_772_357_400.123), Date(timeIntervalSinceReferenceDate: 0),
    ]
    for _ in 0..<20_000 {
      let span = Double(sign: .plus, exponent: Int.random(in: 1...35, using: &random), significand: 1)
      dates.append(Date(timeIntervalSinceReferenceDate: Double.random(in: -span...span, using: &random)))
      dates.append(
        Date(timeIntervalSince1970: (Double.random(in: -span...span, using: &random) * 1000).rounded() / 1000)
      )
    }
    // In the second before and after 2001 a date can be more precise than its text.
    for date in dates
    where abs(date.timeIntervalSinceReferenceDate) >= 1 && date.documentValue.date != date {
      Issue.record(
        "\(date.timeIntervalSinceReferenceDate.debugDescription) is \(date.documentValue); \(random.replay)")
      break
    }
    // Milliseconds are written exactly, regardless of their computation.
    for thousandths in 0..<1000 {
      let date = Date(timeIntervalSince1970: 1_772_357_400 + Double(thousandths) / 1000)
      #expect(date.documentValue.string?.utf8.count == "2026-03-01T09:30:00.000Z".utf8.count)
    }
  }
}
