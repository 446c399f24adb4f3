import Testing

@testable import LatewoodFleece

@Suite struct JSONOutputTests {
  @Test func `indented output has the expected form`() throws {
    let fleece = try FleeceText.fleece(#"{"b":[1,{"x":null}],"a":{},"c":[],"d":[[]]}"#)
    #expect(
      try FleeceText.json(fleece, .indented) == """
        {
          "a": {},
          "b": [
            1,
            {
              "x": null
            }
          ],
          "c": [],
          "d": [
            []
          ]
        }
        """)
    #expect(try FleeceText.json(FleeceText.fleece("7"), .indented) == "7")
  }

  @Test func `whole numbers stored as doubles are written as integers`() throws {
    for (hexadecimal, text) in [
      ("2000 00000000 8003", "0"), ("2000 00000080 8003", "-0.0"), ("2000 0000803f 8003", "1"),
      ("2800 0080e03779c34143 8005", "10000000000000000"),
      ("2800 000000000000e043 8005", "9223372036854775808"),
      ("2800 000000000000f043 8005", "1.8446744073709552e+19"),
    ] {
      let fleece = FleeceText.bytes(hexadecimal)
      #expect(try FleeceText.json(fleece) == text)
      #expect(try FleeceText.canonical(text) == text)
    }
  }

  @Test func `readable text escapes the control characters that JSON allows`() throws {
    let text = "\"\u{9B}31m\u{7F}\u{A0}é\\n\u{80}\u{9F}\""
    #expect(
      try FleeceText.json(FleeceText.fleece(text), .readable())
        == "\"\\u009b31m\\u007f\u{A0}é\\n\\u0080\\u009f\"")
    let object = try FleeceText.fleece("{\"\u{7F}\":\"\u{7F}\"}")
    #expect(try FleeceText.json(object, .readable()) == "{\n  \"\\u007f\": \"\\u007f\"\n}")
    #expect(try FleeceText.json(object) == "{\"\u{7F}\":\"\u{7F}\"}")
  }

  @Test func `colours surround keys, strings and null`() throws {
    let fleece = try FleeceText.fleece(#"{"a":[null,1,"b"]}"#)
    let colours = JSONOutput.Colours(key: "<k>", string: "<s>", null: "<n>", end: "<>")
    #expect(
      try FleeceText.json(fleece, .readable(colours)) == """
        {
          <k>"a"<>: [
            <n>null<>,
            1,
            <s>"b"<>
          ]
        }
        """)
  }

  @Test func `values are written member by member, in the order of the calls`() throws {
    var output = JSONOutput()
    output.beginDictionary()
    output.key("b")
    output.raw(Array("1.50".utf8))
    output.key("a")
    output.beginArray()
    try output.value(FleeceBody(FleeceText.fleece(#"{"y":1,"x":[]}"#)))
    output.text("é\n")
    output.endArray()
    output.endDictionary()
    output.lineBreak()
    output.null()
    #expect(
      String(decoding: output.take(), as: UTF8.self)
        == #"{"b":1.50,"a":[{"x":[],"y":1},"é\n"]}"# + "\nnull")
    #expect(output.take().isEmpty)
  }

  @Test func `only the required characters are escaped`() throws {
    var writer = FleeceWriter()
    let ascii = String(String.UnicodeScalarView((0..<0x80).compactMap { UnicodeScalar($0) }))
    try writer.string(ascii + "é\u{2028}👋")
    let text = try FleeceText.json(writer.finish())
    #expect(
      text == #""\u0000\u0001\u0002\u0003\u0004\u0005\u0006\u0007\b\t\n\u000b\f\r\u000e\u000f"#
        + #"\u0010\u0011\u0012"#
        + #"\u0013\u0014\u0015\u0016\u0017\u0018\u0019\u001a\u001b\u001c\u001d\u001e\u001f !"#
        + "\\\"#$%&'()*+,-./0123456789"
        + ":;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\\\]^_`abcdefghijklmnopqrstuvwxyz{|}~\u{7F}é\u{2028}👋\"")
  }

  @Test func `base64 of all lengths round-trips, and malformed base64 is refused`() throws {
    for (bytes, text) in [
      ([], ""), ([0x66], "Zg=="), ([0x66, 0x6F], "Zm8="), ([0x66, 0x6F, 0x6F], "Zm9v"),
      ([0xFB, 0xFF, 0xBF], "+/+/"), (Array("fooba".utf8), "Zm9vYmE="),
    ] as [([UInt8], String)] {
      #expect(Base64.encode(bytes) == text)
      #expect(Base64.decode(text.utf8) == bytes)
    }
    for text in [
      "Z", "Zg", "Zg=", "Zh==", "Zm9=", "Z===", "====", "Zg==Zg==", "Zm 9", "Zm8==", "=m9v", "Zm=v", "Zm9v\n",
    ] {
      #expect(Base64.decode(text.utf8) == nil, "\(text)")
    }
    for length in 0...70 {
      let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ length) }
      #expect(Base64.decode(Base64.encode(bytes).utf8) == bytes)
    }
  }
}
