import Foundation
import LatewoodSimulation
import LatewoodTestSupport
import Testing

@testable import Latewood

/// The storage of values that are built in Swift: changed in place, nested to any depth, and never
/// stored as something else.
@Suite struct ValueStorageTests {
  /// Deep enough for a call for each level to exceed the stack of a thread.
  private static let deep = Effort.count(200_000, low: 60_000)

  private func nested(_ depth: Int, _ innermost: DocumentValue, isDictionary: Bool) -> DocumentValue {
    var value = innermost
    for _ in 0..<depth { value = isDictionary ? ["in": value] : [value] }
    return value
  }

  /// Returns the address of the array's elements.
  private func place(_ value: DocumentValue) -> UnsafeRawPointer? {
    guard case .array(let storage) = value.content else { return nil }
    return storage.elements.withUnsafeBytes { $0.baseAddress }
  }

  @Test func `a value at the end of a path is changed in place`() {
    var document = MutableDocument()
    document["list"] = []
    document["a"]["b"] = [[]]
    var places: [[UnsafeRawPointer?]] = [[], []]
    for number in 0..<5000 {
      document["list"].append(DocumentValue(number))
      document["a"]["b"][0].append(DocumentValue(number))
      places[0].append(place(document["list"]))
      places[1].append(place(document["a"]["b"][0]))
    }
    for places in places {
      let moves = zip(places, places.dropFirst()).count { $0 != $1 }
      #expect(moves < 30, "the array grows by doubling, and is not copied each time")
    }
    #expect(document["list"].count == 5000 && document["a"]["b"][0][4999].int == 4999)
  }

  @Test func `a changed copy of a stored dictionary equals one built from scratch`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    let names = (0..<12).map { "k\($0)" } + ["é", "e\u{301}", "_x", "deep"]
    for _ in 0..<Effort.count(600, low: 200) {
      var built: [String: DocumentValue] = [:]
      for name in names where random.below(2) == 0 { built[name] = ["v": DocumentValue(random.below(9))] }
      // A Swift dictionary cannot hold two keys that Swift considers equal.
      built["e\u{301}"] = nil
      var rebuilt = DocumentValue(built)
      var changed = try DocumentValue(json: rebuilt.toJSON())
      // Up to the number that are written one by one, and more.
      for step in 0..<random.below(14) {
        let name = names[random.below(names.count)]
        let kept = changed
        let text = try kept.toJSON()
        for value in [0, 1] {
          func change(_ value: inout DocumentValue) {
            switch step % 4 {
            case 0: value[name] = DocumentValue(step)
            case 1: value.removeValue(forKey: name)
            case 2: value[name]["v"].append(7)
            default: value[name]["w"] = ["x": .null]
            }
          }
          if value == 0 { change(&changed) } else { change(&rebuilt) }
        }
        #expect(try kept.toJSON() == text, "a copy does not change")
      }
      #expect(changed == rebuilt && rebuilt == changed, "\(random.replay)")
      #expect(try changed.fleece() == rebuilt.fleece())
      #expect(changed.keys == rebuilt.keys && changed.count == rebuilt.count)
      #expect(
        changed.keys(beginningWith: UInt8(ascii: "_")) == rebuilt.keys(beginningWith: UInt8(ascii: "_")))
      for name in names { #expect(changed[name] == rebuilt[name]) }
    }
  }

  @Test func `a member put back exists again, and a removed one stays away`() throws {
    var value = try DocumentValue(json: #"{"a":1,"b":2}"#)
    value.removeValue(forKey: "a")
    #expect(value.keys == ["b"] && !value.contains("a") && value.count == 1)
    value.removeValue(forKey: "a")
    value["a"]["x"] = 3
    #expect(value == ["a": ["x": 3], "b": 2])
    value["a"] = nil
    #expect(try value.toJSON() == #"{"b":2}"#)
  }

  @Test func `a change in place does not show in any copy`() {
    var document = MutableDocument()
    document["list"] = [1, [2]]
    document["map"] = ["k": ["l": 1]]
    let copy = document
    let list = document["list"]
    document["list"].append(3)
    document["list"][1].append(4)
    document["list"][0].int = 5
    document["map"]["k"]["l"] = 6
    document["map"]["k"]["m"]["n"] = 7
    document["new"]["path"][0]["x"] = 8
    document["list"][3] = "appended"
    document["map"]["k"]["l"].int = nil
    document["absent"].string = nil
    #expect(copy.body == ["list": [1, [2]], "map": ["k": ["l": 1]]])
    #expect(list == [1, [2]])
    #expect(
      document.body == [
        "list": [5, [2, 4], 3, "appended"], "map": ["k": ["m": ["n": 7]]], "new": ["path": [["x": 8]]],
      ])
  }

  @Test func `a change that throws keeps its partial result and loses nothing else`() {
    func change(_ value: inout DocumentValue) throws {
      value.append(2)
      throw OnPurpose()
    }
    var document = MutableDocument()
    document["list"] = [[1]]
    #expect(throws: OnPurpose.self) { try change(&document["list"][0]) }
    #expect(throws: OnPurpose.self) { try change(&document["new"]) }
    #expect(document.body == ["list": [[1, 2]], "new": [2]])
  }

  @Test(arguments: [false, true]) func `values of any depth can be compared and released`(isDictionary: Bool)
  {
    for depth in [1, 511, 512, 513, 1000, 1001, Self.deep] {
      let value = nested(depth, 1, isDictionary: isDictionary)
      #expect((value == nested(depth, 1, isDictionary: isDictionary)) == true, "\(depth)")
      #expect((value == nested(depth, 2, isDictionary: isDictionary)) == false, "\(depth)")
      #expect((value == nested(depth - 1, 1, isDictionary: isDictionary)) == false, "\(depth)")
    }
    var shared = nested(Self.deep, 1, isDictionary: isDictionary)
    let half = isDictionary ? shared["in"] : shared[0]
    shared = 0
    #expect(half.count == 1)
  }

  @Test func `values with shared parts are compared in time linear in their distinct parts`() {
    func folded() -> DocumentValue {
      var value: DocumentValue = [1]
      for _ in 0..<2000 { value = [value, value, ["k": value]] }
      return value
    }
    #expect((folded() == folded()) == true)
    var other = folded()
    other[0][1][2]["k"][0] = 5
    #expect((folded() == other) == false)
  }

  @Test func `a value that is too deep is refused with a reason when stored or encoded`() throws {
    var document = MutableDocument()
    document["deep"] = nested(100_000, 1, isDictionary: false)
    let error = #expect(throws: DatabaseError.self) { try document.encodedBody() }
    #expect(error?.code == .invalidParameter)
    #expect(throws: EncodingError.self) { try JSONEncoder().encode(document.body) }
    #expect(document.toDictionary().isEmpty)
    let text = String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000)
    #expect(throws: DatabaseError.self) { try DocumentValue(json: text) }
  }

  @Test(arguments: [
    Double.nan, .infinity, -.infinity, 253_402_300_800, 253_402_300_799.9996, -62_167_219_200.001, 1e300,
    -1e18,
  ])
  func `a date that cannot be stored is an error, not another date`(seconds: Double) throws {
    let date = Date(timeIntervalSince1970: seconds)
    var document = MutableDocument()
    document["at"].date = date
    document["list"] = [DocumentValue(date)]
    #expect(document["at"].exists && document["at"].string == nil && document["at"].kind == .string)
    // The description of a date that is not a number traps, so expressions that are printed on
    // failure cannot contain dates.
    let read = document["at"].date?.timeIntervalSinceReferenceDate.bitPattern
    let written = date.timeIntervalSinceReferenceDate.bitPattern
    #expect(read == written)
    let error = #expect(throws: DatabaseError.self) { try document.encodedBody() }
    #expect(error?.code == .invalidParameter && error?.message.contains("9999") == true)
    #expect(throws: DatabaseError.self) { try document.toJSON() }
    #expect(throws: EncodingError.self) { try JSONEncoder().encode(document.body) }
    struct Entry: Codable { var times: [Date] }
    do {
      document = try MutableDocument(encoding: Entry(times: [Date(timeIntervalSince1970: 0), date]))
      Issue.record("nothing was thrown")
    } catch let EncodingError.invalidValue(_, context) {
      #expect(context.codingPath.map(\.stringValue).first == "times")
      #expect(context.debugDescription.contains("9999"))
    }
  }

  @Test func `the first and last storable dates are stored`() throws {
    for (seconds, text) in [
      (-62_167_219_200, "0000-01-01T00:00:00.000Z"), (-62_167_219_200.0001, "0000-01-01T00:00:00.000Z"),
      (253_402_300_799.9994, "9999-12-31T23:59:59.9993896Z"),
    ] {
      #expect(DocumentValue(Date(timeIntervalSince1970: seconds)).string == text)
    }
  }
}
