import LatewoodSimulation
import Testing

@testable import LatewoodFleece

/// Bytes derived by hand from the rules of the format.
@Suite struct GoldenBytesTests {
  private func expect(
    _ json: String, _ hexadecimal: String, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let expected = FleeceText.bytes(hexadecimal)
    let found = try FleeceText.fleece(json)
    #expect(
      FleeceText.hexadecimal(found) == FleeceText.hexadecimal(expected), "\(json)",
      sourceLocation: sourceLocation)
    #expect(try FleeceText.json(expected) == json, sourceLocation: sourceLocation)
  }

  @Test func `the worked example of the format has the documented bytes`() throws {
    try expect(#"{"foo":123}"#, "43666f6f 7001 8003 007b 8003")
  }

  @Test func `a value of two bytes is its own root`() throws {
    try expect("null", "3000")
    try expect("false", "3400")
    try expect("true", "3800")
    try expect("[]", "6000")
    try expect("{}", "7000")
    try expect(#""""#, "4000")
    try expect(#""x""#, "4178")
    try expect("0", "0000")
    try expect("2047", "07ff")
    try expect("-2048", "0800")
    try expect("-1", "0fff")
  }

  @Test func `integers take only as many bytes as they need`() throws {
    try expect("2048", "11000800 8002")
    try expect("-2049", "11fff700 8002")
    try expect("32767", "11ff7f00 8002")
    try expect("32768", "12008000 8002")
    try expect("-32768", "11008000 8002")
    try expect("-32769", "12ff7fff 8002")
    try expect("8388607", "12ffff7f 8002")
    try expect("8388608", "130000800000 8003")
    try expect("4294967295", "14ffffffff00 8003")
    try expect("9223372036854775807", "17ffffffffffffff7f00 8005")
    try expect("9223372036854775808", "1f000000000000008000 8005")
    try expect("18446744073709551615", "1fffffffffffffffff00 8005")
    try expect("-9223372036854775808", "17000000000000008000 8005")
  }

  @Test func `doubles take 32 bits where no precision is lost`() throws {
    try expect("1.5", "24000000c03f 8003")
    try expect("0.1", "28009a9999999999b93f 8005")
    try expect("-0.0", "240000000080 8003")
    try expect("1e+300", "28009c7500883ce4377e 8005")
  }

  @Test func `strings of 15 bytes and more store their length separately`() throws {
    try expect(#""ab""#, "42616200 8002")
    try expect(#""abcdefghijklmn""#, "4e6162636465666768696a6b6c6d6e00 8008")
    try expect(#""abcdefghijklmno""#, "4f0f6162636465666768696a6b6c6d6e6f00 8009")
    let long = String(repeating: "x", count: 200)
    try expect("\"\(long)\"", "4fc801" + String(repeating: "78", count: 200) + "00 8066")
  }

  @Test func `members are sorted by the bytes of their keys`() throws {
    let found = try FleeceText.fleece(#"{"é":4,"z":3,"aa":2,"a":1}"#)
    #expect(
      FleeceText.hexadecimal(found)
        == FleeceText.hexadecimal(
          FleeceText.bytes("42616100 42c3a900 7004 4161 0001 8007 0002 417a 0003 8009 0004 8009")))
    #expect(try FleeceText.json(found) == #"{"a":1,"aa":2,"z":3,"é":4}"#)
  }

  @Test func `repeated strings are replaced by pointers`() throws {
    try expect(#"["abc","abc"]"#, "43616263 6002 8003 8004 8003")
    try expect(#"[["k"],[{"abc":"abc"}]]"#, "6001 416b 43616263 7001 8003 8004 6001 8004 6002 800a 8004 8003")
  }

  @Test func `an array of three-byte integers has four-byte items`() throws {
    try expect("[5000,70000]", "6802 11881300 12701101 8005")
    try expect("[5000,1]", "11881300 6002 8003 0001 8003")
  }

  @Test func `counts above 2046 are stored after the header`() throws {
    for count in [2046, 2047, 2048, 2047 + 127, 2047 + 128, 20_000] {
      let bytes = try FleeceText.fleece(
        "[" + Array(repeating: "7", count: count).joined(separator: ",") + "]")
      let header: String
      switch count {
      case 2046: header = "67fe"
      case 2047: header = "67ff0000"
      case 2048: header = "67ff0100"
      case 2047 + 127: header = "67ff7f00"
      case 2047 + 128: header = "67ff8001"
      default: header = "67ff" + "a18c0100"
      }
      #expect(FleeceText.hexadecimal(Array(bytes.prefix(header.count / 2))) == header)
      #expect(bytes.count == header.count / 2 + 2 * count + 2)
      let found = try FleeceBody(bytes).withRoot { value throws(FleeceError) in try value.array()?.count }
      #expect(found == count)
    }
  }

  @Test func `a distant root is reached through two pointers`() throws {
    // A header of six bytes and the items: the pointer at the end reaches back over 65,534.
    for (count, length) in [(32764, 65536), (32765, 65542)] {
      let json = "[" + Array(repeating: "7", count: count).joined(separator: ",") + "]"
      let bytes = try FleeceText.fleece(json)
      #expect(bytes.count == length)
      #expect(try FleeceText.json(bytes) == json)
    }
  }
}
