import LatewoodFleece
import LatewoodSimulation
import Testing

@testable import Latewood

/// Edits of stored documents that replace numbers, Booleans and nulls in a copy of the bytes.
@Suite struct PatchedBodyTests {
  /// Values of each size that a scalar can have, and other values, which are encoded.
  private static let values: [DocumentValue] = [
    .null, true, false, 0, 1, -1, 2047, -2048, 2048, -2049, 32_767, -32_768, 40_000, 8_388_607,
    1_699_999_999_999, -1_699_999_999_999, DocumentValue(Int64.max), DocumentValue(Int64.min),
    DocumentValue(UInt64.max), 1.5, -2.25, 0.1, 1e300, 3.0, -0.0, 1e15, "", "x", "xy", "a word", [], [:],
    ["a word"], ["n": 2048],
  ]

  private func stored(_ value: DocumentValue) throws -> DocumentValue {
    DocumentValue(stored: try FleeceBody(value.fleece()).root)
  }

  @Test func `an edited body has the same bytes as a newly encoded one`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    // Long enough, in the last case, for items of four bytes.
    for length in [0, 10, 200, 70_000] {
      for _ in 0..<Effort.count(150, low: 40) {
        var members: [String: DocumentValue] = ["text": DocumentValue(String(repeating: "t", count: length))]
        for number in 0..<8 {
          members["m\(number)"] = Self.values[random.below(Self.values.count)]
        }
        var changed = try stored(DocumentValue(members))
        for _ in 0...random.below(3) {
          let name = "m\(random.below(9))"
          let value = Self.values[random.below(Self.values.count)]
          changed[name] = value
          members[name] = value
        }
        let expected = try DocumentValue(members).fleece()
        let isSame = try changed.bodyBytes() == expected
        #expect(isSame, "\(random.replay)")
      }
    }
  }

  @Test func `a value is replaced in place only if its encoded form keeps its size`() throws {
    let body = FleeceBody(
      try DocumentValue([
        "flag": true, "count": 7, "time": 1_699_999_999_999, "half": 0.5, "word": "word", "long": 5000,
      ]).fleece())
    func patched(_ key: String, _ value: DocumentValue) throws -> DocumentValue? {
      guard var patch = try FleecePatch(body.root) else { return nil }
      guard try patch.replace(key, with: value.fleece()) else { return nil }
      let bytes = try #require(try patch.finish())
      return DocumentValue(stored: try FleeceBody(bytes).root)
    }
    #expect(try patched("flag", false)?["flag"] == false)
    #expect(try patched("count", .null)?["count"] == .null)
    #expect(try patched("time", 1_700_000_000_000)?["time"] == 1_700_000_000_000)
    #expect(try patched("half", 0.25)?["half"] == 0.25)
    #expect(try patched("long", -5000)?["long"] == -5000)
    #expect(try patched("count", 5000) == nil, "it needs more than an item")
    #expect(try patched("long", 7) == nil, "it needs no more than an item")
    #expect(try patched("time", 0.1) == nil, "another type")
    #expect(try patched("half", 0.1) == nil, "64 bits instead of 32")
    #expect(try patched("long", 5_000_000) == nil, "another length")
    #expect(try patched("word", 1) == nil, "a string may be shared")
    #expect(try patched("word", "lord") == nil)
    #expect(try patched("none", 1) == nil, "there is no such member")
  }

  @Test func `a part of a body is not patched`() throws {
    let body = FleeceBody(try DocumentValue(["inner": ["a": 1]]).fleece())
    let inner = try #require(try body.root.element(for: "inner"))
    let isPatch = try FleecePatch(inner) != nil
    #expect(!isPatch)
    var value = DocumentValue(stored: inner)
    value["a"] = 2
    #expect(try value.bodyBytes() == DocumentValue(["a": 2]).fleece())
  }

  @Test func `a number that cannot be stored is still refused`() throws {
    var value = try stored(["a": 1.5])
    value["a"] = DocumentValue(Double.nan)
    #expect(throws: FleeceError.self) { try value.bodyBytes() }
  }

  @Test func `a damaged body is not saved without its unreadable part`() throws {
    // A dictionary of two members, the first of which has an integer as its key.
    let bytes: [UInt8] = [0x70, 0x02, 0x00, 0x05, 0x00, 0x01, 0x41, 0x61, 0x00, 0x01, 0x80, 0x05]
    for count in [1, 20] {
      for value in [DocumentValue(7), "text"] {
        var changed = DocumentValue(stored: try FleeceBody(bytes).root)
        changed["a"] = value
        for number in 1..<count { changed["m\(number)"] = value }
        #expect(throws: FleeceError.self) { try changed.bodyBytes() }
      }
    }
  }

  /// Valid Fleece in forms that this library does not write.
  @Test(
    arguments: [
      // {"a":5000,"b":5000}: one number for both.
      [0x11, 0x88, 0x13, 0x00, 0x70, 0x02, 0x41, 0x61, 0x80, 0x04, 0x41, 0x62, 0x80, 0x06, 0x80, 0x05],
      // {"a":1,"b":1}: the item of b points at the item of a.
      [0x70, 0x02, 0x41, 0x61, 0x00, 0x01, 0x41, 0x62, 0x80, 0x02, 0x80, 0x05],
      // {"a":25185,"b":"…"}: the number lies within the string.
      [
        0x46, 0x61, 0x11, 0x61, 0x62, 0x00, 0x61, 0x00, 0x70, 0x02, 0x41, 0x61, 0x80, 0x05, 0x41, 0x62, 0x80,
        0x08,
        0x80, 0x05,
      ],
    ] as [[UInt8]])
  func `changing a shared number does not change the others that share it`(_ bytes: [UInt8]) throws {
    let before = DocumentValue(stored: try FleeceBody(bytes).root)
    for value in [2, 6000] {
      var changed = before
      changed["a"] = DocumentValue(value)
      let after = DocumentValue(stored: try FleeceBody(changed.bodyBytes()).root)
      #expect(after["a"].int == value && after["b"] == before["b"] && after.count == 2)
    }
  }

  /// Numbers that overlap the path to another value.
  @Test(
    arguments: [
      // {"a":…,"b":"x"}: the item of b points at a pointer, which lies within the number.
      (
        [
          0x41, 0x78, 0x17, 0x00, 0x80, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00, 0x70, 0x02, 0x41, 0x61,
          0x80, 0x07, 0x41, 0x62, 0x80, 0x08, 0x80, 0x05,
        ], 1_000_000_000_000_000_000
      ),
      // {"a":94208,"b":{"x":1,"y":2}}: b inherits x from a dictionary whose header lies within the
      // number.
      (
        [
          0x12, 0x00, 0x70, 0x01, 0x41, 0x78, 0x00, 0x01, 0x70, 0x02, 0x08, 0x00, 0x80, 0x05, 0x41, 0x79,
          0x00, 0x02, 0x70, 0x02, 0x41, 0x61, 0x80, 0x0B, 0x41, 0x62, 0x80, 0x09, 0x80, 0x05,
        ], 100_000
      ),
    ] as [([UInt8], Int)])
  func `a number that overlaps the path to another value is not overwritten`(
    _ bytes: [UInt8], _ number: Int
  ) throws {
    let before = DocumentValue(stored: try FleeceBody(bytes).root)
    #expect(before["b"] == "x" || before["b"] == ["x": 1, "y": 2])
    var changed = before
    changed["a"] = DocumentValue(number)
    let after = DocumentValue(stored: try FleeceBody(changed.bodyBytes()).root)
    #expect(after["a"].int == number && after["b"] == before["b"])
  }

  @Test func `a number that overlaps its dictionary is not overwritten`() throws {
    // The eight bytes of "b" begin before the root and end in it.
    let bytes: [UInt8] = [0x17, 0x00, 0x70, 0x02, 0x41, 0x61, 0x00, 0x01, 0x41, 0x62, 0x80, 0x05, 0x80, 0x05]
    var changed = DocumentValue(stored: try FleeceBody(bytes).root)
    changed["b"] = DocumentValue(1_000_000_000_000_000_000)
    let after = DocumentValue(stored: try FleeceBody(changed.bodyBytes()).root)
    #expect(after == ["a": 1, "b": 1_000_000_000_000_000_000])
  }
}
