import LatewoodSimulation
import Testing

@testable import LatewoodFleece

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Decodes the same values from Fleece and, by `JSONDecoder`, from JSON.
@Suite struct DecoderComparisonTests {
  private enum Color: String, Codable { case red, green }

  private struct Point: Codable {
    var x: Int
    var y: Double?
  }

  /// Has members of all standard types, not ordered by their names, and names that
  /// differ only after their eighth byte.
  private struct Plain: Codable {
    var text: String
    var flag: Bool
    var number: Int
    var ratio: Double
    var single: Float
    var i8: Int8
    var i16: Int16
    var i32: Int32
    var i64: Int64
    var u: UInt
    var u8: UInt8
    var u16: UInt16
    var u32: UInt32
    var u64: UInt64
    var a: Int
    var aLongNameOfAMember: Int
    var aLongNameOfAnotherMember: String
    var aLongNam: Int
  }

  private struct Optionals: Codable {
    var text: String?
    var flag: Bool?
    var number: Int?
    var ratio: Double?
    var single: Float?
    var i8: Int8?
    var u64: UInt64?
    var point: Point?
    var color: Color?
    var words: [String]?
  }

  private struct Lists: Codable {
    var words: [String]
    var numbers: [Int]
    var ratios: [Double]
    var flags: [Bool]
    var bytes: [UInt8]
    var gaps: [Int?]
    var points: [Point]
    var matrix: [[Int]]
    var colors: [Color]
    var table: [String: [String]]
    var counts: [Int: Int]
    var pairs: Set<Int>
  }

  private indirect enum Shape: Codable {
    case circle(radius: Double)
    case group([Shape], name: String?)
  }

  /// Reads its members by each of the calls that a decoder has.
  private struct ByHand: Codable {
    var log: [String] = []

    private enum Key: String, CodingKey, CaseIterable {
      case text, point, words, numbers, flag, missing
      case inherited = "super"
    }
    private struct Inherited: Decodable {
      var number: Int
    }

    init(from decoder: any Decoder) throws {
      let members = try decoder.container(keyedBy: Key.self)
      log.append(members.allKeys.map(\.stringValue).sorted().joined(separator: ","))
      for key in Key.allCases where members.contains(key) {
        log.append("\(key.stringValue) \(try members.decodeNil(forKey: key))")
      }
      let point = try members.nestedContainer(keyedBy: AnyKey.self, forKey: .point)
      log.append("\(try point.decode(Int.self, forKey: AnyKey("x"))) \(point.allKeys.count)")
      var words = try members.nestedUnkeyedContainer(forKey: .words)
      log.append("\(words.count ?? -1)")
      while !words.isAtEnd {
        if try words.decodeNil() {
          log.append("null at \(words.currentIndex)")
        } else if let word = try? words.decode(String.self) {
          log.append(word)
        } else if var inner = try? words.nestedUnkeyedContainer() {
          log.append("inner \(inner.count ?? -1) \((try? inner.decode(Int.self)) ?? -1)")
        } else {
          let place = try words.superDecoder().singleValueContainer()
          log.append("\(try place.decode(Double.self))")
        }
      }
      // `JSONDecoder` reads null where these members are missing.
      guard members.contains(.flag), members.contains(.inherited) else { return }
      let single = try members.superDecoder(forKey: .flag).singleValueContainer()
      log.append("\(single.decodeNil()) \((try? single.decode(Bool.self)) ?? false)")
      log.append("\(try Inherited(from: members.superDecoder()).number)")
      log.append("\(try members.decodeIfPresent(Int.self, forKey: .missing) ?? -1)")
    }
  }

  private struct AnyKey: CodingKey {
    var stringValue: String
    var intValue: Int? { Int(stringValue) }
    init(_ name: String) { stringValue = name }
    init(stringValue: String) { self.init(stringValue) }
    init(intValue: Int) { self.init(String(intValue)) }
  }

  // MARK: Values

  private static let scalars = [
    "null", "true", "false", "0", "-1", "7", "127", "128", "-129", "255", "256", "65535", "65536", "2.5",
    "3000000000", "-3000000000", "9223372036854775807", "18446744073709551615", "1e30", "-0.5", "1e300",
    #""""#, #""x""#, #""red""#, #""a text of more than fifteen bytes""#, #""Zoë \u0000 日本""#, "[]", "{}",
    "[1,2]", #"["a","b"]"#, "[null,3]", "[1.5]", #"[["a"]]"#, "[true]", "[[1],[2,3]]", #"{"x":1}"#,
    #"{"x":1,"y":2.5}"#, #"{"y":null}"#, #"{"1":2}"#, #"{"k":["v"]}"#, #"{"circle":{"radius":2}}"#,
    #"{"group":{"_0":[{"circle":{"radius":1}}],"name":"g"}}"#, #"[{"x":3},{"x":4,"y":1}]"#,
    #"["red","green"]"#, #"["red","blue"]"#, #"["a",null,[5],2.5,"b"]"#, #"{"number":4}"#,
  ]

  /// Sound values, which together make a value of each type.
  private static let sound: [String: String] = [
    "text": #""x""#, "flag": "true", "number": "-5", "ratio": "2.5", "single": "0.5", "i8": "-128",
    "i16": "300", "i32": "-70000", "i64": "9223372036854775807", "u": "1", "u8": "255", "u16": "65535",
    "u32": "4294967295", "u64": "18446744073709551615", "a": "1", "aLongNameOfAMember": "2",
    "aLongNameOfAnotherMember": #""a text of more than fifteen bytes""#, "aLongNam": "3",
    "point": #"{"x":1,"y":2.5}"#, "color": #""green""#, "words": #"["a","b",""]"#, "numbers": "[1,-70000]",
    "ratios": "[1,2.5]", "flags": "[true,false]", "bytes": "[0,255]", "gaps": "[null,3]",
    "points": #"[{"x":3},{"x":4,"y":1}]"#, "matrix": "[[1],[],[2,3]]", "colors": #"["red","green"]"#,
    "table": #"{"k":["v"],"é":[]}"#, "counts": #"{"1":2}"#, "pairs": "[4]", "super": #"{"number":4}"#,
  ]

  /// Returns an object whose members are nearly all sound, and the number of those that are not.
  private func object(using random: inout SeededRandom) -> String {
    let faults = Int.random(in: 0...2, using: &random)
    var members = Self.sound
    for _ in 0..<faults {
      // A dictionary reads its members in any order.
      let names = members.keys.filter { $0 != "counts" && $0 != "table" }
      guard let name = names.sorted().randomElement(using: &random) else { continue }
      members[name] = Bool.random(using: &random) ? nil : Self.scalars.randomElement(using: &random)
    }
    return "{" + members.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",")
      + "}"
  }

  // MARK: Comparing

  /// The result of a decoder, or the reason and the place of its failure.
  private func outcome<Value: Decodable>(_ decode: () throws -> Value) -> String {
    func path(_ context: DecodingError.Context) -> String {
      context.codingPath.map { key in key.intValue.map(String.init) ?? key.stringValue }.joined(
        separator: "/")
    }
    do {
      return "\(try decode())"
    } catch DecodingError.typeMismatch(_, let context) {
      return "no such value at \(path(context))"
    } catch DecodingError.valueNotFound(_, let context) {
      // For a Boolean, `JSONDecoder` reports null as a wrong type.
      return "no such value at \(path(context))"
    } catch DecodingError.keyNotFound(let key, let context) {
      return "no member \(key.stringValue) at \(path(context))"
    } catch DecodingError.dataCorrupted {
      // `JSONDecoder` leaves out the path to a number that does not fit.
      return "unsound"
    } catch {
      return "\(error)"
    }
  }

  private func compare<Value: Decodable>(
    _ type: Value.Type, _ json: String, _ replay: String = "",
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let fleece = try FleeceText.fleece(json)
    let ours = outcome { try FleeceDecoder().decode(type, from: fleece) }
    let theirs = outcome { try JSONDecoder().decode(type, from: Data(json.utf8)) }
    // Sets and dictionaries of equal values have different orders.
    #expect(
      ours.sorted() == theirs.sorted(), "\(ours) and \(theirs) of \(json) \(replay)",
      sourceLocation: sourceLocation)
  }

  @Test func `values and errors are the same as those of JSONDecoder`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    for _ in 0..<400 {
      let json = object(using: &random)
      try compare(Plain.self, json, random.replay)
      try compare(Optionals.self, json, random.replay)
      try compare(Lists.self, json, random.replay)
      try compare(ByHand.self, json, random.replay)
    }
    for json in Self.scalars {
      try compare(Plain.self, json)
      try compare(Shape.self, json)
      try compare([Shape].self, json)
      try compare([Point].self, json)
      try compare([String].self, json)
      try compare([Int].self, json)
      try compare([Double].self, json)
      try compare([Int8].self, json)
      try compare([Int?].self, json)
      try compare([[String]].self, json)
      try compare(Color.self, json)
      // Of several members, a dictionary reads any first.
      guard json.filter({ $0 == ":" }).count < 2 else { continue }
      try compare([String: Int].self, json)
      try compare([String: [String]].self, json)
    }
  }

  /// Keeps its container.
  private struct Keeping: Decodable {
    var members: KeyedDecodingContainer<AnyKey>
    var elements: any UnkeyedDecodingContainer
    init(from decoder: any Decoder) throws {
      members = try decoder.container(keyedBy: AnyKey.self)
      elements = try members.nestedUnkeyedContainer(forKey: AnyKey("list"))
    }
  }

  @Test func `a container can be used after its decoding`() throws {
    let fleece = try FleeceText.fleece(#"{"list":["a",2],"name":"a name of more than fifteen bytes"}"#)
    var kept = try FleeceDecoder().decode(Keeping.self, from: fleece)
    #expect(try kept.members.decode(String.self, forKey: AnyKey("name")).hasPrefix("a name"))
    #expect(try kept.elements.decode(String.self) == "a")
    #expect(throws: DecodingError.self) { try kept.elements.decode(String.self) }
    #expect(try kept.elements.decode(Int.self) == 2)
    #expect(throws: DecodingError.self) { try kept.elements.decode(Int.self) }
  }

  private struct Inheriting: Decodable, Equatable {
    var a: Int
    var b: Int?
    var c: Int
    var d: Int
  }

  @Test func `inherited members are decoded, and removed ones are missing`() throws {
    // {"a":1,"b":2,"c":3}, then {inherits, "b":undefined, "c":4, "d":5}
    let bytes = FleeceText.bytes(
      "7003 4161 0001 4162 0002 4163 0003 7004 0800 8009 4162 3c00 4163 0004 4164 0005 8009")
    #expect(try FleeceDecoder().decode(Inheriting.self, from: bytes) == Inheriting(a: 1, c: 4, d: 5))
  }

  private struct Absent: Decodable {
    enum CodingKeys: String, CodingKey {
      case a
      case id = "_id"
    }
    let contains: Bool
    let optional: Int?
    let error: String
    let id: String?

    init(from decoder: any Decoder) throws {
      let members = try decoder.container(keyedBy: CodingKeys.self)
      contains = members.contains(.a)
      optional = try members.decodeIfPresent(Int.self, forKey: .a)
      var errors: [String] = []
      for body in [
        { _ = try members.decodeNil(forKey: .a) }, { _ = try members.decode(Int.self, forKey: .a) },
        { _ = try members.superDecoder(forKey: .a) },
        { _ = try members.nestedContainer(keyedBy: CodingKeys.self, forKey: .a) },
      ] {
        do { try body() } catch DecodingError.keyNotFound(let key, let context) {
          errors.append("\(context.codingPath.count)\(key.stringValue)")
        } catch { errors.append("another") }
      }
      error = errors.joined(separator: " ")
      id = try members.decodeIfPresent(String.self, forKey: .id)
    }
  }

  @Test func `an undefined member is missing, and an additional one takes its place`() throws {
    // {"a": undefined, "_id": undefined}, in the order of the names.
    let bytes = FleeceText.bytes("435f 6964 7002 8003 3c00 4161 3c00 8005")
    var decoder = FleeceDecoder()
    decoder.addition = { $0 == "_id" ? "anna" : nil }
    let absent = try decoder.decode(Absent.self, from: bytes)
    #expect(!absent.contains && absent.optional == nil)
    #expect(absent.error == "0a 0a 0a 0a")
    #expect(absent.id == "anna")
  }
}
